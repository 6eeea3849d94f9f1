#include "serve/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/bytes.h"
#include "base/disk_error.h"
#include "base/unique_fd.h"

namespace everstep {
namespace {

Error Failed(const std::string& path) { return DiskError(path, errno); }

bool WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<std::optional<std::string>> ReadPrivateFile(const std::string& path, std::size_t bytes_max) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::optional<std::string>();
  if (!file) return Failed(path);
  std::string bytes;
  char piece[16 << 10];
  while (true) {
    const ssize_t got = ::read(file.get(), piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path);
    if (got == 0) return std::optional<std::string>(std::move(bytes));
    bytes.append(piece, static_cast<std::size_t>(got));
    if (bytes.size() > bytes_max) {
      return Error{ErrorCode::kStoreCorrupt, path + ": larger than the maximum for this file", {}};
    }
  }
}

Status WritePrivateFile(const std::string& path, std::string_view bytes) {
  const std::string fresh = path + ".new";
  // A leftover from a crash may still be open in another process: never write into it.
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT) return Failed(fresh);
  UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return Failed(fresh);
  const bool written = ::fchmod(file.get(), 0600) == 0 && WriteAll(file.get(), bytes) &&
                       ::fsync(file.get()) == 0 && ::rename(fresh.c_str(), path.c_str()) == 0;
  if (!written) {
    Error error = Failed(path);
    (void)::unlink(fresh.c_str());
    return error;
  }
  const std::filesystem::path parent =
      std::filesystem::absolute(path).lexically_normal().parent_path();
  const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return Failed(parent);
  return Ok();
}

std::string RandomBytes(Random& random, std::size_t count) {
  std::string bytes;
  ByteWriter writer(bytes);
  while (bytes.size() < count) writer.U64(random.Next());
  bytes.resize(count);
  return bytes;
}

}  // namespace everstep
