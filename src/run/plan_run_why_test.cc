#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

// `why`: each kind of blocker, the event that caused it, and when it is expected to end.

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class PlanRunWhyTest : public PlanWorkbench {
 protected:
  Blocker Of(const std::string& run, const std::string& kind) {
    for (const Blocker& blocker : Why(run).blockers) {
      if (blocker.kind == kind) return blocker;
    }
    ADD_FAILURE() << "no blocker of kind " << kind;
    return {};
  }
  // The event that caused the blocker, such as "StepStarted a".
  std::string Cause(const std::string& run, const Blocker& blocker) {
    const auto events = Events(run);
    if (blocker.cause_seq == 0 || blocker.cause_seq > events.size()) return "?";
    const Event& event = events[blocker.cause_seq - 1];
    return std::string(SpecOf(event.type).name) +
           (event.entity_id.empty() ? "" : " " + event.entity_id);
  }
};

TEST_F(PlanRunWhyTest, ARunningStep) {
  const std::string run = StartSteps("  - {stepId: a, kind: http, timeout: 1h}\n");
  const Blocker blocker = Of(run, "step");
  EXPECT_EQ(blocker.subject, "a");
  EXPECT_EQ(Cause(run, blocker), "StepStarted a");
  EXPECT_EQ(blocker.wakes_at, clock_.Now() + hours(1));
  EXPECT_EQ(Why(run).summary, blocker.message);
}

TEST_F(PlanRunWhyTest, AStepWhoseProcessHasEnded) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  options_.passive = true;
  Restart();
  const Blocker blocker = Of(run, "lease");
  EXPECT_EQ(Cause(run, blocker), "StepStarted a");
}

TEST_F(PlanRunWhyTest, ADependency) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, dependsOn: []}
  - {stepId: b, kind: http}
  - {stepId: c, dependsOn: [a, b]}
)");
  Finish("a");
  const Blocker blocker = Of(run, "dependency");
  EXPECT_EQ(blocker.subject, "c");
  EXPECT_EQ(blocker.message, "step c waits for b");
  EXPECT_EQ(Cause(run, blocker), "StepStarted b");
  EXPECT_EQ(Why(run).summary, Of(run, "step").message) << "the root cause comes first";
}

TEST_F(PlanRunWhyTest, ATimer) {
  const std::string run = StartSteps("  - {stepId: a, waitFor: {duration: 1h}}\n");
  const Blocker blocker = Of(run, "timer");
  EXPECT_EQ(Cause(run, blocker), "WaitCreated wait:a:1");
  EXPECT_EQ(blocker.wakes_at, clock_.Now() + hours(1));
}

TEST_F(PlanRunWhyTest, AHookAndAnApproval) {
  const std::string run = StartSteps(R"(
  - {stepId: h, dependsOn: [], waitFor: {hook: {token: mine, timeout: 2h}}}
  - {stepId: k, waitFor: {approval: {token: ok}}}
)");
  const Blocker hook = Of(run, "hook");
  EXPECT_EQ(Cause(run, hook), "HookCreated hook:h:1");
  EXPECT_EQ(hook.wakes_at, clock_.Now() + hours(2));
  EXPECT_NE(hook.message.find("mine"), std::string::npos);
  const Blocker approval = Of(run, "approval");
  EXPECT_FALSE(approval.wakes_at);
  EXPECT_NE(approval.remedy.find("ok"), std::string::npos);
}

TEST_F(PlanRunWhyTest, ARetry) {
  const std::string run =
      StartSteps("  - {stepId: a, kind: http, retryPolicy: {maxAttempts: 3, initialDelay: 30s}}\n");
  Fail("a");
  const Blocker blocker = Of(run, "retry");
  EXPECT_EQ(Cause(run, blocker), "WaitCreated retry:a:2");
  EXPECT_EQ(blocker.wakes_at, clock_.Now() + seconds(30));
}

TEST_F(PlanRunWhyTest, ASlot) {
  tools_->slots["http"] = 1;
  Restart();
  StartSteps("  - {stepId: x, kind: http}\n");
  const std::string run = StartSteps("  - {stepId: a}\n  - {stepId: b, kind: http}\n");
  const Blocker blocker = Of(run, "slot");
  EXPECT_EQ(blocker.subject, "b");
  EXPECT_EQ(Cause(run, blocker), "StepCompleted a") << "what made it ready";
}

TEST_F(PlanRunWhyTest, AMissingTool) {
  tools_->missing.insert("http");
  const std::string run = StartSteps("  - {stepId: a}\n  - {stepId: b, kind: http}\n");
  const Blocker blocker = Of(run, "worker");
  EXPECT_EQ(blocker.subject, "b");
  EXPECT_EQ(Cause(run, blocker), "StepCompleted a");
}

TEST_F(PlanRunWhyTest, AToolMissingAfterARestart) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  tools_->missing.insert("http");
  Restart();
  EXPECT_EQ(Cause(run, Of(run, "worker")), "StepStarted a");
  tools_->missing.clear();
  Restart();
  Finish("a");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWhyTest, AChild) {
  const std::string run = StartSteps(R"(
  - {stepId: c, plan: {metadata: {planId: c, planVersion: "1"}, steps: [{stepId: x, kind: http}]}}
)");
  const Blocker blocker = Of(run, "child");
  EXPECT_EQ(blocker.remedy, "everstep why " + StepOf(run, "c").child_run_id);
  EXPECT_EQ(Cause(run, blocker), "StepStarted c");
}

TEST_F(PlanRunWhyTest, AHeldStep) {
  const std::string run = StartSteps("  - {stepId: a, kind: http, onFailure: hold}\n");
  Fail("a", "BROKEN", false);
  const Blocker blocker = Of(run, "held");
  EXPECT_EQ(Cause(run, blocker), "StepFailed a");
  EXPECT_EQ(blocker.remedy, "everstep signal " + run + " retry --step a");
}

TEST_F(PlanRunWhyTest, APause) {
  const std::string run = StartSteps("  - {stepId: a, waitFor: {hook: {}}}\n");
  Signal(run, "PAUSE", R"({"reason":"look"})");
  const Blocker blocker = Of(run, "pause");
  EXPECT_EQ(Cause(run, blocker), "RunPaused");
  EXPECT_EQ(blocker.remedy, "everstep signal " + run + " resume");
}

TEST_F(PlanRunWhyTest, ACancelThatWaitsForRunningSteps) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  const SignalDecision decision = Signal(run, "CANCEL");
  EXPECT_EQ(Of(run, "cancelling").cause_seq, decision.run_seq);
}

TEST_F(PlanRunWhyTest, AnEndedRunSaysHowItEnded) {
  const std::string done = StartSteps("  - {stepId: a}\n");
  EXPECT_EQ(Why(done).summary, "the run is complete");
  const std::string failed = StartSteps("  - {stepId: a, kind: http}\n");
  Fail("a", "BROKEN", false);
  EXPECT_EQ(Why(failed).summary, "the run failed: BROKEN: step a: it broke");
  EXPECT_TRUE(Why(failed).blockers.empty());
}

// ---- the store

TEST_F(PlanRunWhyTest, AStoppedStore) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  const std::string done = StartSteps("  - {stepId: b}\n");
  power_->fails_after = 0;
  Finish("a");
  ASSERT_TRUE(engine_->stopped());
  const Blocker blocker = Of(run, "store");
  EXPECT_EQ(blocker.subject, "INDETERMINATE");
  EXPECT_NE(blocker.message.find("the power failed"), std::string::npos);
  EXPECT_EQ(Why(run).summary, blocker.message);
  EXPECT_EQ(Why(run).status, "RUNNING");
  EXPECT_TRUE(Why(done).blockers.empty());
  EXPECT_EQ(engine_->Why("none").error().code, ErrorCode::kRunNotFound);
}

TEST_F(PlanRunWhyTest, AFullDiskOnlyWhileItIsFull) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  power_->full_after = 0;
  Finish("a");
  EXPECT_EQ(Of(run, "store").subject, "STORE_FULL");
  power_->full_after = UINT64_MAX;
  AdvanceClock(seconds(1));
  EXPECT_TRUE(IsOpen("b"));
  for (const Blocker& blocker : Why(run).blockers) EXPECT_NE(blocker.kind, "store");
}

}  // namespace
}  // namespace everstep
