#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace everstep {

// A jump of the wall clock, as detected by WatchedClock.
struct ClockLeap {
  enum class Kind : std::uint8_t {
    kAhead,     // the clock jumped ahead; WatchedClock does not follow it yet
    kReturned,  // it returned within kHeldFor; the jump was never followed
    kAccepted,  // it stayed ahead and is followed from now on
    kBack,      // it was set back and is followed at once
  };
  Kind kind{};
  Timestamp wall{};                 // the reading of the wall clock
  std::chrono::microseconds by{0};  // distance from the expected time, positive
};

// "the clock was set back by 3 h 0 min, to 2026-02-12T00:00:00.000Z" …
std::string ToString(const ClockLeap& leap);

// Wall-clock time that is robust against jumps ahead. Advances with the time since boot and is
// compared with the wall clock every kLookEvery. A jump ahead is followed only after it has lasted
// for kHeldFor, so timers do not fire early if the clock is corrected within that time. A clock
// that is set back is followed as soon as that is detected: it cannot make timers fire early.
//
// Thread-safe. Now costs about as much as reading a clock; one caller per kLookEvery takes a lock.
class WatchedClock final : public Clock {
 public:
  static constexpr std::chrono::seconds kLookEvery{5};
  static constexpr std::chrono::seconds kTolerance{2};
  static constexpr std::chrono::minutes kHeldFor{5};

  WatchedClock(Clock& wall, BootClock& boot);

  Timestamp Now() override;

  // Returns and clears the jumps detected since the last call, the oldest first. Only the newest
  // kLeapsKept are kept.
  std::vector<ClockLeap> TakeLeaps();
  static constexpr std::size_t kLeapsKept = 16;

 private:
  using Micros = std::chrono::microseconds;

  void Look();
  void Judge(Timestamp wall, Micros boot);  // requires mutex_
  void Note(ClockLeap::Kind kind, Timestamp wall, Micros by);

  Clock& wall_;
  BootClock& boot_;
  std::atomic<std::int64_t> boot_at_us_;  // wall-clock time of boot, as currently assumed
  std::atomic<std::int64_t> look_at_us_;  // time since boot of the next comparison
  std::mutex mutex_;                      // guards the members below
  std::optional<Micros> ahead_since_;     // time since boot
  std::vector<ClockLeap> leaps_;
};

// A WatchedClock over the machine's clocks. Lives as long as the process.
WatchedClock& WatchedSystemClock();

}  // namespace everstep
