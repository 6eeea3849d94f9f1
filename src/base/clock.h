#pragma once

#include <chrono>

#include "base/timestamp.h"

namespace everstep {

// Port for wall-clock time. May jump back; a caller that needs monotonic time must keep its own
// maximum.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Timestamp Now() = 0;
};

// The machine's wall clock. Lives as long as the process.
Clock& SystemClock();

// Time since boot, including time spent suspended. Monotonic: independent of the wall clock.
class BootClock {
 public:
  virtual ~BootClock() = default;
  virtual std::chrono::microseconds SinceBoot() = 0;
};
BootClock& SystemBootClock();

// Monotonic time, for deadlines of threads that wait for I/O. Recorded data must not depend on it.
std::chrono::steady_clock::time_point SteadyNow();

}  // namespace everstep
