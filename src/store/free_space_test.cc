#include "store/free_space.h"

#include <gtest/gtest.h>

#include "testing/manual_clock.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;

class FreeSpaceGuard : public testing::Test {
 protected:
  ManualClock clock_;
  std::optional<std::uint64_t> free_ = 100;
  int looks_ = 0;
  FreeSpace guard_{50, clock_, [this] {
                     ++looks_;
                     return free_;
                   }};
};

TEST_F(FreeSpaceGuard, RefusesWritesWhileSpaceIsLowAndRecovers) {
  EXPECT_TRUE(guard_.Check());
  free_ = 49;
  clock_.Advance(milliseconds(100));
  const Status refused = guard_.Check();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreFull);
  free_ = 50;
  clock_.Advance(milliseconds(100));
  EXPECT_TRUE(guard_.Check());
}

TEST_F(FreeSpaceGuard, DoesNotMeasureForEveryWrite) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(guard_.Check());
    clock_.Advance(milliseconds(1));
  }
  EXPECT_EQ(looks_, 1);
  EXPECT_TRUE(guard_.Check());
  EXPECT_EQ(looks_, 2);
}

TEST_F(FreeSpaceGuard, MeasuresAgainWhenTheClockWentBack) {
  EXPECT_TRUE(guard_.Check());
  clock_.JumpBack(std::chrono::hours(1));
  EXPECT_TRUE(guard_.Check());
  EXPECT_EQ(looks_, 2);
}

TEST_F(FreeSpaceGuard, KeepsTheLastAnswerWhenTheSystemGivesNone) {
  free_.reset();
  EXPECT_TRUE(guard_.Check());
  free_ = 1;
  clock_.Advance(milliseconds(100));
  EXPECT_FALSE(guard_.Check());
  free_.reset();
  clock_.Advance(milliseconds(100));
  EXPECT_FALSE(guard_.Check());
}

TEST(FreeBytes, AreKnownForADirectoryThatExists) {
  EXPECT_TRUE(FreeBytesOf("/").has_value());
  EXPECT_FALSE(FreeBytesOf("/no/such/place").has_value());
}

}  // namespace
}  // namespace everstep
