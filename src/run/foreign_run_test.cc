#include "run/foreign_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/manual_clock.h"
#include "testing/orders.h"

namespace everstep {
namespace {

using enum EventType;
using testing::HasSubstr;

class ForeignRunsTest : public testing::Test {
 protected:
  ForeignRunsTest() {
    EventWrite start = Write("r", kRunStarted);
    start.facts.engine_run_ref = "elsewhere/1";
    Append(std::move(start));
  }
  void Append(EventWrite write) {
    const AppendOrder order = Order(std::move(write));
    const auto placed = authority_.Await(authority_.Submit(std::span(&order, 1), DefaultScope()));
    ASSERT_TRUE(placed.front()) << ToString(placed.front().error());
  }
  Result<SignalDecision> Signal(const std::string& type, const std::string& id,
                                const std::string& tenant = "default") {
    SignalRequest request;
    request.run_id = "r";
    request.tenant_id = tenant;
    request.signal_id = id;
    request.type = type;
    request.reason = "audit";
    request.actor.id = "ada";
    request.actor.roles = {"Admin"};
    const auto verdict = JudgeSignal(request, {}, clock_.Now(), random_);
    if (!verdict) return verdict.error();
    return runs_.Signal(request, *verdict);
  }
  std::string StatusOf() { return runs_.View(RunId("r"))->status; }

  ManualClock clock_;
  SeededRandom random_{1};
  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  Committer committer_{*store_, clock_, {}};
  AppendAuthority authority_{*store_, committer_, clock_, random_, {}};
  ForeignRuns runs_{*store_, authority_, clock_, random_};
};

TEST_F(ForeignRunsTest, PauseAndResumeAreRecorded) {
  EXPECT_TRUE(runs_.Has(RunId("r")));
  const auto paused = Signal("PAUSE", "one");
  ASSERT_TRUE(paused) << ToString(paused.error());
  EXPECT_EQ(paused->decision, "ACCEPTED");
  EXPECT_EQ(paused->run_seq, 2U);
  EXPECT_EQ(StatusOf(), "PAUSED");
  EXPECT_TRUE(Signal("PAUSE", "one")->repeated);
  EXPECT_EQ(Signal("PAUSE", "two")->decision, "REJECTED");
  EXPECT_EQ(Signal("RESUME", "three")->decision, "ACCEPTED");
  EXPECT_EQ(StatusOf(), "RUNNING");
}

TEST_F(ForeignRunsTest, CancelledRunsRefuseSignals) {
  const auto cancelled = Signal("CANCEL", "one");
  ASSERT_TRUE(cancelled) << ToString(cancelled.error());
  EXPECT_EQ(cancelled->decision, "ACCEPTED");
  EXPECT_EQ(StatusOf(), "CANCELLED");
  const auto late = Signal("PAUSE", "two");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kRunTerminal);
}

TEST_F(ForeignRunsTest, SignalsThatOnlyTheirEngineCanDecideAreRejected) {
  const auto retried = Signal("RETRY_RUN", "one");
  ASSERT_TRUE(retried) << ToString(retried.error());
  EXPECT_EQ(retried->decision, "REJECTED");
  EXPECT_EQ(retried->code, Name(ErrorCode::kCapabilityNotSupported));
}

TEST_F(ForeignRunsTest, AreNotVisibleToOtherTenants) {
  const auto paused = Signal("PAUSE", "one", "other");
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().code, ErrorCode::kRunNotFound);
}

TEST_F(ForeignRunsTest, WhyExplainsWhatTheyWaitFor) {
  EXPECT_THAT(runs_.Why(RunId("r"))->summary, HasSubstr("application"));
  EventWrite wait = Write("r", kWaitCreated, "w1");
  wait.facts.due_at = *ParseTimestamp("2026-03-01T00:00:00.000Z");
  Append(std::move(wait));
  EventWrite step = Write("r", kStepScheduled, "s1");
  step.payload = R"({"stepName":"pack"})";
  Append(std::move(step));
  Append(Write("r", kStepStarted, "s1"));
  const auto why = runs_.Why(RunId("r"));
  ASSERT_EQ(why->blockers.size(), 2U);
  EXPECT_EQ(why->blockers[0].kind, "step");
  EXPECT_EQ(why->blockers[1].kind, "timer");
  EXPECT_THAT(why->blockers[1].message, HasSubstr("2026-03-01"));
  ASSERT_TRUE(Signal("PAUSE", "one"));
  EXPECT_EQ(runs_.Why(RunId("r"))->blockers[0].kind, "pause");
  const auto view = runs_.View(RunId("r"));
  EXPECT_EQ(view->substatus, "DRAINING");
  ASSERT_EQ(view->steps.size(), 1U);
  EXPECT_EQ(view->steps[0].name, "pack");
  EXPECT_EQ(view->steps[0].status, "RUNNING");
}

}  // namespace
}  // namespace everstep
