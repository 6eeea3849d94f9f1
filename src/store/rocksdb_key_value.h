#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "everstep/result.h"
#include "store/key_value.h"
#include "store/state_store.h"

namespace everstep {

// Tables in a directory on disk. Errors as OpenRocksdbStore. `clock` says when free space is to be
// looked at again; it must live as long as the tables.
Result<std::unique_ptr<KeyValue>> OpenRocksdbKeyValue(const std::string& directory,
                                                      const StoreOptions& options, Clock& clock);

}  // namespace everstep
