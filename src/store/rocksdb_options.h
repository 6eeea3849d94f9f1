#pragma once

#include <rocksdb/db.h>

#include <vector>

#include "store/state_store.h"

namespace everstep {

// How RocksDB is set up for a store. The environment is the caller's to set.
rocksdb::DBOptions EngineOptions(const StoreOptions& options);
// The tables (store/key_value.h) in their order; a family's number is its table's.
std::vector<rocksdb::ColumnFamilyDescriptor> TableFamilies(const StoreOptions& options);

}  // namespace everstep
