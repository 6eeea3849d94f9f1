#include "store/free_space.h"

#include <sys/statvfs.h>

#include <chrono>

namespace everstep {
namespace {

constexpr auto kAgeMax = std::chrono::milliseconds(100);

}  // namespace

std::optional<std::uint64_t> FreeBytesOf(const std::string& directory) {
  struct statvfs disk = {};
  if (::statvfs(directory.c_str(), &disk) != 0) return std::nullopt;
  return disk.f_bavail * disk.f_frsize;
}

Status FreeSpace::Check() {
  const Timestamp now = clock_.Now();
  // If the clock went back, the age of the measurement is unknown.
  if (!looked_at_ || now < *looked_at_ || now - *looked_at_ >= kAgeMax) {
    free_bytes_ = measure_().value_or(free_bytes_);
    looked_at_ = now;
  }
  if (free_bytes_ >= bytes_min_) return Ok();
  return Error{ErrorCode::kStoreFull,
               "the disk has " + std::to_string(free_bytes_) + " bytes free; at least " +
                   std::to_string(bytes_min_) + " must stay free",
               {}};
}

}  // namespace everstep
