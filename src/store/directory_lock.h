#pragma once

#include <string>

#include "base/unique_fd.h"
#include "everstep/result.h"

namespace everstep {

// The right to write to a store: a lock on its directory itself. A lock file can be removed or
// replaced while its owner lives, a directory with files in it cannot. The kernel lets go of it
// when the process ends, however it ends.
class DirectoryLock {
 public:
  // kStoreLocked: somebody has it, in this process or in another one. kStoreIo. Waits a moment for
  // those who only look whether it is held.
  static Result<DirectoryLock> Take(const std::string& directory);

 private:
  explicit DirectoryLock(UniqueFd directory) : directory_(std::move(directory)) {}
  UniqueFd directory_;
};

// Whether somebody holds the lock, in this process or in another one.
bool DirectoryLockHeld(const std::string& directory);

// The process that holds the lock; zero: none does, or it cannot be told (the owner is in another
// container, or the file system shows other numbers to the kernel than to us).
int DirectoryLockOwner(const std::string& directory);

}  // namespace everstep
