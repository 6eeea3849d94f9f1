#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "store/directory_lock.h"

namespace everstep {

// The log files and MANIFESTs that the owner of a store has written and still needs. Notices when
// one of them, or the store's directory, is moved, removed, replaced or cut off from outside: the
// process could go on writing to such a file, but nobody would find there what was acknowledged.
// Thread-safe.
class HeldFiles {
 public:
  // `lock` is the lock on `directory` and must outlive the object.
  HeldFiles(std::string directory, const DirectoryLock& lock)
      : directory_(std::move(directory)), lock_(lock) {}

  // Whether `path`, as the engine names its files, is a file of the store. Backups are not.
  bool Contains(std::string_view path) const;

  void Created(const std::string& name);
  void Synced(const std::string& name, std::uint64_t bytes);
  // Must be called before the file is removed.
  void Dropped(const std::string& name);

  bool DirectoryInPlace() const { return lock_.InPlace(); }
  // The names of the files that are no longer in place.
  std::vector<std::string> Lost() const;
  // Whether the log file that was created last is in place. Takes about a microsecond.
  bool NewestLogInPlace() const;
  std::uint64_t newest_log() const;  // its number; zero: there is none

 private:
  struct File {
    UniqueFd fd;              // also keeps the inode number from being used again
    std::uint64_t bytes = 0;  // synced
  };
  bool InPlace(const std::string& name, const File& file) const;

  const std::string directory_;
  const DirectoryLock& lock_;
  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  std::uint64_t newest_log_ = 0;
};

}  // namespace everstep
