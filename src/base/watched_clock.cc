#include "base/watched_clock.h"

#include <cstdlib>
#include <utility>

namespace everstep {
namespace {

// If reading both clocks took longer than this, the thread was interrupted and the readings cannot
// be compared.
constexpr std::chrono::milliseconds kReadWithin{1};

// A clock before this time has never been set, so any jump forward corrects it.
constexpr Timestamp kUnset{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};

std::string DistanceText(std::chrono::microseconds distance) {
  using namespace std::chrono;
  const auto whole = round<seconds>(distance);
  const auto hours_part = duration_cast<hours>(whole);
  const auto minutes_part = duration_cast<minutes>(whole - hours_part);
  if (hours_part.count() > 0) {
    return std::to_string(hours_part.count()) + " h " + std::to_string(minutes_part.count()) +
           " min";
  }
  if (minutes_part.count() == 0) return std::to_string(whole.count()) + " s";
  return std::to_string(minutes_part.count()) + " min " +
         std::to_string((whole - minutes_part).count()) + " s";
}

}  // namespace

std::string ToString(const ClockLeap& leap) {
  const std::string by = DistanceText(leap.by);
  const std::string to = FormatTimestamp(leap.wall);
  switch (leap.kind) {
    case ClockLeap::Kind::kAhead:
      return "the clock jumped ahead by " + by + ", to " + to +
             "; the jump is ignored unless it lasts for " + DistanceText(WatchedClock::kHeldFor);
    case ClockLeap::Kind::kReturned:
      return "the clock returned to " + to + "; the jump ahead was ignored";
    case ClockLeap::Kind::kAccepted:
      return "the clock stayed ahead by " + by + " and is now trusted, at " + to;
    case ClockLeap::Kind::kBack:
      return "the clock was set back by " + by + ", to " + to;
  }
  return {};
}

WatchedClock::WatchedClock(Clock& wall, BootClock& boot) : wall_(wall), boot_(boot) {
  const Micros since = boot.SinceBoot();
  boot_at_us_.store(everstep::Micros(wall.Now()) - since.count());
  look_at_us_.store((since + kLookEvery).count());
}

Timestamp WatchedClock::Now() {
  const std::int64_t since = boot_.SinceBoot().count();
  if (since >= look_at_us_.load(std::memory_order_relaxed)) Look();
  return FromMicros(boot_at_us_.load(std::memory_order_relaxed) + since);
}

void WatchedClock::Look() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const Micros before = boot_.SinceBoot();
  const Timestamp wall = wall_.Now();
  const Micros after = boot_.SinceBoot();
  if (after - before > kReadWithin) return;
  look_at_us_.store((after + kLookEvery).count(), std::memory_order_relaxed);
  Judge(wall, after);
}

void WatchedClock::Judge(Timestamp wall, Micros boot) {
  const Timestamp expected = FromMicros(boot_at_us_.load(std::memory_order_relaxed)) + boot;
  const Micros ahead = wall - expected;
  if (ahead > kTolerance && expected >= kUnset) {
    if (!ahead_since_) {
      ahead_since_ = boot;
      return Note(ClockLeap::Kind::kAhead, wall, ahead);
    }
    if (boot - *ahead_since_ < kHeldFor) return;
    Note(ClockLeap::Kind::kAccepted, wall, ahead);
  } else if (ahead < -kTolerance) {
    Note(ClockLeap::Kind::kBack, wall, -ahead);
  } else if (ahead_since_) {
    Note(ClockLeap::Kind::kReturned, wall, Micros(std::abs(ahead.count())));
  }
  ahead_since_.reset();
  boot_at_us_.store(everstep::Micros(wall) - boot.count(), std::memory_order_relaxed);
}

void WatchedClock::Note(ClockLeap::Kind kind, Timestamp wall, Micros by) {
  if (leaps_.size() == kLeapsKept) leaps_.erase(leaps_.begin());
  leaps_.push_back({kind, wall, by});
}

std::vector<ClockLeap> WatchedClock::TakeLeaps() {
  const std::lock_guard lock(mutex_);
  return std::exchange(leaps_, {});
}

}  // namespace everstep
