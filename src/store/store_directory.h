#pragma once

#include <string>

#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// The directory of a store on disk: a file FORMAT says what it is, to people and to us, before the
// engine opens anything in it.

// Prepares the directory as `options` ask: it is made, with its FORMAT, when it is missing and may
// be. kStoreNotFound, kStoreFormatNewer, kStoreCorrupt, kStoreIo.
Status PrepareStoreDirectory(const std::string& directory, const StoreOptions& options);

// Writes FORMAT, durably. The last step of a backup, so that an unfinished one is not a store.
Status WriteFormatFile(const std::string& directory);

}  // namespace everstep
