#include "work/scratch_directory.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/disk_error.h"

namespace everstep {

Result<ScratchDirectory> ScratchDirectory::Make(const std::string& parent) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(parent, failed);
  if (!failed) std::filesystem::create_directories(absolute, failed);
  if (failed) return DiskError(parent, failed.value());
  std::string path = (absolute / "step-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    return DiskError(path, errno);
  }
  return ScratchDirectory(std::move(path));
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchDirectory::~ScratchDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace everstep
