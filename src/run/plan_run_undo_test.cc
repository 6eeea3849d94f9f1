#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

// Compensation.

namespace everstep {
namespace {

using std::chrono::seconds;

class PlanRunUndoTest : public PlanWorkbench {
 protected:
  // Two completed steps with compensation, and one that runs.
  std::string StartThree(const std::string& more = "") {
    return StartSteps(R"(
  - {stepId: a, kind: echo, inputs: {id: 1}, compensate: {kind: http,
       inputs: {id: "{{ steps.a.result.id }}"}}}
  - {stepId: b, kind: echo, compensate: {kind: http)" +
                      more + R"(}}
  - {stepId: c, kind: http}
)");
  }
};

TEST_F(PlanRunUndoTest, RunsInReverseOrderOneAfterTheOther) {
  const std::string run = StartThree();
  Fail("c", "BROKEN", false);
  EXPECT_TRUE(IsOpen("b:undo"));
  EXPECT_FALSE(IsOpen("a:undo"));
  Finish("b:undo");
  EXPECT_EQ(Opened("a:undo").inputs, R"({"id":1})");
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "BROKEN");
}

TEST_F(PlanRunUndoTest, ReversesTheOrderOfCompletionNotOfThePlan) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, dependsOn: [], compensate: {kind: http}}
  - {stepId: b, kind: http, compensate: {kind: http}}
  - {stepId: c, kind: http, dependsOn: [a, b]}
)");
  Finish("b");
  Finish("a");
  Fail("c", "BROKEN", false);
  EXPECT_TRUE(IsOpen("a:undo"));
  Finish("a:undo");
  EXPECT_TRUE(IsOpen("b:undo"));
  Finish("b:undo");
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunUndoTest, IsRetriedByItsOwnPolicy) {
  const std::string run =
      StartThree(", retryPolicy: {maxAttempts: 2, backoff: none, initialDelay: 5s}");
  Fail("c", "BROKEN", false);
  Fail("b:undo");
  EXPECT_TRUE(tools_->open.empty());
  AdvanceClock(seconds(5));
  EXPECT_EQ(Opened("b:undo").id.logical_attempt, 2U);
  Finish("b:undo");
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunUndoTest, AFailedCompensationIsRecordedAndTheOthersContinue) {
  const std::string run = StartThree();
  Fail("c", "BROKEN", false);
  Fail("b:undo");
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "RETRY_STEP", R"({"stepId":"b:undo"})"))),
            "STEP_TERMINAL");
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_NE(Events(run).back().payload.find(R"("compensationFailed":["b:undo"])"),
            std::string::npos);
}

TEST_F(PlanRunUndoTest, RunsAfterACancelAndIsNotCancelledItself) {
  const std::string run = StartThree();
  Signal(run, "CANCEL");
  tools_->Finish("c", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_TRUE(IsOpen("b:undo"));
  Signal(run, "CANCEL");
  AdvanceClock(std::chrono::hours(1));
  EXPECT_EQ(tools_->cancelled.size(), 1U) << "only c was asked to stop";
  Finish("b:undo");
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
}

TEST_F(PlanRunUndoTest, AStepThatCompletesWhileBeingStoppedIsCompensated) {
  const std::string run = StartSteps("  - {stepId: a, kind: http, compensate: {kind: http}}\n");
  Signal(run, "CANCEL");
  Finish("a");
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
}

TEST_F(PlanRunUndoTest, DoesNotContinueWhileTheRunIsPaused) {
  const std::string run = StartThree();
  Fail("c", "BROKEN", false);
  Signal(run, "PAUSE");
  Finish("b:undo");
  EXPECT_TRUE(tools_->open.empty());
  EXPECT_EQ(StatusOf(run), "PAUSED");
  Signal(run, "RESUME");
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunUndoTest, CanBeSkipped) {
  const std::string run = StartThree();
  Fail("c", "BROKEN", false);
  EXPECT_EQ(Signal(run, "SKIP_STEP", R"({"stepId":"b:undo"})").decision, "ACCEPTED");
  EXPECT_TRUE(IsOpen("a:undo"));
}

TEST_F(PlanRunUndoTest, WaitsForItsSlot) {
  tools_->slots["http"] = 1;
  Restart();
  const std::string run = StartThree();
  const std::string other =
      StartSteps("  - {stepId: x, kind: http}\n  - {stepId: y, kind: http}\n");
  Fail("c", "BROKEN", false);
  ASSERT_TRUE(IsOpen("x"));
  EXPECT_EQ(Why(run).blockers.back().kind, "slot");
  Finish("x");
  ASSERT_TRUE(IsOpen("b:undo"));
  Finish("b:undo");
  Finish("y");
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(StatusOf(other), "COMPLETED");
}

TEST_F(PlanRunUndoTest, IsRedeliveredAfterARestart) {
  for (const bool cancel : {false, true}) {
    const std::string run = StartThree();
    if (cancel) Signal(run, "CANCEL");
    Fail("c", "BROKEN", false);
    const Task first = Opened("b:undo");
    Restart();
    ASSERT_TRUE(IsOpen("b:undo"));
    EXPECT_EQ(Opened("b:undo").id.engine_attempt, 2U);
    EXPECT_EQ(Opened("b:undo").idempotency_key, first.idempotency_key);
    Finish("b:undo");
    Finish("a:undo");
    EXPECT_EQ(StatusOf(run), cancel ? "CANCELLED" : "FAILED");
  }
}

TEST_F(PlanRunUndoTest, RunsIfTheOutputsOfThePlanCannotBeEvaluated) {
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
steps:
  - {stepId: a, kind: echo, inputs: {text: x}, compensate: {kind: http}}
outputs: {n: "{{ 1 + steps.a.result.text }}"}
)");
  EXPECT_TRUE(IsOpen("a:undo"));
  Restart();
  EXPECT_TRUE(IsOpen("a:undo"));
  Finish("a:undo");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "EXPRESSION_FAILED");
  EXPECT_EQ(View(run).error_message.find("outputs: "), 0U);
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(a) StepCompleted(a) ErrorRecorded "
            "StepStarted(a:undo) StepStarted(a:undo) StepCompleted(a:undo) RunFailed");
}

}  // namespace
}  // namespace everstep
