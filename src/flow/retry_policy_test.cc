#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "flow/plan.h"

namespace everstep {
namespace {

RetryPolicy Policy(RetryPolicy::Backoff backoff) {
  RetryPolicy policy;
  policy.backoff = backoff;
  policy.initial_delay = Milliseconds(100);
  policy.max_delay = Milliseconds(1'000);
  return policy;
}

std::vector<std::int64_t> Delays(const RetryPolicy& policy) {
  std::vector<std::int64_t> delays;
  for (std::uint32_t next = 2; next <= 7; ++next) {
    delays.push_back(policy.DelayBefore(next, 0).count());
  }
  return delays;
}

using Delay = std::vector<std::int64_t>;

TEST(RetryPolicyTest, TheDelayGrowsByTheBackoffUpToTheMaximum) {
  EXPECT_EQ(Delays(Policy(RetryPolicy::Backoff::kNone)), (Delay{100, 100, 100, 100, 100, 100}));
  EXPECT_EQ(Delays(Policy(RetryPolicy::Backoff::kLinear)), (Delay{100, 200, 300, 400, 500, 600}));
  EXPECT_EQ(Delays(Policy(RetryPolicy::Backoff::kExponential)),
            (Delay{100, 200, 400, 800, 1000, 1000}));
}

TEST(RetryPolicyTest, TheFirstAttemptHasNoDelay) {
  EXPECT_EQ(Policy(RetryPolicy::Backoff::kLinear).DelayBefore(1, 0.5).count(), 0);
}

TEST(RetryPolicyTest, JitterTakesItsShareAway) {
  RetryPolicy policy = Policy(RetryPolicy::Backoff::kNone);
  policy.jitter = 0.5;
  EXPECT_EQ(policy.DelayBefore(2, 0).count(), 100);
  EXPECT_EQ(policy.DelayBefore(2, 0.5).count(), 75);
  policy.jitter = 1;
  EXPECT_EQ(policy.DelayBefore(2, 0.99).count(), 1);
}

RC_GTEST_PROP(RetryPolicyTest, TheDelayIsNeverNegativeNorAboveTheMaximum, ()) {
  RetryPolicy policy;
  policy.backoff = static_cast<RetryPolicy::Backoff>(*rc::gen::inRange(0, 3));
  policy.initial_delay = Milliseconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 40));
  policy.max_delay = Milliseconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 40));
  policy.jitter = *rc::gen::inRange(0, 101) / 100.0;
  const auto next = *rc::gen::arbitrary<std::uint32_t>();
  const double random = *rc::gen::inRange(0, 100) / 100.0;
  const Milliseconds delay = policy.DelayBefore(next, random);
  RC_ASSERT(delay.count() >= 0);
  RC_ASSERT(delay <= policy.max_delay);
}

}  // namespace
}  // namespace everstep
