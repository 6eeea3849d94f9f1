#pragma once

#include <string>

#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// The directory of a store on disk: a file FORMAT says what it is, to people and to us, before the
// engine opens anything in it.

struct StoreDirectory {
  bool is_new = false;    // the engine has made no files in it yet
  bool has_mark = false;  // by its format there is a MARK (store/store_mark.h)
};

// Prepares the directory as `options` ask: it gets its FORMAT when it is empty and may become a
// store. Whoever may write has the directory's lock. kStoreNotFound, kStoreFormatNewer,
// kStoreCorrupt, kStoreIo.
Result<StoreDirectory> PrepareStoreDirectory(const std::string& directory,
                                             const StoreOptions& options);

// Writes FORMAT, durably: the newest format, which has a MARK. The last step of a backup, so that
// an unfinished one is not a store, and what comes before anything of that format is written.
Status WriteFormatFile(const std::string& directory);

}  // namespace everstep
