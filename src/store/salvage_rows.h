#pragma once

#include <string>
#include <vector>

#include "everstep/result.h"
#include "store/key_value.h"

namespace everstep {

struct Gathered {
  std::vector<std::string> damage;  // a line for each problem found; empty: the store is intact
  // Rows in tables or log files could not be read, or rows are missing between those that could.
  bool rows_lost = false;
};

// Copies every readable row of the damaged store at `from` into the empty `rows`: first the rows in
// its tables, skipping blocks that cannot be read, then the writes in its log files, including
// those after damage. Nothing at `from` is changed. `scratch` is a directory that must not exist;
// it is created and removed.
//
// Errors: kStoreLocked (the store is open), kStoreNotFound, kStoreFormatNewer, kStoreIo. A file
// that may not be read for lack of permission is such an error, not damage; nothing is copied then.
Result<Gathered> GatherRows(const std::string& from, const std::string& scratch, KeyValue& rows);

}  // namespace everstep
