#include "base/shared_limit.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

using Answer = SharedLimit::Answer;

TEST(SharedLimit, ATenantIsHeldToItsShareAndTheOperatorHasAReserve) {
  const SharedLimit limit{100, 50};
  EXPECT_EQ(limit.Ask(49, 49), Answer::kRoom);
  EXPECT_EQ(limit.Ask(50, 50), Answer::kTenantFull);
  EXPECT_EQ(limit.Ask(50, 0), Answer::kRoom);
  EXPECT_EQ(limit.Ask(90, 0), Answer::kFull);
  EXPECT_EQ(limit.Ask(90, 60, true), Answer::kRoom);
  EXPECT_EQ(limit.Ask(100, 0, true), Answer::kFull);
  EXPECT_EQ(limit.Ask(0, 0, false, 51), Answer::kTenantFull);
}

TEST(SharedLimit, ASmallLimitIsNotRoundedToZero) {
  const SharedLimit one{1, 50};
  EXPECT_EQ(one.Ask(0, 0), Answer::kRoom);
  EXPECT_EQ(one.Ask(1, 1), Answer::kFull);
}

TEST(SharedLimit, AShareOf100PercentIsTheWholeLimit) {
  const SharedLimit limit{100, 100};
  EXPECT_EQ(limit.Ask(99, 99), Answer::kRoom);
  EXPECT_EQ(limit.Ask(100, 100), Answer::kFull);
}

TEST(SharedLimit, LargeLimitsDoNotOverflow) {
  const SharedLimit limit{UINT64_MAX / 2, 50};
  EXPECT_EQ(limit.Ask(1, 1), Answer::kRoom);
}

}  // namespace
}  // namespace everstep
