#pragma once

#include "base/clock.h"

namespace everstep {

// A clock that moves only when asked to.
class ManualClock final : public Clock {
 public:
  Timestamp Now() override { return now_; }
  void Advance(std::chrono::microseconds by) { now_ += by; }
  void JumpBack(std::chrono::microseconds by) { now_ -= by; }

 private:
  Timestamp now_ = *ParseTimestamp("2026-02-12T00:00:00.000Z");
};

class ManualBootClock final : public BootClock {
 public:
  std::chrono::microseconds SinceBoot() override { return since_; }
  void Advance(std::chrono::microseconds by) { since_ += by; }

 private:
  std::chrono::microseconds since_ = std::chrono::hours(10);
};

}  // namespace everstep
