#pragma once

#include <cstdint>
#include <string>

namespace everstep {

// Counts the table file blocks that this thread has read with a wrong checksum, and describes the
// last one.
//
// A RocksDB 7.8 iterator can lose such an error when it moves from one file to the next, and then
// continues as if the rows did not exist. Cursors therefore compare the count before and after each
// move. The count stays zero unless RocksDB is linked as a static archive
// (cmake/StaticRocksdb.cmake).
std::uint64_t BlockFaultsMet();
std::string LastBlockFault();

// A compaction reads with the same iterators, so it would silently drop the rows that it cannot
// read. Between BeginCompaction and EndCompaction on one thread, FaultOfCompaction describes the
// last faulty block read since BeginCompaction. It is empty if there is none.
void BeginCompaction();
void EndCompaction();
std::string FaultOfCompaction();

}  // namespace everstep
