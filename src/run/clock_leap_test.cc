#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

// Leaps of the wall clock while runs wait.

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ClockLeapTest : public PlanWorkbench {
 protected:
  ClockLeapTest() {
    watched_ = std::make_unique<WatchedClock>(clock_, boot_);
    StartAfresh();
  }
  // Advances the clocks second by second and lets the engine work in between.
  void Pass(seconds time) {
    for (seconds i(0); i < time; ++i) {
      boot_.Advance(seconds(1));
      AdvanceClock(seconds(1));
    }
  }
  std::vector<std::string> AlertCodes() {
    std::vector<std::string> codes;
    for (const Alert& alert : alerts_) codes.push_back(alert.severity + " " + alert.code);
    return codes;
  }
  std::string WaitUntil(Timestamp time) {
    return StartSteps("  - {stepId: a, waitFor: {until: \"" + FormatTimestamp(time) + "\"}}\n");
  }

  ManualBootClock boot_;
};

TEST_F(ClockLeapTest, AnAbsoluteTimeIsKeptIfTheClockLeapsAheadAndReturns) {
  const std::string run = WaitUntil(clock_.Now() + minutes(10));
  clock_.Advance(hours(3));
  Pass(minutes(4));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  EXPECT_THAT(AlertCodes(), ElementsAre("P2 CLOCK_JUMPED"));
  EXPECT_THAT(alerts_[0].detail, HasSubstr("jumped ahead by 3 h 0 min"));
  clock_.JumpBack(hours(3));
  Pass(minutes(6) - seconds(1));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  Pass(seconds(1));
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_THAT(AlertCodes(), ElementsAre("P2 CLOCK_JUMPED", "P3 CLOCK_JUMPED"));
  EXPECT_EQ(Events(run).back().persisted_at, clock_.Now());
}

TEST_F(ClockLeapTest, DurationsAreKeptAcrossALeap) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {duration: 2m}}
  - {stepId: b, kind: http, timeout: 3m, dependsOn: []}
)");
  clock_.Advance(hours(3));
  Pass(minutes(2) - seconds(1));
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING");
  Pass(seconds(1));
  EXPECT_EQ(StepStatus(run, "a"), "SUCCESS");
  Pass(seconds(59));
  EXPECT_EQ(StepStatus(run, "b"), "RUNNING");
  clock_.JumpBack(hours(3));
  Pass(seconds(1));
  EXPECT_EQ(StepStatus(run, "b"), "FAILED");
}

TEST_F(ClockLeapTest, ALastingLeapIsFollowed) {
  const std::string run = WaitUntil(clock_.Now() + hours(3));
  clock_.Advance(hours(3));
  Pass(minutes(4));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  Pass(minutes(2));
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_THAT(AlertCodes(), ElementsAre("P2 CLOCK_JUMPED", "P2 CLOCK_JUMPED"));
}

TEST_F(ClockLeapTest, AbsoluteTimesAreRightAfterALateCorrection) {
  const Timestamp begun = clock_.Now();
  clock_.Advance(hours(3));
  Pass(minutes(6));  // the leap lasts, so the clock is trusted
  const std::string ahead = StartSteps("  - {stepId: s, kind: http}\n");
  EXPECT_EQ(Events(ahead).front().persisted_at, begun + hours(3) + minutes(6));
  clock_.JumpBack(hours(3));
  Pass(seconds(6));
  EXPECT_EQ(AlertCodes().back(), "P2 CLOCK_BEHIND_STORE");
  const std::string right = WaitUntil(begun + minutes(10));
  EXPECT_EQ(Events(right).front().persisted_at, clock_.Now());
  Finish("s");
  EXPECT_GE(Events(ahead).back().persisted_at, Events(ahead).front().persisted_at)
      << "time does not go back within a run";
  Pass(minutes(3));
  EXPECT_EQ(StatusOf(right), "RUNNING");
  Pass(minutes(1));
  EXPECT_EQ(StatusOf(right), "COMPLETED");
  EXPECT_EQ(Events(right).back().persisted_at, begun + minutes(10));
}

TEST_F(ClockLeapTest, AStoreAheadOfTheClockRaisesOneAlert) {
  clock_.Advance(hours(3));
  Pass(minutes(6));
  StartSteps("  - {stepId: a, kind: echo}\n");
  clock_.JumpBack(hours(3));
  alerts_.clear();
  watched_ = std::make_unique<WatchedClock>(clock_, boot_);
  Restart();
  Pass(minutes(1));
  ASSERT_THAT(AlertCodes(), ElementsAre("P2 CLOCK_BEHIND_STORE"));
  EXPECT_THAT(alerts_[0].detail, HasSubstr("events were written at 2026-02-12T03:06:00.000Z"));
  Pass(hours(3));
  EXPECT_EQ(alerts_.size(), 1U);
}

}  // namespace
}  // namespace everstep
