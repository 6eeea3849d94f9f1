#pragma once

#include <cstdint>

#include "base/timestamp.h"

namespace everstep {

// Lets `burst` things happen at once and `per_second` in the long run. Full at first.
//
// Whole nanoseconds, no drift: at the time NextAt names, TryTake succeeds. A clock that goes back
// mints nothing. A little (threads that read it and come in another order): the bucket waits until
// the time has come again. By more than kClockStep (the clock was set): the bucket keeps its level
// and goes on from there, so that it does not stand still for as long as the step was.
class TokenBucket {
 public:
  static constexpr std::chrono::seconds kClockStep{5};

  // `per_second` must be above zero, and counts as at least one a year. A `burst` of zero is one.
  TokenBucket(double per_second, std::uint32_t burst);

  // Takes one token, if there is one.
  bool TryTake(Timestamp now);
  // Gives a token back that was taken for nothing. Never more than `burst` are held.
  void GiveBack();

  // When there is a token: not later than `now` if there is one.
  Timestamp NextAt(Timestamp now);
  // When the bucket is full: it then is as if new, and may be forgotten.
  Timestamp FullAt(Timestamp now);

 private:
  void Observe(Timestamp now);

  std::int64_t interval_ns_;  // between two tokens
  std::int64_t slack_ns_;     // what a full bucket is ahead: (burst - 1) intervals
  std::int64_t full_at_ns_;   // each token taken moves it on by an interval
  std::int64_t seen_ns_;      // the latest time, since the clock was last set back
};

}  // namespace everstep
