#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "everstep/result.h"

namespace everstep {

// Returns the free bytes on the disk of `directory`, or nothing if the system does not report them.
std::optional<std::uint64_t> FreeBytesOf(const std::string& directory);

// Refuses writes when the disk is nearly full, so that a full disk is detected before a write and
// not in the middle of one. Measures at most every 100 ms. Not thread-safe.
class FreeSpace {
 public:
  using Measure = std::function<std::optional<std::uint64_t>()>;

  FreeSpace(std::uint64_t bytes_min, Clock& clock, Measure measure)
      : bytes_min_(bytes_min), clock_(clock), measure_(std::move(measure)) {}

  // kStoreFull while there is too little free space; Ok again as soon as there is enough.
  Status Check();

 private:
  const std::uint64_t bytes_min_;
  Clock& clock_;
  const Measure measure_;
  std::optional<Timestamp> looked_at_;
  std::uint64_t free_bytes_ = UINT64_MAX;
};

}  // namespace everstep
