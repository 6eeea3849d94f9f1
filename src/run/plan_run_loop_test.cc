#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

namespace everstep {
namespace {

class PlanRunLoopTest : public PlanWorkbench {
 protected:
  std::string StartLoop(const std::string& more, const std::string& items = "[1, 2, 3]") {
    return StartSteps("  - {stepId: a, kind: http, foreach: {items: \"{{ " + items +
                      " }}\", maxInFlight: 2}, inputs: {v: \"{{ item }}\"}" + more +
                      "}\n  - {stepId: b, kind: echo, dependsOn: [a], inputs: {all: \"{{ "
                      "steps.a.result }}\"}}\n");
  }
};

TEST_F(PlanRunLoopTest, KeepsItsLimitAndTheOrderOfResults) {
  const std::string run = StartLoop("");
  EXPECT_EQ(tools_->open.size(), 2U);
  Finish("a:1", "20");
  EXPECT_TRUE(IsOpen("a:2"));
  Finish("a:2", "30");
  const StepView view = StepOf(run, "a");
  EXPECT_EQ(view.items_total, 3U);
  EXPECT_EQ(view.items_done, 2U);
  EXPECT_EQ(view.items_running, 1U);
  Finish("a:0", "10");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"all":[10,20,30]})");
}

TEST_F(PlanRunLoopTest, NamesItemAndIndexAsThePlanSays) {
  StartSteps(R"(
  - stepId: a
    kind: http
    foreach: {items: "{{ ['x', 'y'] }}", as: city, index: number}
    inputs: {c: "{{ city }}", n: "{{ number }}"}
    outputs: "{{ city }}{{ result }}"
)");
  EXPECT_EQ(Opened("a:1").inputs, R"({"c":"y","n":1})");
  Finish("a:1", "5");
  Finish("a:0", "6");
  EXPECT_NE(Events("run-1").back().type, EventType::kRunFailed);
}

TEST_F(PlanRunLoopTest, AnEmptyListCompletesTheLoop) {
  const std::string run = StartLoop("", "[]");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"all":[]})");
}

TEST_F(PlanRunLoopTest, AValueThatIsNoListFailsTheLoop) {
  const std::string run = StartLoop("", "5");
  EXPECT_EQ(View(run).error_code, "EXPRESSION_FAILED");
}

TEST_F(PlanRunLoopTest, ALoopHeldForLackOfAListCanBeRetried) {
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
inputs: {list: {default: 5}}
steps: [{stepId: a, kind: http, foreach: "inputs.list", onFailure: hold}]
)");
  EXPECT_EQ(StepStatus(run, "a"), "FAILED");
  Signal(run, "UPDATE_PARAMS", R"({"params":{"list":[1]}})");
  Signal(run, "RETRY_STEP", R"({"stepId":"a"})");
  Finish("a:0");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunLoopTest, AnItemIsRetriedByItsPolicy) {
  const std::string run =
      StartLoop(", retryPolicy: {maxAttempts: 2, backoff: none, initialDelay: 5s}");
  Fail("a:0");
  EXPECT_TRUE(IsOpen("a:2")) << "an item that backs off frees its place";
  AdvanceClock(std::chrono::seconds(5));
  EXPECT_FALSE(IsOpen("a:0")) << "the limit holds for retries";
  Finish("a:1");
  ASSERT_TRUE(IsOpen("a:0"));
  EXPECT_EQ(Opened("a:0").id.logical_attempt, 2U);
  Finish("a:0");
  Finish("a:2");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunLoopTest, AFailedItemFailsTheLoopOnceRunningItemsHaveEnded) {
  const std::string run = StartLoop("");
  Fail("a:0", "BROKEN", false);
  EXPECT_FALSE(IsOpen("a:2")) << "no further item starts";
  EXPECT_EQ(StatusOf(run), "RUNNING");
  Finish("a:1");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "ITEM_FAILED");
  EXPECT_EQ(StepOf(run, "a").error_message, "item 0: BROKEN: it broke");
}

TEST_F(PlanRunLoopTest, AFailingLoopDoesNotWaitForBackoffs) {
  const std::string run =
      StartLoop(", retryPolicy: {maxAttempts: 5, initialDelay: 1h, retryOn: [LATER]}");
  Fail("a:0", "LATER");
  Fail("a:1", "BROKEN");
  Fail("a:2", "LATER");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(StepOf(run, "a").error_message, "item 1: BROKEN: it broke");
}

TEST_F(PlanRunLoopTest, ContinuePutsErrorsIntoTheResult) {
  const std::string run = StartLoop(", onFailure: continue");
  Fail("a:0", "BROKEN", false);
  Finish("a:1", "2");
  Finish("a:2", "3");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(StepOf(run, "a").items_failed, 1U);
  EXPECT_EQ(tools_->immediate.back().inputs,
            R"({"all":[{"error":{"code":"BROKEN","message":"it broke"}},2,3]})");
}

TEST_F(PlanRunLoopTest, AHeldItemIsRetriedOrSkipped) {
  const std::string run = StartLoop(", onFailure: hold");
  Fail("a:0", "BROKEN", false);
  Fail("a:1", "BROKEN", false);
  Finish("a:2", "3");
  EXPECT_EQ(StatusOf(run), "RUNNING");
  Signal(run, "RETRY_STEP", R"({"stepId":"a:0"})");
  Finish("a:0", "1");
  Signal(run, "SKIP_STEP", R"({"stepId":"a:1"})");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"all":[1,null,3]})");
}

TEST_F(PlanRunLoopTest, AnItemThatFailedFinallyCannotBeRetried) {
  const std::string run = StartLoop(", onFailure: continue");
  Fail("a:0", "BROKEN", false);
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "RETRY_STEP", R"({"stepId":"a:0"})"))), "STEP_TERMINAL");
  Finish("a:1");
  Finish("a:2");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunLoopTest, AnItemThatHasNotStartedCanBeSkipped) {
  const std::string run = StartLoop("", "[0, 1, 2, 3, 4]");
  Signal(run, "SKIP_STEP", R"({"stepId":"a:3"})");
  for (const char* item : {"a:0", "a:1", "a:2", "a:4"}) Finish(item, "1");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"all":[1,1,1,null,1]})");
}

TEST_F(PlanRunLoopTest, ARunningItemCanBeSkipped) {
  const std::string run = StartLoop("");
  Signal(run, "SKIP_STEP", R"({"stepId":"a:0"})");
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  Finish("a:1", "1");
  Finish("a:2", "1");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunLoopTest, ARunningLoopCannotBeSkippedAsAWhole) {
  const std::string run = StartLoop("");
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "SKIP_STEP", R"({"stepId":"a"})"))),
            "STEP_NOT_TERMINAL");
}

TEST_F(PlanRunLoopTest, ALoopWhoseItemsAllWaitForASlotCanBeSkipped) {
  tools_->slots["http"] = 1;
  Restart();
  StartSteps("  - {stepId: other, kind: http}\n");
  const std::string run = StartLoop("");
  EXPECT_EQ(Signal(run, "SKIP_STEP", R"({"stepId":"a"})").decision, "ACCEPTED");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  Finish("other");
  EXPECT_TRUE(tools_->open.empty());
}

TEST_F(PlanRunLoopTest, ItemsTakeSlotsOneAfterTheOther) {
  tools_->slots["http"] = 1;
  Restart();
  const std::string run = StartLoop("");
  for (const char* item : {"a:0", "a:1", "a:2"}) {
    EXPECT_EQ(tools_->open.size(), 1U);
    Finish(item, "1");
  }
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunLoopTest, WaitsForAMissingToolAndReportsIt) {
  tools_->missing.insert("http");
  const std::string run = StartLoop("");
  EXPECT_EQ(StatusOf(run), "RUNNING");
  EXPECT_EQ(Why(run).blockers[0].kind, "worker");
  tools_->missing.clear();
  Restart();
  for (const char* item : {"a:0", "a:1", "a:2"}) Finish(item, "1");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunLoopTest, ItemsCanBeWaits) {
  const std::string run = StartSteps(R"(
  - {stepId: a, foreach: {items: "{{ [1, 2] }}"}, waitFor: {duration: "{{ item }}s"}}
)");
  AdvanceClock(std::chrono::seconds(1));
  EXPECT_EQ(StepOf(run, "a").items_done, 1U);
  AdvanceClock(std::chrono::seconds(1));
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunLoopTest, ItemsCanBeChildRuns) {
  const std::string run = StartSteps(R"(
  - stepId: a
    foreach: {items: "{{ [1, 2] }}"}
    inputs: {n: "{{ item }}"}
    plan:
      metadata: {planId: c, planVersion: "1"}
      inputs: {n: {type: integer}}
      steps: [{stepId: x, kind: echo, inputs: {n: "{{ inputs.n }}"}}]
      outputs: "{{ steps.x.result.n * 10 }}"
  - {stepId: b, kind: echo, dependsOn: [a], inputs: {all: "{{ steps.a.result }}"}}
)");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"all":[10,20]})");
}

TEST_F(PlanRunLoopTest, EverySucceededItemIsCompensated) {
  const std::string run = StartLoop(
      ", compensate: {kind: http, inputs: {undo: \"{{ item }}\", was: \"{{ steps.a.result }}\"}}");
  Finish("a:1", "21");
  Finish("a:0", "11");
  Fail("a:2", "BROKEN", false);
  ASSERT_TRUE(IsOpen("a:0:undo"));
  EXPECT_EQ(Opened("a:0:undo").inputs, R"({"undo":1,"was":11})");
  Finish("a:0:undo");
  EXPECT_EQ(Opened("a:1:undo").inputs, R"({"undo":2,"was":21})");
  Finish("a:1:undo");
  EXPECT_TRUE(tools_->open.empty());
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunLoopTest, ALargeLoopEndsInBoundedTurns) {
  const std::string run = StartSteps(R"(
  - {stepId: a, foreach: {items: "{{ range(3000) }}", maxInFlight: 3000}}
)");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(StepOf(run, "a").items_done, 3000U);
}

}  // namespace
}  // namespace everstep
