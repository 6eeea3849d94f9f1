#pragma once

#include <string>

#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// The directory of a store on disk. Its file FORMAT identifies it, to people and to us, before the
// engine opens anything in it.

struct StoreDirectory {
  bool is_new = false;    // the engine has not created files in it yet
  bool has_mark = false;  // its format has a MARK (store/store_mark.h)
};

// Checks the directory, and writes FORMAT if the directory is empty and `options` allow it to
// become a store. A caller that may write must hold the directory's lock. Errors: kStoreNotFound,
// kStoreFormatNewer, kStoreCorrupt, kStoreIo.
Result<StoreDirectory> PrepareStoreDirectory(const std::string& directory,
                                             const StoreOptions& options);

// Durably writes FORMAT with the newest format, which has a MARK. In a backup this is the last
// step, so that an unfinished backup is not a store. In a store it precedes everything that is
// written in that format.
Status WriteFormatFile(const std::string& directory);

// Whether FORMAT says the newest format.
bool HasNewestFormat(const std::string& directory);

}  // namespace everstep
