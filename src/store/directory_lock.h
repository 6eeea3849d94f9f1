#pragma once

#include <string>

#include "base/unique_fd.h"
#include "everstep/result.h"

namespace everstep {

// The exclusive right to write to a store: an flock on the store's directory. A lock file could be
// removed or replaced while its owner is running; a directory with files in it cannot. The kernel
// releases the lock when the process ends, for whatever reason.
class DirectoryLock {
 public:
  // kStoreLocked if this or another process holds the lock; kStoreIo. Retries for a moment, because
  // DirectoryLockHeld briefly takes the lock too.
  static Result<DirectoryLock> Take(const std::string& directory);

 private:
  explicit DirectoryLock(UniqueFd directory) : directory_(std::move(directory)) {}
  UniqueFd directory_;
};

// Returns whether this or another process holds the lock.
bool DirectoryLockHeld(const std::string& directory);

// Returns the id of the process that holds the lock. Returns zero if there is none or it cannot be
// determined: the owner may run in another container, or the file system may report other device
// and inode numbers to the kernel than to us.
int DirectoryLockOwner(const std::string& directory);

}  // namespace everstep
