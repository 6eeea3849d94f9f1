#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"

namespace everstep {

// Generates ULIDs: 48 bits of milliseconds and 80 random bits, as 26 characters of Crockford's
// base 32. Each is greater than the previous one: within a millisecond, or if the clock jumps back,
// the random part is incremented. Not thread-safe.
class UlidGenerator {
 public:
  UlidGenerator(Clock& clock, Random& random) : clock_(clock), random_(random) {}
  std::string Next();

 private:
  Clock& clock_;
  Random& random_;
  std::uint64_t millis_ = 0;
  std::uint64_t high_ = 0;  // upper 16 random bits
  std::uint64_t low_ = 0;   // lower 64 random bits
};

// Returns true for 26 upper-case characters of the alphabet, the first at most '7'.
bool IsUlid(std::string_view text);

}  // namespace everstep
