#include "store/file_identity.h"

#include <sys/stat.h>

namespace everstep {

bool IsNameOf(const std::string& path, int fd) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace everstep
