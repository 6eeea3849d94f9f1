#include "run/token_bucket.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Timestamp kStart = FromMicros(1'770'000'000'000'000);

int TakeAll(TokenBucket& bucket, Timestamp now) {
  int taken = 0;
  while (taken < 1'000'000 && bucket.TryTake(now)) ++taken;
  return taken;
}

TEST(TokenBucketTest, GivesItsBurstAtOnceAndThenItsRate) {
  TokenBucket bucket(2, 5);
  EXPECT_EQ(TakeAll(bucket, kStart), 5);
  EXPECT_EQ(bucket.NextAt(kStart), kStart + milliseconds(500));
  EXPECT_FALSE(bucket.TryTake(kStart + milliseconds(499)));
  EXPECT_TRUE(bucket.TryTake(kStart + milliseconds(500)));
  EXPECT_FALSE(bucket.TryTake(kStart + milliseconds(500)));
  EXPECT_EQ(TakeAll(bucket, kStart + milliseconds(2'000)), 3);
}

TEST(TokenBucketTest, HoldsNoMoreThanItsBurst) {
  TokenBucket bucket(10, 3);
  EXPECT_EQ(TakeAll(bucket, kStart), 3);
  EXPECT_EQ(TakeAll(bucket, kStart + hours(24)), 3);
  bucket.GiveBack();
  EXPECT_EQ(TakeAll(bucket, kStart + hours(24)), 1);
  bucket.GiveBack();
  EXPECT_EQ(TakeAll(bucket, kStart + hours(48)), 3);
}

TEST(TokenBucketTest, IsFullAgainOnceEveryTokenIsBack) {
  TokenBucket bucket(2, 4);
  EXPECT_LE(bucket.FullAt(kStart), kStart);
  EXPECT_EQ(TakeAll(bucket, kStart), 4);
  EXPECT_EQ(bucket.FullAt(kStart), kStart + seconds(2));
}

TEST(TokenBucketTest, AWaveringClockCreatesNoTokens) {
  TokenBucket bucket(1000, 1);
  int taken = 0;
  for (int i = 0; i < 1'000; ++i) {
    taken += TakeAll(bucket, kStart + milliseconds(1));
    taken += TakeAll(bucket, kStart);
  }
  EXPECT_EQ(taken, 1);
}

TEST(TokenBucketTest, AClockThatIsSetBackCreatesNoTokensAndDoesNotStall) {
  TokenBucket bucket(1, 2);
  EXPECT_EQ(TakeAll(bucket, kStart), 2);
  const Timestamp earlier = kStart - hours(1);
  EXPECT_FALSE(bucket.TryTake(earlier));
  EXPECT_EQ(bucket.NextAt(earlier), earlier + seconds(1));
  EXPECT_EQ(TakeAll(bucket, earlier + seconds(1)), 1);
}

TEST(TokenBucketTest, TakesExtremeRates) {
  TokenBucket rare(1e-30, 4'000'000'000);
  EXPECT_TRUE(rare.TryTake(kStart));
  TokenBucket rare_single(1e-30, 0);
  EXPECT_EQ(TakeAll(rare_single, kStart), 1);
  EXPECT_FALSE(rare_single.TryTake(kStart + hours(24 * 364)));
  EXPECT_TRUE(rare_single.TryTake(kStart + hours(24 * 365)));
  TokenBucket often(1e30, 1);
  EXPECT_TRUE(often.TryTake(kStart));
  EXPECT_TRUE(often.TryTake(kStart + microseconds(1)));
}

RC_GTEST_PROP(TokenBucketTest, NeverGivesMoreThanBurstAndRateAllow, ()) {
  const double rate = 0.5 * *rc::gen::inRange(1, 400);
  const auto burst = *rc::gen::inRange<std::uint32_t>(1, 20);
  TokenBucket bucket(rate, burst);
  Timestamp now = kStart;
  Timestamp earliest = kStart;
  Timestamp latest = kStart;
  double taken = 0;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-4'000, 20'000))) {
    now = std::max(now + microseconds(step * 10), latest - seconds(4));
    earliest = std::min(earliest, now);
    latest = std::max(latest, now);
    taken += bucket.TryTake(now);
    const double elapsed = std::chrono::duration<double>(latest - earliest).count();
    RC_ASSERT(taken <= burst + elapsed * rate + 1e-6);
  }
}

RC_GTEST_PROP(TokenBucketTest, HasATokenAtNextAtAndNotBefore, ()) {
  TokenBucket bucket(*rc::gen::inRange(1, 100'000) / 7.0, *rc::gen::inRange<std::uint32_t>(1, 5));
  Timestamp now = kStart;
  for (int i = 0; i < 50; ++i) {
    TakeAll(bucket, now);
    const Timestamp next = bucket.NextAt(now);
    RC_ASSERT(next > now);
    RC_ASSERT(!bucket.TryTake(next - microseconds(1)));
    RC_ASSERT(bucket.TryTake(next));
    now = next;
  }
}

}  // namespace
}  // namespace everstep
