#pragma once

#include <rocksdb/db.h>

#include <vector>

#include "store/state_store.h"

namespace everstep {

// RocksDB's options for a store. The caller sets the environment.
rocksdb::DBOptions EngineOptions(const StoreOptions& options);
// The column families of the tables (store/key_value.h), in the order of `Table`: the id of a
// family equals the number of its table.
std::vector<rocksdb::ColumnFamilyDescriptor> TableFamilies(const StoreOptions& options);

}  // namespace everstep
