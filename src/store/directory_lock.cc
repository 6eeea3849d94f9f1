#include "store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace everstep {

Result<DirectoryLock> DirectoryLock::Take(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Error{ErrorCode::kStoreIo, directory + ": " + std::strerror(errno), {}};
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return DirectoryLock(std::move(fd));
  if (errno == EWOULDBLOCK) {
    return Error{ErrorCode::kStoreLocked, directory + ": another process owns the store", {}};
  }
  return Error{ErrorCode::kStoreIo, directory + ": cannot be locked: " + std::strerror(errno), {}};
}

int DirectoryLockOwner(const std::string& directory) {
  struct stat facts {};
  if (::stat(directory.c_str(), &facts) != 0) return 0;
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, "%02x:%02x:%llu", major(facts.st_dev), minor(facts.st_dev),
                static_cast<unsigned long long>(facts.st_ino));
  // "1: FLOCK  ADVISORY  WRITE 4711 fd:01:262146 0 EOF"; "->" after the number: waits for it.
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
