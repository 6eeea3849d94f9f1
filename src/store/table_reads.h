#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>

namespace everstep {

// Counts how often this thread has opened or read a table file through a TableReadCounter. Cursors
// compare the count before and after each move (store/rocksdb_view.cc).
std::uint64_t TableReads();

class TableReadCounter : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;
};

}  // namespace everstep
