#include "store/log_files.h"

#include <fcntl.h>
#include <rocksdb/file_system.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/unique_fd.h"

// Debian builds RocksDB for every processor of its kind, without the instruction that computes its
// checksums, so that each record of the log went through tables. cmake/StaticRocksdb.cmake has the
// linker lead RocksDB's calls here; the name of what they called before is the second.
std::uint32_t RocksdbExtend(std::uint32_t crc, const char* bytes,
                            std::size_t size) asm("__wrap__ZN7rocksdb6crc32c6ExtendEjPKcm");
__attribute__((weak)) std::uint32_t RocksdbsOwnExtend(
    std::uint32_t crc, const char* bytes,
    std::size_t size) asm("__real__ZN7rocksdb6crc32c6ExtendEjPKcm");

std::uint32_t RocksdbExtend(std::uint32_t crc, const char* bytes, std::size_t size) {
  if (everstep::HasCrc32cInstruction()) return everstep::ExtendCrc32c(crc, {bytes, size});
  return RocksdbsOwnExtend(crc, bytes, size);
}

namespace everstep {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// Zeros are written in steps as large as what is there, between these bounds: a small log stays
// small, and no commit of a busy one waits for much more than its own bytes.
constexpr std::uint64_t kAheadMin = 128 << 10;
constexpr std::uint64_t kAheadMax = 1 << 20;

bool IsLog(const std::string& path) { return path.ends_with(".log"); }

IOStatus Failed(const std::string& path) {
  const int error = errno;
  const std::string reason = path + ": " + std::strerror(error);
  return error == ENOSPC || error == EDQUOT ? IOStatus::NoSpace(reason) : IOStatus::IOError(reason);
}

// The number of bytes that were written; fewer than asked: errno says why.
std::size_t WriteAt(int fd, std::uint64_t offset, std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::pwrite(fd, bytes.data() + written, bytes.size() - written,
                                   static_cast<off_t>(offset + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  return written;
}

class OwnersLogFile final : public rocksdb::FSWritableFile {
 public:
  OwnersLogFile(std::string path, UniqueFd fd, const FileOptions& options)
      : FSWritableFile(options), path_(std::move(path)), fd_(std::move(fd)) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    if (size_ + data.size() > zeroed_to_) FillAhead(size_ + data.size());
    const std::size_t written = WriteAt(fd_.get(), size_, {data.data(), data.size()});
    size_ += written;
    return written == data.size() ? IOStatus::OK() : Failed(path_);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return ::fdatasync(fd_.get()) == 0 ? IOStatus::OK() : Failed(path_);
  }
  bool IsSyncThreadSafe() const override { return true; }
  IOStatus Close(const IOOptions&, IODebugContext*) override {
    if (!fd_) return IOStatus::OK();
    const bool cut = zeroed_to_ <= size_ || ::ftruncate(fd_.get(), static_cast<off_t>(size_)) == 0;
    const IOStatus status = cut ? IOStatus::OK() : Failed(path_);
    fd_.Close();
    return status;
  }
  std::uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return size_; }

 private:
  // Makes the log faster and nothing else: whether there is space is told by the records.
  void FillAhead(std::uint64_t to) {
    static const std::string zeros(kAheadMin, '\0');
    const std::uint64_t end = to + std::clamp(size_, kAheadMin, kAheadMax);
    zeroed_to_ = to;
    while (zeroed_to_ < end) {
      const std::size_t written = WriteAt(fd_.get(), zeroed_to_, zeros);
      zeroed_to_ += written;
      if (written < zeros.size()) return;
    }
  }

  const std::string path_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::uint64_t zeroed_to_ = 0;
};

// The grammar of RocksDB's log: blocks of 32 KiB; in a block records of a CRC-32C (masked, 4
// bytes), a length (2 bytes), a type (1 byte) and that many bytes, all little-endian; what is left
// of a block and too short for a head is zero.
constexpr std::size_t kBlockBytes = 32 << 10;
constexpr std::size_t kHeadBytes = 7;
constexpr std::uint8_t kRecordTypeMax = 4;  // whole, first, middle, last

// The bytes of the whole record that `rest`, the rest of a block, begins with; 0: there is none.
std::size_t WholeRecord(std::string_view rest) {
  if (rest.size() < kHeadBytes) return 0;
  const auto byte = [&rest](std::size_t i) { return static_cast<std::uint8_t>(rest[i]); };
  const std::size_t length = byte(4) | static_cast<std::size_t>(byte(5)) << 8;
  if (byte(6) == 0 || byte(6) > kRecordTypeMax || rest.size() < kHeadBytes + length) return 0;
  std::uint32_t masked = 0;
  for (std::size_t i = 4; i-- > 0;) masked = masked << 8 | byte(i);
  const std::uint32_t crc = Crc32c(rest.substr(kHeadBytes - 1, length + 1));  // the type too
  if (masked != ((crc >> 15 | crc << 17) + 0xa282ead8U)) return 0;
  return kHeadBytes + length;
}

class VisitorsLogFile final : public rocksdb::FSSequentialFile {
 public:
  VisitorsLogFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  IOStatus Read(std::size_t count, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) override {
    if (offset_ + count > whole_to_) {
      IOStatus looked = Look();
      if (!looked.ok()) return looked;
    }
    const std::uint64_t left = whole_to_ > offset_ ? whole_to_ - offset_ : 0;
    ssize_t got = 0;
    const IOStatus read = ReadAt(offset_, std::min<std::uint64_t>(count, left), scratch, got);
    if (!read.ok()) return read;
    offset_ += static_cast<std::uint64_t>(got);
    *result = Slice(scratch, static_cast<std::size_t>(got));
    return IOStatus::OK();
  }
  IOStatus Skip(std::uint64_t count) override {
    offset_ += count;
    return IOStatus::OK();
  }

 private:
  IOStatus ReadAt(std::uint64_t offset, std::uint64_t count, char* to, ssize_t& got) const {
    do {
      got = ::pread(fd_.get(), to, count, static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    return got < 0 ? Failed(path_) : IOStatus::OK();
  }

  // Moves whole_to_ behind the last record that is there as a whole.
  IOStatus Look() {
    std::string block(kBlockBytes, '\0');
    std::uint64_t begin = whole_to_ - whole_to_ % kBlockBytes;
    std::size_t at = whole_to_ % kBlockBytes;
    while (true) {
      if (kBlockBytes - at < kHeadBytes) {  // nothing but the next block follows
        begin += kBlockBytes;
        at = 0;
      }
      ssize_t got = 0;
      const IOStatus read = ReadAt(begin, kBlockBytes, block.data(), got);
      if (!read.ok()) return read;
      const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
      const std::size_t from = at;
      while (at < bytes.size()) {
        const std::size_t record = WholeRecord(bytes.substr(at));
        if (record == 0) break;
        at += record;
      }
      if (at > from) whole_to_ = begin + at;
      if (kBlockBytes - at >= kHeadBytes) return IOStatus::OK();
    }
  }

  const std::string path_;
  const UniqueFd fd_;
  std::uint64_t offset_ = 0;
  std::uint64_t whole_to_ = 0;
};

class OwnersFiles final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "everstep.OwnersFiles"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    if (!IsLog(path)) return FileSystemWrapper::NewWritableFile(path, options, file, debug);
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd) return Failed(path);
    *file = std::make_unique<OwnersLogFile>(path, std::move(fd), options);
    return IOStatus::OK();
  }
};

class VisitorsFiles final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "everstep.VisitorsFiles"; }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* debug) override {
    if (!IsLog(path)) return FileSystemWrapper::NewSequentialFile(path, options, file, debug);
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return errno == ENOENT ? IOStatus::PathNotFound(path) : Failed(path);
    *file = std::make_unique<VisitorsLogFile>(path, std::move(fd));
    return IOStatus::OK();
  }
};

}  // namespace

std::unique_ptr<rocksdb::Env> NewOwnersEnv() {
  return rocksdb::NewCompositeEnv(std::make_shared<OwnersFiles>(FileSystem::Default()));
}

std::unique_ptr<rocksdb::Env> NewVisitorsEnv() {
  return rocksdb::NewCompositeEnv(std::make_shared<VisitorsFiles>(FileSystem::Default()));
}

}  // namespace everstep
