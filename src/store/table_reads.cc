#include "store/table_reads.h"

#include <utility>

namespace everstep {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

thread_local std::uint64_t table_reads = 0;

class CountedFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  using FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;

  IOStatus Read(std::uint64_t offset, std::size_t count, const IOOptions& options,
                rocksdb::Slice* result, char* scratch, IODebugContext* debug) const override {
    ++table_reads;
    return FSRandomAccessFileOwnerWrapper::Read(offset, count, options, result, scratch, debug);
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, std::size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    ++table_reads;
    return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, debug);
  }
};

}  // namespace

std::uint64_t TableReads() { return table_reads; }

IOStatus TableReadCounter::NewRandomAccessFile(const std::string& path,
                                               const rocksdb::FileOptions& options,
                                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                               IODebugContext* debug) {
  ++table_reads;
  const IOStatus opened = FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
  if (opened.ok()) *file = std::make_unique<CountedFile>(std::move(*file));
  return opened;
}

}  // namespace everstep
