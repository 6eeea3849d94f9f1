#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace everstep {

// A leap of the wall clock, as WatchedClock noticed it.
struct ClockLeap {
  enum class Kind : std::uint8_t {
    kAhead,     // the clock is ahead; it is not followed yet
    kReturned,  // it came back in time; nothing has followed it
    kAccepted,  // it stayed ahead, and is followed from now on
    kBack,      // it was set back, and is followed
  };
  Kind kind{};
  Timestamp wall{};                 // what the clock said
  std::chrono::microseconds by{0};  // how far from what was expected, positive
};

// "it was set back by 3 h 0 min, to 2026-02-12T00:00:00.000Z" …
std::string ToString(const ClockLeap& leap);

// Wall-clock time that does not believe a leap at once. Goes on by the time since boot and takes
// the wall clock's word every few seconds: a leap ahead is followed only when it has lasted for
// kHeldFor, so that a clock that comes right again within that time has made nothing happen early.
// A clock that is set back is followed as soon as it is noticed: that makes nothing happen early.
//
// Thread-safe. Now costs what reading a clock costs; no lock but for one caller every few seconds.
class WatchedClock final : public Clock {
 public:
  static constexpr std::chrono::seconds kLookEvery{5};
  static constexpr std::chrono::seconds kTolerance{2};
  static constexpr std::chrono::minutes kHeldFor{5};

  WatchedClock(Clock& wall, BootClock& boot);

  Timestamp Now() override;

  // Takes the leaps that were noticed since the last call, the oldest first; at most kLeapsKept.
  std::vector<ClockLeap> TakeLeaps();
  static constexpr std::size_t kLeapsKept = 16;

 private:
  using Micros = std::chrono::microseconds;

  void Look();
  void Judge(Timestamp wall, Micros boot);  // mutex_ held
  void Note(ClockLeap::Kind kind, Timestamp wall, Micros by);

  Clock& wall_;
  BootClock& boot_;
  std::atomic<std::int64_t> boot_at_us_;  // the time of boot, by the wall clock as it is followed
  std::atomic<std::int64_t> look_at_us_;  // since boot
  std::mutex mutex_;
  std::optional<Micros> ahead_since_;  // since boot; guarded by mutex_, as the next
  std::vector<ClockLeap> leaps_;
};

// The machine's clock, watched. Lives as long as the process.
WatchedClock& WatchedSystemClock();

}  // namespace everstep
