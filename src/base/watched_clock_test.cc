#include "base/watched_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/manual_clock.h"

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Kind = ClockLeap::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WatchedClockTest : public testing::Test {
 protected:
  void Pass(microseconds time) {
    wall_.Advance(time);
    boot_.Advance(time);
    true_ += time;
  }
  // Advances time in steps of a second and reads the clock after each.
  void PassAsked(microseconds time) {
    for (microseconds left = time; left > microseconds(0); left -= seconds(1)) {
      Pass(std::min<microseconds>(left, seconds(1)));
      (void)clock_.Now();
    }
  }
  std::vector<Kind> Leaps() {
    std::vector<Kind> kinds;
    for (const ClockLeap& leap : clock_.TakeLeaps()) kinds.push_back(leap.kind);
    return kinds;
  }

  ManualClock wall_;
  ManualBootClock boot_;
  Timestamp true_ = wall_.Now();
  WatchedClock clock_{wall_, boot_};
};

TEST_F(WatchedClockTest, EqualsTheWallClockWhileThatIsSteady) {
  for (int i = 0; i < 100; ++i) {
    Pass(milliseconds(777));
    EXPECT_EQ(clock_.Now(), true_);
  }
  EXPECT_THAT(Leaps(), IsEmpty());
}

TEST_F(WatchedClockTest, FollowsSmallCorrections) {
  wall_.Advance(milliseconds(300));
  PassAsked(WatchedClock::kLookEvery);
  EXPECT_EQ(clock_.Now(), wall_.Now());
  wall_.JumpBack(seconds(1));
  PassAsked(WatchedClock::kLookEvery);
  EXPECT_EQ(clock_.Now(), wall_.Now());
  EXPECT_THAT(Leaps(), IsEmpty());
}

TEST_F(WatchedClockTest, ALeapAheadIsReportedAndNotFollowed) {
  Pass(seconds(1));
  wall_.Advance(hours(3));
  EXPECT_EQ(clock_.Now(), true_) << "also before it is noticed";
  PassAsked(seconds(10));
  EXPECT_EQ(clock_.Now(), true_);
  const auto leaps = clock_.TakeLeaps();
  ASSERT_EQ(leaps.size(), 1U);
  EXPECT_EQ(leaps[0].kind, Kind::kAhead);
  EXPECT_EQ(leaps[0].by, hours(3));
  EXPECT_THAT(ToString(leaps[0]), HasSubstr("jumped ahead by 3 h 0 min"));
  EXPECT_THAT(Leaps(), IsEmpty()) << "each leap is reported once";
}

TEST_F(WatchedClockTest, ALeapThatIsUndoneInTimeHasNoEffect) {
  wall_.Advance(hours(3));
  PassAsked(WatchedClock::kHeldFor - seconds(10));
  EXPECT_EQ(clock_.Now(), true_);
  wall_.JumpBack(hours(3));
  PassAsked(minutes(10));
  EXPECT_EQ(clock_.Now(), true_);
  EXPECT_THAT(Leaps(), ElementsAre(Kind::kAhead, Kind::kReturned));
}

TEST_F(WatchedClockTest, ALeapThatLastsIsFollowed) {
  wall_.Advance(hours(3));
  PassAsked(WatchedClock::kHeldFor + seconds(10));
  EXPECT_EQ(clock_.Now(), wall_.Now());
  EXPECT_THAT(Leaps(), ElementsAre(Kind::kAhead, Kind::kAccepted));
}

TEST_F(WatchedClockTest, AClockThatKeepsLeapingIsFollowedEventually) {
  for (int i = 0; i < 70; ++i) {
    wall_.Advance(minutes(10));
    PassAsked(seconds(5));
  }
  EXPECT_GT(clock_.Now(), true_ + hours(10));
}

TEST_F(WatchedClockTest, AClockThatIsSetBackIsFollowedAndReported) {
  wall_.JumpBack(hours(3));
  PassAsked(WatchedClock::kLookEvery);
  EXPECT_EQ(clock_.Now(), wall_.Now());
  EXPECT_THAT(Leaps(), ElementsAre(Kind::kBack));
}

TEST_F(WatchedClockTest, AClockThatWasNeverSetIsFollowedAhead) {
  wall_.JumpBack(hours(24) * 365 * 40);
  WatchedClock clock(wall_, boot_);
  wall_.Advance(hours(24) * 365 * 40);
  Pass(WatchedClock::kLookEvery);
  EXPECT_EQ(clock.Now(), wall_.Now());
}

TEST_F(WatchedClockTest, TimeSpentSuspendedIsNoLeap) {
  Pass(hours(8));
  EXPECT_EQ(clock_.Now(), true_);
  EXPECT_THAT(Leaps(), IsEmpty());
}

TEST_F(WatchedClockTest, KeepsABoundedNumberOfLeaps) {
  for (std::size_t i = 0; i < 2 * WatchedClock::kLeapsKept; ++i) {
    wall_.JumpBack(minutes(1));
    PassAsked(WatchedClock::kLookEvery);
  }
  EXPECT_EQ(clock_.TakeLeaps().size(), WatchedClock::kLeapsKept);
}

}  // namespace
}  // namespace everstep
