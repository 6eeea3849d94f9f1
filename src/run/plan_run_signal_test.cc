#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

// What each signal does to a run. signal_rules_test.cc tests who may send it.

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class PlanRunSignalTest : public PlanWorkbench {
 protected:
  std::string CodeOfSignal(const std::string& run, const std::string& type,
                           const std::string& payload = {}) {
    return CodeOf(TrySignal(SignalOf(run, type, payload)));
  }
  void Stopped(const std::string& step) {
    tools_->Finish(step, TaskOutcome::Failure("CANCELLED", "", false));
    Step();
  }
};

// ---- PAUSE and RESUME

TEST_F(PlanRunSignalTest, DesignRule08APausedRunStartsNoStepAndAcceptsReports) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, retryPolicy: {maxAttempts: 2, backoff: none}}
  - {stepId: b, kind: http}
)");
  Signal(run, "PAUSE", R"({"reason":"look"})");
  EXPECT_EQ(StatusOf(run), "PAUSED");
  EXPECT_EQ(View(run).substatus, "DRAINING");
  Fail("a");
  EXPECT_EQ(View(run).substatus, "");
  EXPECT_TRUE(tools_->open.empty()) << "not even another attempt";
  Signal(run, "RESUME");
  Finish("a");
  Finish("b");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunSignalTest, DesignRule08TheDrainTimeoutRaisesOneAlert) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  Signal(run, "PAUSE");
  AdvanceClock(options_.drain_timeout - seconds(1));
  EXPECT_TRUE(alerts_.empty());
  AdvanceClock(seconds(1));
  ASSERT_EQ(alerts_.size(), 1U);
  EXPECT_EQ(alerts_[0].code, "PAUSE_DRAIN_TIMEOUT");
  AdvanceClock(hours(1));
  EXPECT_EQ(alerts_.size(), 1U);
  Finish("a");
  EXPECT_EQ(StepStatus(run, "a"), "SUCCESS");
}

TEST_F(PlanRunSignalTest, DesignRule08TimersThatFellDueFireOnResume) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {duration: 1h}}
  - {stepId: b, kind: http}
)");
  Signal(run, "PAUSE");
  AdvanceClock(hours(2));
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING");
  Signal(run, "RESUME");
  EXPECT_EQ(StepStatus(run, "a"), "SUCCESS");
  EXPECT_TRUE(IsOpen("b"));
}

TEST_F(PlanRunSignalTest, ResumeNeverRunsACompletedStepAgain) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  Finish("a");
  Signal(run, "PAUSE");
  Signal(run, "RESUME");
  EXPECT_EQ(tools_->started.size(), 2U);
  Finish("b");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunSignalTest, ARunCanBePausedRepeatedly) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(CodeOfSignal(run, "PAUSE"), "");
    EXPECT_EQ(CodeOfSignal(run, "PAUSE"), "INVALID_TRANSITION");
    EXPECT_EQ(CodeOfSignal(run, "RESUME"), "");
    EXPECT_EQ(CodeOfSignal(run, "RESUME"), "INVALID_TRANSITION");
  }
  Finish("a");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunSignalTest, AStepThatFailsWhilePausedFailsTheRunOnResume) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, dependsOn: []}
  - {stepId: b, kind: http}
)");
  Signal(run, "PAUSE");
  Fail("a", "BROKEN", false);
  EXPECT_EQ(StatusOf(run), "PAUSED");
  EXPECT_TRUE(tools_->cancelled.empty());
  Signal(run, "RESUME");
  EXPECT_EQ(tools_->cancelled.size(), 1U);
  Stopped("b");
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunSignalTest, ATaskWhoseLeaseExpiresWhilePausedIsRedeliveredOnResume) {
  const std::string run = StartSteps("  - {stepId: a, kind: http, heartbeatTimeout: 10s}\n");
  Signal(run, "PAUSE");
  AdvanceClock(seconds(10));
  EXPECT_EQ(tools_->started.size(), 1U);
  Signal(run, "RESUME");
  EXPECT_EQ(tools_->started.size(), 2U);
  EXPECT_EQ(tools_->started[1].id.engine_attempt, 2U);
}

// ---- CANCEL and EMERGENCY_STOP

TEST_F(PlanRunSignalTest, CancelAsksThenForcesThenGivesUp) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  Signal(run, "CANCEL", R"({"reason":"enough"})");
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  EXPECT_FALSE(tools_->cancelled[0].second);
  AdvanceClock(options_.cancel_grace);
  ASSERT_EQ(tools_->cancelled.size(), 2U);
  EXPECT_TRUE(tools_->cancelled[1].second);
  AdvanceClock(options_.cancel_grace);
  EXPECT_EQ(StatusOf(run), "CANCELLED");
  EXPECT_EQ(View(run).error_message, "enough");
  EXPECT_EQ(StepStatus(run, "b"), "WAITING");
}

TEST_F(PlanRunSignalTest, APausedRunCanBeCancelled) {
  const std::string run = StartSteps(R"(
  - {stepId: a, compensate: {kind: http}}
  - {stepId: b, kind: http}
)");
  Signal(run, "PAUSE");
  Signal(run, "CANCEL");
  Stopped("b");
  EXPECT_TRUE(IsOpen("a:undo"));
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
}

TEST_F(PlanRunSignalTest, ACancellingRunCannotBePaused) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  Signal(run, "CANCEL");
  EXPECT_EQ(CodeOfSignal(run, "PAUSE"), "INVALID_TRANSITION");
}

TEST_F(PlanRunSignalTest, EmergencyStopEndsTheRunAtOnceWithoutCompensation) {
  const std::string run = StartSteps(R"(
  - {stepId: a, compensate: {kind: http}, dependsOn: []}
  - {stepId: b, kind: http, cancellable: false, dependsOn: [a]}
  - {stepId: h, waitFor: {hook: {token: mine}}, dependsOn: [a]}
  - {stepId: l, kind: http, foreach: {items: "{{ [1, 2] }}"}, dependsOn: [a]}
)");
  EXPECT_EQ(tools_->open.size(), 3U);
  Signal(run, "EMERGENCY_STOP", R"({"reason":"fire","forceKill":true})");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
  EXPECT_EQ(tools_->cancelled.size(), 3U);
  for (const auto& [task, force] : tools_->cancelled) EXPECT_TRUE(force);
  EXPECT_EQ(Deliver("mine", "1"), "HOOK_NOT_FOUND");
  EXPECT_EQ(alerts_.at(0).code, "DESTRUCTIVE_SIGNAL");
  EXPECT_EQ(alerts_.at(0).severity, "P1");
  Finish("b");
  EXPECT_EQ(StepStatus(run, "b"), "FAILED") << "late reports change nothing";
}

// ---- RETRY_STEP and SKIP_STEP

TEST_F(PlanRunSignalTest, RetryStepNeedsAFailureOrForce) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  EXPECT_EQ(CodeOfSignal(run, "RETRY_STEP", R"({"stepId":"x"})"), "STEP_NOT_FOUND");
  EXPECT_EQ(CodeOfSignal(run, "RETRY_STEP", R"({"stepId":"a"})"), "STEP_NOT_TERMINAL");
  EXPECT_EQ(CodeOfSignal(run, "RETRY_STEP", R"({"stepId":"b"})"), "STEP_NOT_TERMINAL");
  const TaskId first = Opened("a").id;
  EXPECT_EQ(CodeOfSignal(run, "RETRY_STEP", R"({"stepId":"a","force":true})"), "");
  EXPECT_EQ(tools_->cancelled.at(0), std::pair(first, true));
  EXPECT_EQ(tools_->started.back().id.logical_attempt, 2U);
  tools_->Report(first, TaskOutcome::Success("1"));
  Step();
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING");
  tools_->Report(tools_->started.back().id, TaskOutcome::Success("2"));
  Step();
  EXPECT_EQ(CodeOfSignal(run, "RETRY_STEP", R"({"stepId":"a"})"), "STEP_TERMINAL");
}

TEST_F(PlanRunSignalTest, TheDecisionIsLoggedBeforeItsEffect) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  Signal(run, "RETRY_STEP", R"({"stepId":"a","force":true})");
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(a) SignalAccepted StepFailed(a) StepStarted(a)");
}

TEST_F(PlanRunSignalTest, RetryStepDuringABackoffStartsOneAttempt) {
  const std::string run = StartSteps(
      "  - {stepId: a, kind: http, retryPolicy: {maxAttempts: 3, initialDelay: 1h, maxDelay: "
      "1h}}\n");
  Fail("a");
  Signal(run, "RETRY_STEP", R"({"stepId":"a"})");
  EXPECT_EQ(Opened("a").id.logical_attempt, 2U);
  AdvanceClock(hours(2));
  EXPECT_EQ(tools_->started.size(), 2U) << "the backoff timer starts nothing later";
}

TEST_F(PlanRunSignalTest, ABackoffThatEndsWhileWaitingForASlotRequestsNoSecondSlot) {
  tools_->slots["http"] = 1;
  Restart();
  const std::string run = StartSteps(
      "  - {stepId: a, kind: http, retryPolicy: {maxAttempts: 3, initialDelay: 1h, maxDelay: "
      "1h}}\n");
  const std::string other =
      StartSteps("  - {stepId: x, kind: http}\n  - {stepId: y, kind: http}\n");
  Fail("a");
  ASSERT_TRUE(IsOpen("x"));
  Signal(run, "RETRY_STEP", R"({"stepId":"a"})");
  AdvanceClock(hours(2));
  Finish("x");
  ASSERT_TRUE(IsOpen("a"));
  Finish("a");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  Finish("y");
  EXPECT_EQ(StatusOf(other), "COMPLETED") << "no slot is lost";
}

TEST_F(PlanRunSignalTest, SkipStepOfARunningStepAHookAndAChild) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, dependsOn: []}
  - {stepId: h, waitFor: {hook: {token: mine}}}
  - {stepId: c, plan: {metadata: {planId: c, planVersion: "1"}, steps: [{stepId: x, kind: http}]}}
  - {stepId: end, kind: http}
)");
  const std::string child = StepOf(run, "c").child_run_id;
  run_ids_.push_back(child);
  for (const char* step : {"a", "h", "c"}) {
    EXPECT_EQ(CodeOfSignal(run, "SKIP_STEP", R"({"stepId":")" + std::string(step) + R"("})"), "");
    EXPECT_EQ(CodeOfSignal(run, "SKIP_STEP", R"({"stepId":")" + std::string(step) + R"("})"),
              "STEP_TERMINAL");
  }
  Finish("end");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->cancelled.at(0), std::pair(Opened("a").id, true));
  EXPECT_EQ(Deliver("mine", "1"), "HOOK_NOT_FOUND");
  Stopped("x");
  EXPECT_EQ(StatusOf(child), "CANCELLED");
}

// ---- UPDATE_PARAMS, INJECT_OVERRIDE, UPDATE_TARGET and ESCALATE_ALERT

TEST_F(PlanRunSignalTest, UpdateParamsChangesLaterSteps) {
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
inputs: {n: {type: integer, default: 1}, m: {default: 2}}
steps:
  - {stepId: a, kind: http, inputs: {n: "{{ inputs.n }}"}}
  - {stepId: b, kind: http, inputs: {n: "{{ inputs.n }}", m: "{{ inputs.m }}"}}
)");
  EXPECT_EQ(CodeOfSignal(run, "UPDATE_PARAMS", R"({"params":{"n":"x"}})"),
            "SIGNAL_INVALID_PAYLOAD");
  EXPECT_EQ(CodeOfSignal(run, "UPDATE_PARAMS", R"({"params":{"n":5}})"), "");
  EXPECT_EQ(View(run).inputs, R"({"n":5,"m":2})");
  Finish("a");
  EXPECT_EQ(Opened("b").inputs, R"({"n":5,"m":2})");
}

TEST_F(PlanRunSignalTest, AnOverrideSetsInputsOfTheNextAttemptOnly) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, inputs: {x: 1, y: 2}, retryPolicy: {maxAttempts: 4, backoff: none}}
)");
  Signal(run, "INJECT_OVERRIDE", R"({"stepId":"a","override":{"inputs":{"y":3}}})");
  EXPECT_EQ(Opened("a").inputs, R"({"x":1,"y":2})");
  Fail("a");
  EXPECT_EQ(Opened("a").inputs, R"({"x":1,"y":3})");
  Fail("a");
  EXPECT_EQ(Opened("a").inputs, R"({"x":1,"y":2})");
}

TEST_F(PlanRunSignalTest, AnOverrideSetsTheResultOfAnyKindOfStep) {
  const std::string run = StartSteps(R"(
  - {stepId: go, kind: http}
  - {stepId: a, kind: http, dependsOn: [go]}
  - {stepId: w, waitFor: {hook: {}}, dependsOn: [go]}
  - {stepId: l, kind: http, foreach: {items: "{{ [1] }}"}, dependsOn: [go]}
  - {stepId: c, plan: {metadata: {planId: c, planVersion: "1"},
       steps: [{stepId: x, kind: http}]}, dependsOn: [go]}
  - {stepId: end, kind: echo, dependsOn: [a, w, l, c],
       inputs: {s: "{{ [steps.a.result, steps.w.result, steps.l.result, steps.c.result] }}"}}
)");
  for (const char* step : {"a", "w", "l", "c"}) {
    Signal(run, "INJECT_OVERRIDE",
           R"({"stepId":")" + std::string(step) + R"(","override":{"result":7}})");
  }
  Finish("go");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->started.size(), 1U);
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"s":[7,7,7,7]})");
}

TEST_F(PlanRunSignalTest, AnOverrideOfAHeldStepRetriesIt) {
  const std::string run = StartSteps("  - {stepId: a, kind: http, onFailure: hold}\n");
  Fail("a", "BROKEN", false);
  Signal(run, "INJECT_OVERRIDE", R"({"stepId":"a","override":{"result":{"n":1}}})");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(CodeOfSignal(run, "RETRY_RUN"), "");
}

TEST_F(PlanRunSignalTest, UpdateTargetAppliesToAllFurtherAttempts) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, inputs: {db: one, q: 1}, retryPolicy: {maxAttempts: 4, backoff: none}}
)");
  Signal(run, "UPDATE_TARGET", R"({"stepId":"a","newTarget":{"db":"two"}})");
  for (int i = 0; i < 2; ++i) {
    Fail("a");
    EXPECT_EQ(Opened("a").inputs, R"({"db":"two","q":1})");
  }
  Finish("a");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunSignalTest, EscalateAlertIsAcceptedAfterTheEnd) {
  const std::string run = StartSteps("  - {stepId: a}\n");
  EXPECT_EQ(CodeOfSignal(run, "ESCALATE_ALERT", R"({"level":"CRITICAL","note":"late"})"), "");
  ASSERT_EQ(alerts_.size(), 1U);
  EXPECT_EQ(alerts_[0].code, "ALERT_ESCALATED");
  EXPECT_EQ(alerts_[0].severity, "CRITICAL");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

// ---- RETRY_RUN

TEST_F(PlanRunSignalTest, DesignRule09RetryRunStartsANewRunLinkedToTheOld) {
  const std::string plan = R"(
metadata: {planId: p, planVersion: "1"}
inputs: {n: {type: integer}}
steps: [{stepId: a, kind: http, inputs: {n: "{{ inputs.n }}"}}]
)";
  const std::string run = Start(plan, R"({"n":3})");
  EXPECT_EQ(CodeOfSignal(run, "RETRY_RUN"), "INVALID_TRANSITION");
  Fail("a", "BROKEN", false);
  const std::string log = Log(run);
  SignalRequest request = SignalOf(run, "RETRY_RUN");
  request.signal_id = "again";
  const auto first = TrySignal(request);
  ASSERT_TRUE(first);
  EXPECT_EQ(Log(run), log) << "the original run is unchanged";
  EXPECT_EQ(Opened("a").inputs, R"({"n":3})");
  const auto second = TrySignal(request);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->new_run_id, first->new_run_id);
  EXPECT_TRUE(second->repeated);
  EXPECT_EQ(tools_->open.size(), 1U);
  EXPECT_NE(Events(first->new_run_id)[0].payload.find(R"("originalRunId":")" + run),
            std::string::npos);
}

TEST_F(PlanRunSignalTest, RetryRunWithForceLeavesTheOldRunRunning) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  const SignalDecision decision = Signal(run, "RETRY_RUN", R"({"force":true})");
  EXPECT_EQ(tools_->open.size(), 2U);
  EXPECT_EQ(StatusOf(run), "RUNNING");
  EXPECT_EQ(StatusOf(decision.new_run_id), "RUNNING");
}

TEST_F(PlanRunSignalTest, RetryRunWithAKnownIdAndOtherContentIsADuplicate) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  SignalRequest update = SignalOf(run, "UPDATE_PARAMS", R"({"params":{}})");
  update.signal_id = "taken";
  (void)TrySignal(update);
  SignalRequest early = SignalOf(run, "RETRY_RUN");
  early.signal_id = "early";
  EXPECT_EQ(CodeOf(TrySignal(early)), "INVALID_TRANSITION");
  Fail("a", "BROKEN", false);
  SignalRequest request = SignalOf(run, "RETRY_RUN", R"({"reason":"one"})");
  request.signal_id = "again";
  const auto first = TrySignal(request);
  ASSERT_TRUE(first);
  request.payload = R"({"reason":"two"})";
  EXPECT_EQ(CodeOf(TrySignal(request)), "SIGNAL_DUPLICATE") << "decided in the new run";
  request.signal_id = "taken";
  EXPECT_EQ(CodeOf(TrySignal(request)), "SIGNAL_DUPLICATE") << "decided in the old one";
  const auto repeated = TrySignal(early);
  EXPECT_EQ(CodeOf(repeated), "INVALID_TRANSITION") << "the first decision stands";
  EXPECT_TRUE(repeated && repeated->repeated);
}

}  // namespace
}  // namespace everstep
