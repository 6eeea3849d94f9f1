#pragma once

#include <cstdint>

#include "base/timestamp.h"

namespace everstep {

// Allows `burst` events at once and `per_second` in the long run. Initially full.
//
// Computes in whole nanoseconds, without drift: at the time that NextAt returns, TryTake succeeds.
// A clock that goes back creates no tokens. If it goes back by at most kClockStep (threads that
// read it may call in a different order), the bucket waits until that time is reached again. If it
// goes back further (the clock was set), the bucket keeps its level and continues from the new
// time, so that it does not stall for the length of the step.
class TokenBucket {
 public:
  static constexpr std::chrono::seconds kClockStep{5};

  // Requires: per_second > 0. Rates below one per year count as one per year. A `burst` of zero
  // counts as one.
  TokenBucket(double per_second, std::uint32_t burst);

  // Takes a token. Returns false if there is none.
  bool TryTake(Timestamp now);
  // Returns a token that was not used. The bucket never holds more than `burst`.
  void GiveBack();

  // When a token is available; not later than `now` if there is one.
  Timestamp NextAt(Timestamp now);
  // When the bucket is full. From then on it equals a new one and can be discarded.
  Timestamp FullAt(Timestamp now);

 private:
  void Observe(Timestamp now);

  std::int64_t interval_ns_;  // between two tokens
  std::int64_t slack_ns_;     // (burst - 1) intervals
  std::int64_t full_at_ns_;   // each token taken adds an interval
  std::int64_t seen_ns_;      // the latest time since the clock was last set back
};

}  // namespace everstep
