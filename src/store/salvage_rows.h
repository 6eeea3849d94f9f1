#pragma once

#include <string>
#include <vector>

#include "everstep/result.h"
#include "store/key_value.h"

namespace everstep {

// Copies every readable row of the damaged store at `from` into the empty `rows`: first the rows in
// its tables, skipping blocks that cannot be read, then the writes in its log files, including
// those after damage. Nothing at `from` is changed. `scratch` is a directory that must not exist;
// it is created and removed.
//
// Adds a line to `damage` for each problem found; empty: the store is intact. Errors: kStoreLocked
// (the store is open), kStoreNotFound, kStoreFormatNewer, kStoreIo.
Status GatherRows(const std::string& from, const std::string& scratch, KeyValue& rows,
                  std::vector<std::string>& damage);

}  // namespace everstep
