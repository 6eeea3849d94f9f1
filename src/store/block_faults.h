#pragma once

#include <cstdint>
#include <string>

namespace everstep {

// Blocks of table files that did not match their checksum, as this thread has met them.
//
// An iterator of RocksDB 7.8 loses such an error where it goes over from one file to the next, and
// goes on as if the rows were not there. So a walk compares the count before and after each move.
// Where RocksDB is not linked as an archive (cmake/StaticRocksdb.cmake) the count stays zero.
std::uint64_t BlockFaultsMet();
std::string LastBlockFault();

// A compaction walks as readers do: it would write the rows that it could not read out of
// existence. Between these two calls, on one thread, FaultOfCompaction names the block that it met;
// empty: none.
void BeginCompaction();
void EndCompaction();
std::string FaultOfCompaction();

}  // namespace everstep
