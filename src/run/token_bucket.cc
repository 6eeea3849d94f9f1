#include "run/token_bucket.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kYear = 365LL * 24 * 3600 * kSecond;
// Far beyond any sensible limit; added to the current time, it still fits well into 64 bits.
constexpr std::int64_t kSlackMax = 100 * kYear;

std::int64_t Nanos(Timestamp time) {
  std::int64_t nanos = 0;
  if (__builtin_mul_overflow(Micros(time), std::int64_t{1000}, &nanos)) {
    return Micros(time) < 0 ? -kSlackMax : kSlackMax;
  }
  return std::clamp(nanos, -kSlackMax, kSlackMax);
}

// Rounds up, so that the token is available at the returned microsecond.
Timestamp ToTimestamp(std::int64_t nanos) {
  return FromMicros(nanos / 1000 + (nanos % 1000 > 0 ? 1 : 0));
}

}  // namespace

TokenBucket::TokenBucket(double per_second, std::uint32_t burst)
    : full_at_ns_(-kSlackMax), seen_ns_(-kSlackMax) {
  EVERSTEP_ASSERT(per_second > 0);
  const double interval = static_cast<double>(kSecond) / per_second;
  interval_ns_ = interval >= static_cast<double>(kYear)
                     ? kYear
                     : std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(interval)));
  const std::int64_t ahead = std::max<std::int64_t>(burst, 1) - 1;
  if (__builtin_mul_overflow(interval_ns_, ahead, &slack_ns_) || slack_ns_ > kSlackMax) {
    slack_ns_ = kSlackMax;
  }
  EVERSTEP_ASSERT(interval_ns_ > 0 && slack_ns_ >= 0);
}

bool TokenBucket::TryTake(Timestamp now) {
  if (NextAt(now) > now) return false;
  full_at_ns_ = std::max(full_at_ns_, Nanos(now)) + interval_ns_;
  return true;
}

void TokenBucket::GiveBack() { full_at_ns_ -= interval_ns_; }

Timestamp TokenBucket::NextAt(Timestamp now) {
  Observe(now);
  // A token is available once at most slack_ns_ are left until the bucket is full.
  return ToTimestamp(full_at_ns_ - slack_ns_);
}

Timestamp TokenBucket::FullAt(Timestamp now) {
  Observe(now);
  return ToTimestamp(full_at_ns_);
}

void TokenBucket::Observe(Timestamp now) {
  const std::int64_t now_ns = Nanos(now);
  const std::int64_t back = seen_ns_ - now_ns;
  if (back > std::chrono::nanoseconds(kClockStep).count()) {
    full_at_ns_ = std::max(full_at_ns_ - back, -kSlackMax);
    seen_ns_ = now_ns;
  }
  seen_ns_ = std::max(seen_ns_, now_ns);
}

}  // namespace everstep
