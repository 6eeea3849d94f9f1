#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"

namespace everstep {

// Makes ULIDs: 48 bits of milliseconds, 80 of randomness, 26 characters of Crockford's base 32.
// Each is greater than the one before: within a millisecond, and also when the clock jumps back,
// the random part is counted up. One thread at a time.
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

// 26 characters of the alphabet, first one at most '7'; upper case only.
bool IsUlid(std::string_view text);

}  // namespace everstep
