#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

namespace everstep {
namespace {

using std::chrono::hours;

class PlanRunChildTest : public PlanWorkbench {
 protected:
  std::string StartParent(const std::string& more = "", const std::string& metadata = "",
                          const std::string& n = "5") {
    const std::string run = StartSteps(R"(
  - stepId: c
    inputs: {n: )" + n + R"(}
    plan:
      metadata: {planId: child, planVersion: "1")" +
                                       metadata + R"(}
      inputs: {n: {type: integer}}
      steps: [{stepId: x, kind: http, inputs: {n: "{{ inputs.n }}"}}]
      outputs: {got: "{{ steps.x.result }}"}
)" + (more.empty() ? "" : "    " + more + "\n") +
                                       R"(
  - {stepId: end, kind: echo, inputs: {r: "{{ steps.c.result }}"}}
)");
    child_ = StepOf(run, "c").child_run_id;
    if (!child_.empty()) run_ids_.push_back(child_);
    return run;
  }
  std::string child_;
};

TEST_F(PlanRunChildTest, TheOutputsOfTheChildAreTheResultOfTheStep) {
  const std::string run = StartParent();
  EXPECT_EQ(Opened("x").inputs, R"({"n":5})");
  EXPECT_NE(Events(child_)[0].payload.find(R"("parentRunId":")" + run), std::string::npos);
  Finish("x", "7");
  EXPECT_EQ(StatusOf(child_), "COMPLETED");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"r":{"got":7}})");
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(c) ChildStarted ChildFinished StepCompleted(c) "
            "StepStarted(end) StepCompleted(end) RunCompleted");
}

TEST_F(PlanRunChildTest, AFailedChildFailsTheStepAndARetryStartsAnother) {
  const std::string run = StartParent("retryPolicy: {maxAttempts: 2, backoff: none}");
  const std::string first = child_;
  Fail("x", "BROKEN", false);
  EXPECT_EQ(StatusOf(first), "FAILED");
  const std::string second = StepOf(run, "c").child_run_id;
  EXPECT_NE(second, first);
  Fail("x", "BROKEN", false);
  EXPECT_EQ(View(run).error_code, "CHILD_FAILED");
  EXPECT_NE(View(run).error_message.find("BROKEN"), std::string::npos);
}

TEST_F(PlanRunChildTest, IsCancelledWithItsParent) {
  const std::string run = StartParent();
  Signal(run, "CANCEL");
  tools_->Finish("x", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_EQ(StatusOf(child_), "CANCELLED");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
}

TEST_F(PlanRunChildTest, ACancelledChildFailsTheStep) {
  const std::string run = StartParent();
  Signal(child_, "CANCEL");
  tools_->Finish("x", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_EQ(View(run).error_code, "CHILD_CANCELLED");
}

TEST_F(PlanRunChildTest, IsNotStartedWithInvalidInputs) {
  const std::string run = StartParent("", "", "many");
  EXPECT_EQ(View(run).error_code, "CHILD_FAILED");
  EXPECT_NE(View(run).error_message.find("INVALID_INPUT"), std::string::npos);
}

TEST_F(PlanRunChildTest, IsCancelledAtTheTimeoutOfTheStep) {
  const std::string run = StartParent("timeout: 1h");
  AdvanceClock(hours(1));
  EXPECT_EQ(View(run).error_code, "TIMEOUT");
  tools_->Finish("x", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_EQ(StatusOf(child_), "CANCELLED");
}

TEST_F(PlanRunChildTest, AChildOfATimedOutAttemptDoesNotEndTheNextAttempt) {
  const std::string run =
      StartParent("timeout: 1h\n    retryPolicy: {maxAttempts: 2, backoff: none}");
  AdvanceClock(hours(1));
  ASSERT_EQ(tools_->open.count("x"), 2U);
  const TaskId first = tools_->started[0].id;
  tools_->Report(first, TaskOutcome::Success("1"));
  Step();
  EXPECT_EQ(StepStatus(run, "c"), "RUNNING");
  tools_->Report(tools_->started[1].id, TaskOutcome::Success("2"));
  Step();
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"r":{"got":2}})");
}

TEST_F(PlanRunChildTest, WaitsForItsApproval) {
  const std::string run = StartParent("", ", requiresApproval: true");
  EXPECT_EQ(StatusOf(child_), "PENDING");
  EXPECT_TRUE(engine_->Approve(child_, {"boss", {"Admin"}, {}}, "fine"));
  Step();
  Finish("x");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunChildTest, RetryRunOfAChildStartsARunWithoutParent) {
  const std::string run = StartParent("onFailure: hold");
  Fail("x", "BROKEN", false);
  const SignalDecision decision = Signal(child_, "RETRY_RUN");
  Finish("x", "7");
  EXPECT_EQ(StatusOf(decision.new_run_id), "COMPLETED");
  EXPECT_EQ(Events(decision.new_run_id)[0].payload.find("parentRunId"), std::string::npos);
  EXPECT_EQ(StepStatus(run, "c"), "FAILED");
}

TEST_F(PlanRunChildTest, ContinuesAfterARestart) {
  const std::string run = StartParent();
  Restart();
  EXPECT_EQ(Opened("x").id.engine_attempt, 2U);
  EXPECT_EQ(Opened("x").id.run_id.value(), child_);
  Finish("x", "7");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

// ---- a crash after the parent ends its wait and before the child is cancelled

TEST_F(PlanRunChildTest, IsCancelledAfterARestartIfItsParentWasStopped) {
  const std::string run = StartParent();
  power_->fails_after = 1;
  Signal(run, "EMERGENCY_STOP", R"({"reason":"fire"})");
  ASSERT_TRUE(power_->failed) << "the child's cancellation must be lost";
  Restart();
  EXPECT_EQ(StatusOf(run), "CANCELLED");
  EXPECT_EQ(StatusOf(child_), "CANCELLED");
  EXPECT_TRUE(tools_->started.empty()) << "steps of an orphaned run are not redelivered";
}

TEST_F(PlanRunChildTest, IsCancelledAfterARestartIfItsParentWasCancelled) {
  const std::string run = StartParent();
  power_->fails_after = 1;
  Signal(run, "CANCEL");
  ASSERT_TRUE(power_->failed);
  Restart();
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  tools_->Finish("x", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_EQ(StatusOf(child_), "CANCELLED");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
}

TEST_F(PlanRunChildTest, IsCancelledAfterARestartIfItsAttemptTimedOut) {
  const std::string run = StartParent("timeout: 1h\n    onFailure: hold");
  power_->fails_after = 1;
  AdvanceClock(hours(1));
  ASSERT_TRUE(power_->failed);
  Restart();
  EXPECT_EQ(StepStatus(run, "c"), "FAILED");
  tools_->Finish("x", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_EQ(StatusOf(child_), "CANCELLED");
}

TEST_F(PlanRunChildTest, OnlyTheChildOfTheTimedOutAttemptIsCancelledAfterARestart) {
  const std::string run =
      StartParent("timeout: 1h\n    retryPolicy: {maxAttempts: 2, backoff: none}");
  power_->fails_after = 1;
  AdvanceClock(hours(1));
  Restart();
  const std::string second = StepOf(run, "c").child_run_id;
  ASSERT_NE(second, child_);
  ASSERT_EQ(tools_->open.count("x"), 2U);
  for (const Task& task : tools_->started) {
    if (task.id.run_id.value() != child_) continue;
    tools_->Report(task.id, TaskOutcome::Failure("CANCELLED", "", false));
  }
  Step();
  EXPECT_EQ(StatusOf(child_), "CANCELLED");
  EXPECT_EQ(StatusOf(second), "RUNNING");
}

TEST_F(PlanRunChildTest, IsCancelledAfterARestartIfTheParentRunTimedOut) {
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
timeout: 1h
steps:
  - stepId: c
    plan: {metadata: {planId: child, planVersion: "1"}, steps: [{stepId: x, kind: http}]}
)");
  const std::string child = StepOf(run, "c").child_run_id;
  power_->fails_after = 1;
  AdvanceClock(hours(1));
  ASSERT_TRUE(power_->failed);
  Restart();
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  tools_->Finish("x", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_EQ(StatusOf(child), "CANCELLED");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "RUN_TIMEOUT");
}

TEST_F(PlanRunChildTest, IsCancelledOnceAFullDiskHasSpaceAgain) {
  const std::string run = StartParent();
  power_->full_after = 1;  // there is space for the parent's event only
  Signal(run, "CANCEL");
  EXPECT_EQ(StatusOf(child_), "RUNNING");
  power_->full_after = UINT64_MAX;
  AdvanceClock(std::chrono::seconds(1));
  tools_->Finish("x", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_EQ(StatusOf(child_), "CANCELLED");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
}

}  // namespace
}  // namespace everstep
