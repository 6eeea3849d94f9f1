#include "store/held_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/assert.h"
#include "store/store_files.h"

namespace everstep {
namespace {

std::string_view WithoutSlashesAtEnd(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

bool HeldFiles::Contains(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  return slash != std::string_view::npos &&
         WithoutSlashesAtEnd(path.substr(0, slash)) == WithoutSlashesAtEnd(directory_);
}

void HeldFiles::Created(const std::string& name) {
  EVERSTEP_ASSERT((LogNumber(name) != 0) != (ManifestNumber(name) != 0));
  UniqueFd fd(::open((directory_ + "/" + name).c_str(), O_PATH | O_CLOEXEC));
  const std::lock_guard lock(mutex_);
  files_[name] = File{std::move(fd)};
  newest_log_ = std::max(newest_log_, LogNumber(name));
}

void HeldFiles::Synced(const std::string& name, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (const auto file = files_.find(name); file != files_.end()) file->second.bytes = bytes;
}

void HeldFiles::Dropped(const std::string& name) {
  const std::lock_guard lock(mutex_);
  files_.erase(name);
}

bool HeldFiles::InPlace(const std::string& name, const File& file) const {
  struct stat held {};
  struct stat named {};
  return ::fstat(file.fd.get(), &held) == 0 &&
         ::stat((directory_ + "/" + name).c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino && static_cast<std::uint64_t>(named.st_size) >= file.bytes;
}

std::vector<std::string> HeldFiles::Lost() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lost;
  for (const auto& [name, file] : files_) {
    if (!InPlace(name, file)) lost.push_back(name);
  }
  return lost;
}

bool HeldFiles::NewestLogInPlace() const {
  const std::lock_guard lock(mutex_);
  const auto newest = files_.find(LogName(newest_log_));
  return newest == files_.end() || InPlace(newest->first, newest->second);
}

std::uint64_t HeldFiles::newest_log() const {
  const std::lock_guard lock(mutex_);
  return newest_log_;
}

}  // namespace everstep
