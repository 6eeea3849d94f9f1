#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "everstep/result.h"
#include "store/key_value.h"
#include "store/state_store.h"

namespace everstep {

// Opens or creates tables in a directory on disk. Errors as for OpenRocksdbStore. `clock`
// determines when free space is measured again; it must outlive the tables.
Result<std::unique_ptr<KeyValue>> OpenRocksdbKeyValue(const std::string& directory,
                                                      const StoreOptions& options, Clock& clock);

}  // namespace everstep
