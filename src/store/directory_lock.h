#pragma once

#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "everstep/result.h"
#include "store/file_identity.h"

namespace everstep {

// The exclusive right to write to a store: an flock on the store's directory. A lock file could be
// removed or replaced while its owner is running; a directory with files in it cannot. The kernel
// releases the lock when the process ends, for whatever reason.
class DirectoryLock {
 public:
  // kStoreLocked if this or another process holds the lock; kStoreNotFound if the directory does
  // not exist; kStoreIo. Retries for a moment, because DirectoryLockHeld briefly takes the lock
  // too.
  static Result<DirectoryLock> Take(const std::string& directory);

  // Whether the path still names the locked directory. If it does not, the directory was moved,
  // removed or replaced, and another process may own what is there now.
  bool InPlace() const { return IsNameOf(path_, directory_.get()); }

 private:
  DirectoryLock(std::string path, UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  std::string path_;
  UniqueFd directory_;
};

// Returns whether this or another process holds the lock.
bool DirectoryLockHeld(const std::string& directory);

// Returns the id of the process that holds the lock. Returns zero if there is none or it cannot be
// determined: the owner may run in another container, or the file system may report other device
// and inode numbers to the kernel than to us.
int DirectoryLockOwner(const std::string& directory);

}  // namespace everstep
