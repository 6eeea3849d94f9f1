#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

// Joins, skips and failures.

namespace everstep {
namespace {

class PlanRunFailureTest : public PlanWorkbench {};

// ---- joins and skips

TEST_F(PlanRunFailureTest, AFalseConditionSkipsTheStepAndItsSoleDependents) {
  const std::string run = StartSteps(R"(
  - {stepId: a, when: "1 > 2"}
  - {stepId: b, dependsOn: [a]}
  - {stepId: c, dependsOn: [b]}
)");
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepSkipped(a) StepSkipped(b) StepSkipped(c) RunCompleted");
  for (const char* step : {"a", "b", "c"}) {
    EXPECT_EQ(StepOf(run, step).skip_code, "CONDITION_FALSE") << step;
  }
}

TEST_F(PlanRunFailureTest, AJoinRunsIfOneDependencySucceeded) {
  const std::string run = StartSteps(R"(
  - {stepId: a, when: "false"}
  - {stepId: b, kind: echo, inputs: {n: 1}}
  - {stepId: c, kind: echo, dependsOn: [a, b], inputs: {x: "{{ steps.a.result is undefined }}",
       s: "{{ steps.a.status }}"}}
)");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"x":true,"s":"SKIPPED"})");
}

TEST_F(PlanRunFailureTest, AnOperatorSkipPropagatesToDependents) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http}
  - {stepId: b, dependsOn: [a]}
  - {stepId: c, dependsOn: [b]}
)");
  EXPECT_EQ(Signal(run, "SKIP_STEP", R"({"stepId":"b"})").decision, "ACCEPTED");
  EXPECT_EQ(StepOf(run, "c").skip_code, "OPERATOR_SKIP");
  Finish("a");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(StepStatus(run, "b"), "SKIPPED");
}

TEST_F(PlanRunFailureTest, AFailureSkipsDependentsAndStopsOtherSteps) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http}
  - {stepId: other, kind: http}
  - {stepId: b, dependsOn: [a]}
  - {stepId: c, dependsOn: [b, other]}
)");
  Fail("a", "BROKEN", false);
  EXPECT_EQ(StepOf(run, "b").skip_code, "DEPENDENCY_FAILED");
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  EXPECT_EQ(tools_->cancelled[0].first.step_id, "other");
  EXPECT_FALSE(tools_->cancelled[0].second) << "asked first, not forced";
  EXPECT_EQ(StatusOf(run), "RUNNING");
  Finish("other");
  EXPECT_EQ(StepOf(run, "c").skip_code, "DEPENDENCY_FAILED");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "BROKEN");
}

TEST_F(PlanRunFailureTest, AFailingRunDoesNotWaitForTimersOrHooks) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http}
  - {stepId: w, waitFor: {duration: 5h}}
  - {stepId: h, waitFor: {hook: {token: t}}}
  - {stepId: l, foreach: {items: "{{ [1, 2] }}"}, waitFor: {hook: {}}}
  - {stepId: end, dependsOn: [a]}
)");
  Fail("a", "BROKEN", false);
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(StepOf(run, "w").error_code, "CANCELLED");
  EXPECT_EQ(StepOf(run, "l").error_code, "CANCELLED");
  EXPECT_EQ(Deliver("t", "{}"), "HOOK_NOT_FOUND");
}

TEST_F(PlanRunFailureTest, AConditionThatCannotBeEvaluatedFailsTheStep) {
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
inputs: {n: {type: integer}}
steps: [{stepId: a, when: "inputs.n + 'x' > 2"}]
)",
                                R"({"n":1})");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "EXPRESSION_FAILED");
}

TEST_F(PlanRunFailureTest, AConcurrencyKeyThatCannotBeEvaluatedFailsTheStep) {
  const std::string run = StartSteps(
      "  - {stepId: a, kind: http, concurrencyKey: \"k-{{ inputs.n.m }}\"}\n"
      "inputs: {n: {type: object}}\n");
  EXPECT_EQ(View(run).error_code, "EXPRESSION_FAILED");
}

// ---- onFailure

TEST_F(PlanRunFailureTest, ContinueTreatsTheStepAsSucceeded) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, onFailure: continue}
  - {stepId: b, kind: echo, dependsOn: [a], inputs: {code: "{{ steps.a.error.code }}",
       r: "{{ steps.a.result is undefined }}"}}
)");
  Fail("a", "BROKEN", false);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(StepStatus(run, "a"), "FAILED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"code":"BROKEN","r":true})");
}

TEST_F(PlanRunFailureTest, HoldWaitsForAnOperator) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, onFailure: hold}
  - {stepId: b, dependsOn: [a]}
)");
  Fail("a", "BROKEN", false);
  EXPECT_EQ(StatusOf(run), "RUNNING");
  EXPECT_EQ(StepStatus(run, "a"), "FAILED");
  Signal(run, "RETRY_STEP", R"({"stepId":"a"})");
  ASSERT_TRUE(IsOpen("a"));
  EXPECT_EQ(Opened("a").id.logical_attempt, 2U);
  Fail("a", "BROKEN", false);
  EXPECT_EQ(StatusOf(run), "RUNNING") << "held again";
  Signal(run, "SKIP_STEP", R"({"stepId":"a","reason":"not today"})");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(StepOf(run, "b").skip_code, "OPERATOR_SKIP");
  EXPECT_EQ(StepOf(run, "a").error_message, "a test");
}

TEST_F(PlanRunFailureTest, AFallbackReplacesTheStep) {
  const std::string run = StartSteps(R"(
  - {stepId: live, kind: http, onFailure: {fallback: cached}}
  - {stepId: cached, kind: http, inputs: {why: "{{ steps.live.error.code }}"}}
  - {stepId: use, kind: echo, dependsOn: [live], inputs: {rate: "{{ steps.live.result.rate }}"}}
)");
  EXPECT_FALSE(IsOpen("cached"));
  Fail("live", "BROKEN", false);
  EXPECT_EQ(Opened("cached").inputs, R"({"why":"BROKEN"})");
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "RETRY_STEP", R"({"stepId":"live"})"))),
            "STEP_TERMINAL");
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "SKIP_STEP", R"({"stepId":"live"})"))), "STEP_TERMINAL");
  Finish("cached", R"({"rate":2})");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"rate":2})");
}

TEST_F(PlanRunFailureTest, AFailedLoopHasTheResultOfItsFallback) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, foreach: {items: "{{ [1, 2] }}"}, onFailure: {fallback: b}}
  - {stepId: b, kind: echo, inputs: {n: 7}}
  - {stepId: c, kind: echo, dependsOn: [a], inputs: {n: "{{ steps.a.result.n }}"}}
)");
  Finish("a:0", "1");
  Fail("a:1", "BROKEN", false);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"n":7})");
}

TEST_F(PlanRunFailureTest, AnUnneededFallbackIsSkipped) {
  const std::string run = StartSteps(R"(
  - {stepId: a, onFailure: {fallback: b}}
  - {stepId: b, onFailure: {fallback: c}}
  - {stepId: c}
)");
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(a) StepCompleted(a) StepSkipped(b) StepSkipped(c) "
            "RunCompleted");
}

TEST_F(PlanRunFailureTest, AFailedFallbackFailsTheRun) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, onFailure: {fallback: b}}
  - {stepId: b, kind: http}
  - {stepId: c, dependsOn: [a]}
)");
  Fail("a", "FIRST", false);
  Fail("b", "SECOND", false);
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "SECOND");
  EXPECT_EQ(StepOf(run, "c").skip_code, "DEPENDENCY_FAILED");
}

TEST_F(PlanRunFailureTest, AStepWhoseFallbackWasSkippedFailsTheRun) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, onFailure: {fallback: b}}
  - {stepId: b, kind: http}
)");
  Signal(run, "SKIP_STEP", R"({"stepId":"b"})");
  Fail("a", "BROKEN", false);
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunFailureTest, AFallbackSkippedBeforeItsStepSucceedsIsSkippedOnce) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, onFailure: {fallback: b}}
  - {stepId: b, kind: http}
)");
  Signal(run, "SKIP_STEP", R"({"stepId":"b"})");
  Finish("a");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

// ---- outputs

TEST_F(PlanRunFailureTest, OutputsShapeTheResultsOfStepsAndOfTheRun) {
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
steps:
  - {stepId: a, kind: http, outputs: {short: "{{ result.long.path }}"}}
outputs: {said: "{{ steps.a.result.short }}"}
)");
  Finish("a", R"({"long":{"path":"x"}})");
  EXPECT_EQ(View(run).result, R"({"said":"x"})");
}

TEST_F(PlanRunFailureTest, OutputsThatCannotBeEvaluatedFailTheStepOrTheRun) {
  const std::string step = StartSteps(R"(
  - {stepId: a, kind: http, outputs: {n: "{{ 1 + result.text }}"}}
)");
  Finish("a", R"({"text":"x"})");
  EXPECT_EQ(View(step).error_code, "EXPRESSION_FAILED");
  const std::string whole = Start(R"(
metadata: {planId: p, planVersion: "1"}
steps: [{stepId: a, kind: echo, inputs: {text: x}}]
outputs: {n: "{{ 1 + steps.a.result.text }}"}
)");
  EXPECT_EQ(StatusOf(whole), "FAILED");
  EXPECT_EQ(View(whole).error_code, "EXPRESSION_FAILED");
}

}  // namespace
}  // namespace everstep
