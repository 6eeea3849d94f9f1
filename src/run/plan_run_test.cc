#include <gtest/gtest.h>

#include <set>
#include <string>

#include "testing/plan_workbench.h"

// The decisions of docs/design.md §5 that concern execution and stand in no other file, each named
// by its number; the others are with their subjects.

namespace everstep {
namespace {

class PlanRunTest : public PlanWorkbench {};

TEST_F(PlanRunTest, ParallelBranchesJoin) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http}
  - {stepId: b, kind: http}
  - {stepId: join, kind: echo, dependsOn: [a, b],
       inputs: {sum: "{{ steps.a.result.n + steps.b.result.n }}"}}
)");
  Finish("b", R"({"n":2})");
  EXPECT_EQ(StepStatus(run, "join"), "WAITING");
  Finish("a", R"({"n":1})");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"sum":3})");
}

TEST_F(PlanRunTest, ACompletionAndTheNextStartAreOneCommit) {
  StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  const std::uint64_t commits = power_->commits;
  Finish("a");
  EXPECT_TRUE(IsOpen("b"));
  EXPECT_EQ(power_->commits, commits + 1);
}

TEST_F(PlanRunTest, APlanWithoutAnythingToWaitForEndsByItself) {
  std::string steps;
  for (int i = 0; i < 1500; ++i) steps += "  - {stepId: s" + std::to_string(i) + "}\n";
  const std::string run = StartSteps(steps);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(Events(run).size(), 3003U);
}

TEST_F(PlanRunTest, ManyStepsThatAreReadyAtOnceStartInBoundedCommits) {
  std::string steps = "  - {stepId: first, dependsOn: []}\n";
  for (int i = 0; i < 1500; ++i) {
    steps += "  - {stepId: s" + std::to_string(i) + ", kind: http, dependsOn: [first]}\n";
  }
  StartSteps(steps);
  EXPECT_EQ(tools_->open.size(), 1500U);
  EXPECT_GT(power_->commits, 3U);
}

TEST_F(PlanRunTest, StepsWithExpensiveInputsStartInSeveralTurns) {
  std::string steps = "  - {stepId: first, dependsOn: []}\n";
  for (int i = 0; i < 20; ++i) {
    steps += "  - {stepId: s" + std::to_string(i) +
             ", kind: http, dependsOn: [first], inputs: {n: '{{ range(30000) | sum }}'}}\n";
  }
  StartSteps(steps);
  EXPECT_EQ(tools_->open.size(), 20U);
  EXPECT_GT(power_->commits, 8U) << "other runs of the lane have their turns in between";
}

TEST_F(PlanRunTest, DesignRule05WhatComesAfterTheEndChangesNothing) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, heartbeatTimeout: 1h, dependsOn: []}
  - {stepId: b, kind: http, retryPolicy: {maxAttempts: 2, initialDelay: 1h}}
)");
  const TaskId late = Opened("a").id;
  Fail("b");
  Signal(run, "EMERGENCY_STOP", R"({"reason":"x"})");
  const std::string log = Log(run);
  const EngineMetrics before = engine_->Metrics();
  tools_->Report(late, TaskOutcome::Success("1"));
  tools_->Beat(late);
  AdvanceClock(std::chrono::hours(5));
  Restart();
  EXPECT_EQ(Log(run), log);
  EXPECT_EQ(before.runs_ended, 1U);
  EXPECT_TRUE(tools_->open.empty());
}

TEST_F(PlanRunTest, DesignRule05ARunEndsOnceAlsoInTheCounts) {
  const std::string run = StartSteps("  - {stepId: a}\n");
  Signal(run, "ESCALATE_ALERT", R"({"level":"INFO"})");
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "PAUSE"))), "RUN_TERMINAL");
  EXPECT_EQ(engine_->Metrics().runs_ended, 1U);
}

TEST_F(PlanRunTest, DesignRule06AttemptsCountFromOne) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  EXPECT_EQ(Opened("a").id, (TaskId{RunId(run), "a", 1, 1}));
  Finish("a");
  for (const Event& event : Events(run)) {
    EXPECT_EQ(event.logical_attempt, 1U);
    EXPECT_EQ(event.engine_attempt, 1U);
  }
}

TEST_F(PlanRunTest, DesignRule12NoStepStartsBeforeItsStartIsDurable) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  power_->fails_after = 0;
  Finish("a");
  EXPECT_TRUE(engine_->stopped());
  EXPECT_FALSE(IsOpen("b")) << "neither the completion nor the start is durable";
  Restart();
  EXPECT_EQ(Opened("a").id.engine_attempt, 2U);
  Finish("a");
  Finish("b");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

class WriteBudgetTest : public PlanWorkbench {
 protected:
  // Every write takes so long; `seen` is what was open in the middle of the last one.
  void SlowStore(std::chrono::milliseconds by) {
    power_->meanwhile = [this, by] {
      clock_.Advance(by);
      seen_.clear();
      for (const auto& [step, task] : tools_->open) seen_.insert(step);
    };
  }
  std::set<std::string> seen_;
};

TEST_F(WriteBudgetTest, AWriteOverTheBudgetIsCountedAndRaisesAnAlert) {
  options_.write_budget.latency = std::chrono::seconds(1);
  StartAfresh();
  SlowStore(std::chrono::milliseconds(1'000));
  StartSteps("  - {stepId: a, kind: http}\n");
  EXPECT_EQ(engine_->Metrics().state_store_write_timeouts, 0U);
  EXPECT_TRUE(alerts_.empty());
  SlowStore(std::chrono::milliseconds(1'001));
  Finish("a");
  const EngineMetrics metrics = engine_->Metrics();
  EXPECT_EQ(metrics.state_store_write_timeouts, 1U);
  EXPECT_EQ(metrics.state_store_write_latency_us_max, 1'001'000U);
  EXPECT_EQ(metrics.state_store_buffered_events, 0U);
  ASSERT_EQ(alerts_.size(), 1U);
  EXPECT_EQ(alerts_[0].code, "STATE_STORE_WRITE_SLOW");
  EXPECT_NE(alerts_[0].detail.find("1001 ms; the budget is 1000 ms"), std::string::npos)
      << alerts_[0].detail;
}

TEST_F(WriteBudgetTest, DesignRule12FailingOpenIsForStartsAloneAndOnlyIfItIsAskedFor) {
  constexpr const char* kSteps =
      "  - {stepId: a, kind: http, retryPolicy: {maxAttempts: 3, initialDelay: 1s}}\n"
      "  - {stepId: b, kind: http}\n";
  for (const bool asked : {false, true}) {
    options_.write_budget = {std::chrono::milliseconds(100), asked};
    StartAfresh();
    SlowStore(std::chrono::milliseconds(200));
    const std::string run = StartSteps(kSteps);
    Fail("a");
    // A retry follows from what is durable: it may begin ahead of its own record.
    AdvanceClock(std::chrono::seconds(2));
    EXPECT_EQ(seen_.contains("a"), asked);
    EXPECT_EQ(engine_->Metrics().state_store_buffered_events, asked ? 1U : 0U);
    // What follows from a result waits for the result.
    Finish("a");
    EXPECT_FALSE(seen_.contains("b")) << "began before the completion was durable";
    Finish("b");
    EXPECT_EQ(StatusOf(run), "COMPLETED");
  }
}

TEST_F(WriteBudgetTest, AStartThatWasLostIsBegunAgainUnderTheSameKey) {
  options_.write_budget = {std::chrono::milliseconds(100), true};
  StartAfresh();
  SlowStore(std::chrono::milliseconds(200));
  StartSteps("  - {stepId: a, kind: http, retryPolicy: {maxAttempts: 3, initialDelay: 1s}}\n");
  Fail("a");
  power_->fails_after = 0;
  AdvanceClock(std::chrono::seconds(2));
  ASSERT_TRUE(IsOpen("a"));
  const std::string key = Opened("a").idempotency_key;
  Restart();
  AdvanceClock(std::chrono::seconds(2));
  ASSERT_TRUE(IsOpen("a"));
  EXPECT_EQ(Opened("a").idempotency_key, key);
  EXPECT_EQ(Opened("a").id.logical_attempt, 2U);
}

TEST_F(PlanRunTest, DesignRule16IdsAreTheCallersOrVersionFour) {
  StartRequest request =
      RequestOf("metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a}]\n");
  EXPECT_EQ(Start(request), "run-1");
  request.run_id.clear();
  const std::string made = Start(request);
  ASSERT_EQ(made.size(), 36U);
  EXPECT_EQ(made[14], '4');
  request.run_id = "no|good";
  EXPECT_EQ(TryStart(request).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(PlanRunTest, DesignRule17TheClockMayGoBackAndTheOrderStands) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  clock_.JumpBack(std::chrono::hours(1));
  Finish("a");
  Finish("b");
  const auto events = Events(run);
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i].seq.value(), i + 1);
    EXPECT_GE(events[i].persisted_at, events[i - 1].persisted_at);
  }
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

}  // namespace
}  // namespace everstep
