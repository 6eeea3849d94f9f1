#include "store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/pause.h"

namespace everstep {
namespace {

UniqueFd OpenDirectory(const std::string& directory) {
  return UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

Result<DirectoryLock> DirectoryLock::Take(const std::string& directory) {
  constexpr int kTries = 20;
  constexpr std::chrono::milliseconds kPause{5};
  for (int tries = 0; tries < kTries; ++tries) {
    UniqueFd fd = OpenDirectory(directory);
    if (!fd) {
      const bool missing = errno == ENOENT;
      const std::string reason = missing ? "does not exist" : std::strerror(errno);
      return Error{
          missing ? ErrorCode::kStoreNotFound : ErrorCode::kStoreIo, directory + ": " + reason, {}};
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      DirectoryLock lock(directory, std::move(fd));
      if (lock.InPlace()) return lock;
    } else if (errno != EWOULDBLOCK) {
      const std::string reason = std::strerror(errno);
      return Error{ErrorCode::kStoreIo, directory + ": cannot be locked: " + reason, {}};
    }
    PauseForOthers(kPause);
  }
  return Error{ErrorCode::kStoreLocked, directory + ": another process owns the store", {}};
}

bool DirectoryLockHeld(const std::string& directory) {
  const UniqueFd fd = OpenDirectory(directory);
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

int DirectoryLockOwner(const std::string& directory) {
  struct stat facts {};
  if (::stat(directory.c_str(), &facts) != 0) return 0;
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, "%02x:%02x:%llu", major(facts.st_dev), minor(facts.st_dev),
                static_cast<unsigned long long>(facts.st_ino));
  // Each line reads "1: FLOCK  ADVISORY  WRITE 4711 fd:01:262146 0 EOF". "->" after the first
  // number marks a process that waits for the lock.
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number;
    std::string kind;
    std::string force;
    std::string mode;
    int process = 0;
    std::string file;
    words >> number >> kind >> force >> mode >> process >> file;
    if (words && kind == "FLOCK" && mode == "WRITE" && file == wanted) return process;
  }
  return 0;
}

}  // namespace everstep
