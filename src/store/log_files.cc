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

#include "base/assert.h"
#include "base/unique_fd.h"
#include "store/log_records.h"
#include "store/store_files.h"
#include "store/table_reads.h"

namespace everstep {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// Zeros are written in steps of the current size of the file, within these bounds: a small log
// stays small, and no commit to a busy one waits for much more than its own bytes.
constexpr std::uint64_t kAheadMin = 128 << 10;
constexpr std::uint64_t kAheadMax = 1 << 20;
static_assert(kAheadMin <= kAheadMax);

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }
bool IsLog(std::string_view path) { return LogNumber(NameOf(path)) != 0; }

IOStatus StatusOf(const Status& status) {
  return status ? IOStatus::OK() : IOStatus::IOError(status.error().message);
}

IOStatus Failed(const std::string& path) {
  const int error = errno;
  const std::string reason = path + ": " + std::strerror(error);
  return error == ENOSPC || error == EDQUOT ? IOStatus::NoSpace(reason) : IOStatus::IOError(reason);
}

// Returns the number of bytes written. If it is less than asked for, errno says why.
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
  OwnersLogFile(std::string path, UniqueFd fd, const FileOptions& options, StoreMark& mark,
                HeldFiles& held)
      : FSWritableFile(options),
        path_(std::move(path)),
        name_(NameOf(path_)),
        fd_(std::move(fd)),
        mark_(mark),
        held_(held) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    if (head_.size() < kFirstRowBytes) {
      head_.append(data.data(), std::min(data.size(), kFirstRowBytes - head_.size()));
    }
    if (size_ + data.size() > zeroed_to_) FillAhead(size_ + data.size());
    const std::size_t written = WriteAt(fd_.get(), size_, {data.data(), data.size()});
    size_ += written;
    EVERSTEP_ASSERT(size_ <= zeroed_to_);
    return written == data.size() ? IOStatus::OK() : Failed(path_);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    if (::fdatasync(fd_.get()) != 0) return Failed(path_);
    mark_.LogSynced(LogNumber(name_), size_, FirstRowIn(head_));
    held_.Synced(name_, size_);
    return IOStatus::OK();
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
  // Only makes the log faster. Errors are ignored: writing the records will report a full disk.
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
  const std::string name_;
  UniqueFd fd_;
  StoreMark& mark_;
  HeldFiles& held_;
  std::string head_;  // the bytes with the number of the first row
  std::uint64_t size_ = 0;
  std::uint64_t zeroed_to_ = 0;
};

// A MANIFEST. Records in the mark how much of it is synced.
class OwnersManifest final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  OwnersManifest(std::string name, std::unique_ptr<rocksdb::FSWritableFile> file, StoreMark& mark,
                 HeldFiles& held)
      : FSWritableFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        mark_(mark),
        held_(held) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return Count(data, FSWritableFileOwnerWrapper::Append(data, options, debug));
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& check, IODebugContext* debug) override {
    return Count(data, FSWritableFileOwnerWrapper::Append(data, options, check, debug));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return Note(FSWritableFileOwnerWrapper::Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Note(FSWritableFileOwnerWrapper::Fsync(options, debug));
  }

 private:
  IOStatus Count(const Slice& data, IOStatus appended) {
    if (appended.ok()) bytes_ += data.size();
    return appended;
  }
  IOStatus Note(IOStatus synced) {
    if (!synced.ok()) return synced;
    held_.Synced(name_, bytes_);
    return StatusOf(mark_.ManifestSynced(ManifestNumber(name_), bytes_));
  }

  const std::string name_;
  StoreMark& mark_;
  HeldFiles& held_;
  std::uint64_t bytes_ = 0;
};

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

  // Advances whole_to_ to the end of the last record that is complete.
  IOStatus Look() {
    std::string block(kLogBlockBytes, '\0');
    std::uint64_t begin = whole_to_ - whole_to_ % kLogBlockBytes;
    std::size_t at = whole_to_ % kLogBlockBytes;
    while (true) {
      if (kLogBlockBytes - at < kLogHeadBytes) {  // too short for a record
        begin += kLogBlockBytes;
        at = 0;
      }
      ssize_t got = 0;
      const IOStatus read = ReadAt(begin, kLogBlockBytes, block.data(), got);
      EVERSTEP_ASSERT(begin % kLogBlockBytes == 0 && begin + at >= whole_to_);
      if (!read.ok()) return read;
      const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
      const std::size_t from = at;
      while (at < bytes.size()) {
        const LogRecord record = WholeRecord(bytes.substr(at));
        if (record.type == LogRecordType::kNone) break;
        at += record.bytes;
      }
      if (at > from) whole_to_ = begin + at;
      if (kLogBlockBytes - at >= kLogHeadBytes) return IOStatus::OK();
    }
  }

  const std::string path_;
  const UniqueFd fd_;
  std::uint64_t offset_ = 0;
  std::uint64_t whole_to_ = 0;
};

class OwnersFiles final : public TableReadCounter {
 public:
  OwnersFiles(const std::shared_ptr<FileSystem>& files, StoreMark& mark, HeldFiles& held)
      : TableReadCounter(files), mark_(mark), held_(held) {}
  const char* Name() const override { return "everstep.OwnersFiles"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    if (!held_.Contains(path)) {
      return FileSystemWrapper::NewWritableFile(path, options, file, debug);
    }
    IOStatus made = CheckDirectory();
    if (!made.ok()) return made;
    const std::string name(NameOf(path));
    if (LogNumber(name) != 0) return NewLog(path, options, file);
    made = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    if (made.ok() && ManifestNumber(name) != 0) {
      held_.Created(name);
      *file = std::make_unique<OwnersManifest>(name, std::move(*file), mark_, held_);
    }
    return made;
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override {
    if (held_.Contains(path)) {
      const IOStatus ours = CheckDirectory();
      if (!ours.ok()) return ours;
      const std::string name(NameOf(path));
      if (LogNumber(name) != 0) {
        const IOStatus noted = StatusOf(mark_.LogDropped(LogNumber(name)));
        if (!noted.ok()) return noted;
      }
      held_.Dropped(name);
    }
    return FileSystemWrapper::DeleteFile(path, options, debug);
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    if (!held_.Contains(to)) return FileSystemWrapper::RenameFile(from, to, options, debug);
    IOStatus renamed = CheckDirectory();
    if (renamed.ok()) renamed = FileSystemWrapper::RenameFile(from, to, options, debug);
    if (!renamed.ok() || NameOf(to) != "CURRENT") return renamed;
    // The mark must not be ahead of CURRENT, not even after a power failure.
    IOStatus synced = SyncDirectoryOf(to);
    return synced.ok() ? StatusOf(mark_.ManifestInUse()) : synced;
  }

 private:
  IOStatus CheckDirectory() const {
    if (held_.DirectoryInPlace()) return IOStatus::OK();
    return IOStatus::IOError("the directory of the store was moved, removed or replaced");
  }

  static IOStatus SyncDirectoryOf(const std::string& path) {
    const std::string directory = path.substr(0, path.rfind('/'));
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return fd && ::fsync(fd.get()) == 0 ? IOStatus::OK() : Failed(directory);
  }

  IOStatus NewLog(const std::string& path, const FileOptions& options,
                  std::unique_ptr<rocksdb::FSWritableFile>* file) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd) return Failed(path);
    held_.Created(std::string(NameOf(path)));
    *file = std::make_unique<OwnersLogFile>(path, std::move(fd), options, mark_, held_);
    return IOStatus::OK();
  }

  StoreMark& mark_;
  HeldFiles& held_;
};

class VisitorsFiles final : public TableReadCounter {
 public:
  using TableReadCounter::TableReadCounter;
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

std::unique_ptr<rocksdb::Env> NewOwnersEnv(StoreMark& mark, HeldFiles& held) {
  return rocksdb::NewCompositeEnv(std::make_shared<OwnersFiles>(FileSystem::Default(), mark, held));
}

std::unique_ptr<rocksdb::Env> NewVisitorsEnv() {
  return rocksdb::NewCompositeEnv(std::make_shared<VisitorsFiles>(FileSystem::Default()));
}

}  // namespace everstep
