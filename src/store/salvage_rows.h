#pragma once

#include <string>
#include <vector>

#include "everstep/result.h"
#include "store/key_value.h"

namespace everstep {

// Copies every row that can still be read in the damaged store at `from` into the empty `rows`:
// first those in its tables, around blocks that cannot be read, then the writes of its log files,
// also those after a damage. Nothing at `from` is changed. `scratch` is a directory that does not
// exist; it is made and removed.
//
// `damage` tells what was met, a line each; empty: the store is intact. kStoreLocked: somebody has
// it open. kStoreIo.
Status GatherRows(const std::string& from, const std::string& scratch, KeyValue& rows,
                  std::vector<std::string>& damage);

}  // namespace everstep
