#pragma once

#include <chrono>

#include "base/timestamp.h"

namespace everstep {

// Wall-clock time as a port. May jump back; whoever needs order keeps a maximum of its own.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Timestamp Now() = 0;
};

// The machine's clock. Lives as long as the process.
Clock& SystemClock();

// The time since the machine started, also while it slept. Never goes back, whatever the wall clock
// does.
class BootClock {
 public:
  virtual ~BootClock() = default;
  virtual std::chrono::microseconds SinceBoot() = 0;
};
BootClock& SystemBootClock();

// A clock that never goes back, for deadlines of threads that wait for the world. Nothing that is
// recorded may depend on it.
std::chrono::steady_clock::time_point SteadyNow();

}  // namespace everstep
