#pragma once

#include <rocksdb/memtablerep.h>

#include <memory>

namespace everstep {

// What RocksDB keeps rows in until they go to a file: a list of our own (skip_list.h) in place of
// the library's. Debian builds the library with its assertions on, and those of its list compare
// keys dozens of times for each row; that was a quarter of what an event costs.
//
// For families that order keys as bytes and have one writer at a time.
std::shared_ptr<rocksdb::MemTableRepFactory> NewRowMemtables();

}  // namespace everstep
