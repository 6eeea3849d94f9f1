#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "everstep/result.h"

namespace everstep {

// Free bytes on the disk of a directory; nothing when the system does not say.
std::optional<std::uint64_t> FreeBytesOf(const std::string& directory);

// Keeps writes off a disk that is nearly full, so that a full disk is met before a write and not in
// the middle of one. Looks at most every 100 ms. One thread.
class FreeSpace {
 public:
  using Measure = std::function<std::optional<std::uint64_t>()>;

  FreeSpace(std::uint64_t bytes_min, Clock& clock, Measure measure)
      : bytes_min_(bytes_min), clock_(clock), measure_(std::move(measure)) {}

  // kStoreFull while there is too little; Ok again as soon as there is enough.
  Status Check();

 private:
  const std::uint64_t bytes_min_;
  Clock& clock_;
  const Measure measure_;
  std::optional<Timestamp> looked_at_;
  std::uint64_t free_bytes_ = UINT64_MAX;
};

}  // namespace everstep
