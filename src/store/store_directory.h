#pragma once

#include <string>

#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// The directory of a store on disk: a file FORMAT says what it is, to people and to us, before the
// engine opens anything in it.

struct StoreDirectory {
  bool is_new = false;    // the engine has made no files in it yet
  bool has_mark = false;  // FORMAT says that there is a MARK (store/store_mark.h)
};

// Prepares the directory as `options` ask: it is made, with its FORMAT, when it is missing and may
// be. kStoreNotFound, kStoreFormatNewer, kStoreCorrupt, kStoreIo.
Result<StoreDirectory> PrepareStoreDirectory(const std::string& directory,
                                             const StoreOptions& options);

// Writes FORMAT, durably; it says that there is a MARK. The last step of a backup, so that an
// unfinished one is not a store.
Status WriteFormatFile(const std::string& directory);

}  // namespace everstep
