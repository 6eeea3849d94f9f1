#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "flow/activity_spec.h"

namespace everstep {
namespace {

RetryRule Rule(RetryRule::Backoff backoff) {
  RetryRule rule;
  rule.backoff = backoff;
  rule.initial_delay = Milliseconds(100);
  rule.max_delay = Milliseconds(1'000);
  return rule;
}

std::vector<std::int64_t> Delays(const RetryRule& rule) {
  std::vector<std::int64_t> delays;
  for (std::uint32_t retry = 1; retry <= 6; ++retry) {
    delays.push_back(rule.DelayBefore(retry, 0).count());
  }
  return delays;
}

using Delay = std::vector<std::int64_t>;

TEST(RetryRuleTest, TheDelayGrowsByTheBackoffUpToTheMaximum) {
  EXPECT_EQ(Delays(Rule(RetryRule::Backoff::kNone)), (Delay{100, 100, 100, 100, 100, 100}));
  EXPECT_EQ(Delays(Rule(RetryRule::Backoff::kLinear)), (Delay{100, 200, 300, 400, 500, 600}));
  EXPECT_EQ(Delays(Rule(RetryRule::Backoff::kExponential)),
            (Delay{100, 200, 400, 800, 1000, 1000}));
}

TEST(RetryRuleTest, ARetryThatIsNotCountedHasNoDelay) {
  EXPECT_EQ(Rule(RetryRule::Backoff::kLinear).DelayBefore(0, 0.5).count(), 0);
}

TEST(RetryRuleTest, TheRateOfGrowthIsTheRulesOwn) {
  RetryRule rule = Rule(RetryRule::Backoff::kExponential);
  rule.rate = 1.5;
  EXPECT_EQ(Delays(rule), (Delay{100, 150, 225, 338, 506, 759}));
}

TEST(RetryRuleTest, JitterTakesItsShareAway) {
  RetryRule rule = Rule(RetryRule::Backoff::kNone);
  rule.jitter = 0.5;
  EXPECT_EQ(rule.DelayBefore(1, 0).count(), 100);
  EXPECT_EQ(rule.DelayBefore(1, 0.5).count(), 75);
  rule.jitter = 1;
  EXPECT_EQ(rule.DelayBefore(1, 0.99).count(), 1);
}

RC_GTEST_PROP(RetryRuleTest, TheDelayIsNeverNegativeNorAboveTheMaximum, ()) {
  RetryRule rule;
  rule.backoff = static_cast<RetryRule::Backoff>(*rc::gen::inRange(0, 3));
  rule.initial_delay = Milliseconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 40));
  rule.max_delay = Milliseconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 40));
  rule.jitter = *rc::gen::inRange(0, 101) / 100.0;
  const auto retry = *rc::gen::arbitrary<std::uint32_t>();
  const double random = *rc::gen::inRange(0, 100) / 100.0;
  const Milliseconds delay = rule.DelayBefore(retry, random);
  RC_ASSERT(delay.count() >= 0);
  RC_ASSERT(delay <= rule.max_delay);
}

}  // namespace
}  // namespace everstep
