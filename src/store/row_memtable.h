#pragma once

#include <rocksdb/memtablerep.h>

#include <memory>

namespace everstep {

// Memtables for RocksDB that use our own skip list (skip_list.h). Debian builds RocksDB with
// assertions enabled, and those in its skip list compare keys dozens of times for each row, which
// was a quarter of the cost of an event.
//
// Requires: column families that order keys bytewise and have one writer at a time.
std::shared_ptr<rocksdb::MemTableRepFactory> NewRowMemtables();

}  // namespace everstep
