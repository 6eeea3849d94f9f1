#include "store/file_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace everstep {

Result<std::string> ReadFileText(const std::string& path) {
  const auto failed = [&path] {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kStoreNotFound : ErrorCode::kStoreIo;
    return Error{code, path + ": " + std::strerror(errno), {}};
  };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failed();
  std::string text;
  char bytes[4096];
  while (true) {
    const ssize_t got = ::read(file.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed();
    if (got == 0) return text;
    text.append(bytes, static_cast<std::size_t>(got));
  }
}

}  // namespace everstep
