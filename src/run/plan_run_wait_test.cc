#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

// Waits, hooks and approvals.

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class PlanRunWaitTest : public PlanWorkbench {};

TEST_F(PlanRunWaitTest, ADurationIsADurableWaitAndTheRunLeavesMemory) {
  const std::string run = StartSteps("  - {stepId: a, waitFor: {duration: 5m}}\n");
  EXPECT_EQ(engine_->Metrics().runs_in_memory, 0U);
  EXPECT_EQ(StepOf(run, "a").wakes_at, clock_.Now() + minutes(5));
  AdvanceClock(minutes(5) - seconds(1));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  AdvanceClock(seconds(1));
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(a) WaitCreated WaitCompleted StepCompleted(a) "
            "RunCompleted");
}

TEST_F(PlanRunWaitTest, ATimeInThePastDoesNotWait) {
  const std::string run =
      StartSteps("  - {stepId: a, waitFor: {until: \"2020-01-01T00:00:00Z\"}}\n");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, UntilWaitsForItsTime) {
  const std::string run =
      StartSteps("  - {stepId: a, waitFor: {until: \"2026-02-12T01:00:00Z\"}}\n");
  AdvanceClock(minutes(59));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  AdvanceClock(minutes(1));
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, AnInvalidTimeFailsTheStep) {
  const std::string plan = R"(
metadata: {planId: p, planVersion: "1"}
inputs: {t: {type: string}}
steps: [{stepId: a, waitFor: {KIND: "{{ inputs.t }}"}}]
)";
  for (const std::string kind : {"duration", "until"}) {
    std::string text = plan;
    text.replace(text.find("KIND"), 4, kind);
    const std::string run = Start(text, R"({"t":"soon"})");
    EXPECT_EQ(View(run).error_code, "INVALID_INPUT") << kind;
  }
}

TEST_F(PlanRunWaitTest, AClockThatGoesBackDoesNotEndAWaitEarly) {
  const std::string run = StartSteps("  - {stepId: a, waitFor: {duration: 5m}}\n");
  clock_.JumpBack(hours(1));
  AdvanceClock(minutes(6));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  AdvanceClock(hours(1));
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, AHooksPayloadIsTheResult) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {hook: {}}}
  - {stepId: b, kind: echo, inputs: {got: "{{ steps.a.result.n }}"}}
)");
  const std::string token = StepOf(run, "a").hook_token;
  ASSERT_EQ(token.size(), 32U) << "made by the engine";
  EXPECT_EQ(Deliver(token, R"({"n":5})"), run);
  EXPECT_EQ(tools_->immediate.back().inputs, R"({"got":5})");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, ADeliveryCountsOnce) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {hook: {token: mine}}}
  - {stepId: b, waitFor: {hook: {token: mine}}}
)");
  EXPECT_EQ(Deliver("mine", "1", "d-1"), run);
  EXPECT_EQ(StepStatus(run, "b"), "RUNNING") << "the token is free for the next step";
  EXPECT_EQ(Deliver("other", "1", "d-1"), "HOOK_NOT_FOUND");
  EXPECT_EQ(Deliver("mine", "2", "bad|id"), "INVALID_ARGUMENT");
  EXPECT_EQ(Deliver("mine", "{", "d-2"), "INVALID_JSON");
  EXPECT_EQ(Deliver("mine", "2", "d-2"), run);
  EXPECT_EQ(Deliver("mine", "2", "d-2"), "HOOK_NOT_FOUND");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, ATakenTokenFailsTheStep) {
  const std::string first = StartSteps("  - {stepId: a, waitFor: {hook: {token: mine}}}\n");
  const std::string second =
      StartSteps("  - {stepId: a, waitFor: {hook: {token: mine}}, onFailure: hold}\n");
  EXPECT_EQ(StepOf(second, "a").error_code, "HOOK_CONFLICT");
  EXPECT_NE(Log(second).find("HookConflict"), std::string::npos);
  Deliver("mine", "1");
  EXPECT_EQ(StatusOf(first), "COMPLETED");
  Signal(second, "RETRY_STEP", R"({"stepId":"a"})");
  EXPECT_EQ(Deliver("mine", "1"), second);
  EXPECT_EQ(StatusOf(second), "COMPLETED");
}

TEST_F(PlanRunWaitTest, ATokenTakenByTheSameRunFailsTheStep) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {hook: {token: mine}}, dependsOn: []}
  - {stepId: b, waitFor: {hook: {token: mine}}, onFailure: continue}
)");
  EXPECT_EQ(StepOf(run, "b").error_code, "HOOK_CONFLICT");
  Deliver("mine", "1");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, AHookTimesOut) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {hook: {token: mine, timeout: 1h}}}
)");
  AdvanceClock(hours(1));
  EXPECT_EQ(View(run).error_code, "TIMEOUT");
  EXPECT_EQ(Deliver("mine", "1"), "HOOK_NOT_FOUND");
}

TEST_F(PlanRunWaitTest, ADeliveryInTimeCancelsTheTimeout) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {hook: {token: mine, timeout: 1h}}}
  - {stepId: b, kind: http}
)");
  Deliver("mine", "1");
  AdvanceClock(hours(2));
  Finish("b");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, TheStepsOwnTimeoutEndsAnyWait) {
  const std::string run = StartSteps(R"(
  - {stepId: a, timeout: 1h, onFailure: continue, waitFor: {duration: 5h}}
  - {stepId: b, timeout: 1h, onFailure: continue, waitFor: {hook: {timeout: 5h}}}
)");
  AdvanceClock(hours(1));
  EXPECT_EQ(StepOf(run, "a").error_code, "TIMEOUT");
  AdvanceClock(hours(1));
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(StepOf(run, "b").error_code, "TIMEOUT");
}

TEST_F(PlanRunWaitTest, AnApprovalIsGranted) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {approval: {prompt: "Sure?", token: ok}}}
)");
  Deliver("ok", R"({"approved":true,"comment":"go"})");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, AnApprovalIsRejected) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {approval: {token: ok}}}
)");
  Deliver("ok", R"({"approved":false,"comment":"not now"})");
  EXPECT_EQ(View(run).error_code, "APPROVAL_REJECTED");
}

TEST_F(PlanRunWaitTest, AnUnclearAnswerLeavesTheApprovalOpen) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {approval: {token: ok}}}
)");
  for (const std::string unclear :
       {"", "{}", "null", "true", "false", R"("no")", "[false]", R"({"aproved":false})",
        R"({"approved":"true"})", R"({"approved":1})", R"({"approved":null})"}) {
    const auto taken = engine_->Deliver({"default", "ok", unclear, {}});
    ASSERT_FALSE(taken) << unclear;
    EXPECT_EQ(taken.error().code, ErrorCode::kSchemaValidationFailed) << unclear;
    ASSERT_EQ(taken.error().faults.size(), 1U);
    EXPECT_EQ(taken.error().faults[0].pointer, "/approved");
    EXPECT_EQ(StepStatus(run, "a"), "RUNNING") << unclear;
  }
  EXPECT_EQ(Deliver("ok", R"({"approved":true})"), run);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, ATimedOutApprovalIsRetriedByItsPolicy) {
  const std::string run = StartSteps(R"(
  - {stepId: a, retryPolicy: {maxAttempts: 2, backoff: none}, waitFor: {approval: {timeout: 1h}}}
)");
  const std::string first = StepOf(run, "a").hook_token;
  AdvanceClock(hours(1));
  const std::string second = StepOf(run, "a").hook_token;
  EXPECT_NE(second, first);
  const std::string yes = R"({"approved":true})";
  EXPECT_EQ(Deliver(first, yes), "HOOK_NOT_FOUND");
  Deliver(second, yes);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, AFailureEndsTheAttemptAndTheRetryPolicyApplies) {
  const std::string run = StartSteps(R"(
  - {stepId: a, retryPolicy: {maxAttempts: 2, initialDelay: 5s}, waitFor: {hook: {}}}
)");
  const std::string first = StepOf(run, "a").hook_token;
  EXPECT_EQ(FailHook(first, "NO_STOCK"), run);
  EXPECT_EQ(StepOf(run, "a").status, "RETRYING");
  EXPECT_EQ(StepOf(run, "a").error_code, "NO_STOCK");
  AdvanceClock(seconds(5));
  const std::string second = StepOf(run, "a").hook_token;
  EXPECT_NE(second, first) << "each attempt has a token of its own";
  EXPECT_EQ(FailHook(first, "NO_STOCK"), "HOOK_NOT_FOUND");
  EXPECT_EQ(FailHook(second, "NO_STOCK"), run);
  EXPECT_EQ(View(run).error_code, "NO_STOCK");
  EXPECT_EQ(View(run).error_message, "step a: it went wrong");
}

TEST_F(PlanRunWaitTest, AFailureThatIsNotRetryableIsFinal) {
  const std::string run = StartSteps(R"(
  - {stepId: a, retryPolicy: {maxAttempts: 5}, waitFor: {hook: {token: mine}}}
)");
  EXPECT_EQ(FailHook("mine", "bad|code"), "INVALID_ARGUMENT");
  EXPECT_EQ(FailHook("mine", ""), "INVALID_ARGUMENT");
  EXPECT_EQ(FailHook("mine", "GONE", {}, false), run);
  EXPECT_EQ(View(run).error_code, "GONE");
}

TEST_F(PlanRunWaitTest, ARepeatedFailureDoesNotReachTheNextAttempt) {
  const std::string run = StartSteps(R"(
  - stepId: a
    retryPolicy: {maxAttempts: 2, backoff: none, initialDelay: 1s}
    waitFor: {hook: {token: mine}}
)");
  EXPECT_EQ(FailHook("mine", "NO_STOCK", "d-1"), run);
  AdvanceClock(seconds(1));
  Restart();
  EXPECT_EQ(FailHook("mine", "NO_STOCK", "d-1"), run) << "the caller saw no answer";
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING");
  EXPECT_EQ(Deliver("mine", "1", "d-2"), run);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, AnApprovalCanFailToo) {
  const std::string run = StartSteps("  - {stepId: a, waitFor: {approval: {token: ok}}}\n");
  EXPECT_EQ(FailHook("ok", "APPROVER_LEFT"), run);
  EXPECT_EQ(View(run).error_code, "APPROVER_LEFT");
}

TEST_F(PlanRunWaitTest, AHookWithoutAHeartbeatTimesOut) {
  const std::string run = StartSteps(R"(
  - {stepId: a, heartbeatTimeout: 1m, waitFor: {hook: {token: mine}}}
)");
  for (int i = 0; i < 5; ++i) {
    AdvanceClock(seconds(59));
    EXPECT_EQ(Beat("mine"), run);
  }
  EXPECT_EQ(Why(run).blockers.at(0).wakes_at, clock_.Now() + minutes(1));
  AdvanceClock(seconds(59));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  AdvanceClock(seconds(1));
  EXPECT_EQ(View(run).error_code, "TIMEOUT");
  EXPECT_EQ(Beat("mine"), "HOOK_NOT_FOUND");
}

TEST_F(PlanRunWaitTest, AHeartbeatIsNotAnAnswer) {
  const std::string run = StartSteps("  - {stepId: a, waitFor: {hook: {token: mine}}}\n");
  const std::string before = Log(run);
  EXPECT_EQ(Beat("mine"), run);
  EXPECT_EQ(Log(run), before);
  EXPECT_EQ(engine_->Metrics().runs_in_memory, 0U) << "nobody has to send heartbeats";
  EXPECT_EQ(Deliver("mine", "1"), run);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunWaitTest, AfterARestartAHookHasItsWholeHeartbeatTimeoutAgain) {
  const std::string run = StartSteps(R"(
  - {stepId: a, heartbeatTimeout: 1m, waitFor: {hook: {token: mine}}}
)");
  AdvanceClock(seconds(59));
  Restart();
  AdvanceClock(seconds(59));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  AdvanceClock(seconds(1));
  EXPECT_EQ(View(run).error_code, "TIMEOUT");
}

TEST_F(PlanRunWaitTest, NobodyIsSilentWhileTheRunIsPaused) {
  const std::string run = StartSteps(R"(
  - {stepId: a, heartbeatTimeout: 1m, waitFor: {hook: {token: mine}}}
)");
  (void)Signal(run, "PAUSE");
  AdvanceClock(hours(1));
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING");
  (void)Signal(run, "RESUME");
  AdvanceClock(seconds(59));
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING");
  AdvanceClock(seconds(1));
  EXPECT_EQ(View(run).error_code, "TIMEOUT");
}

TEST_F(PlanRunWaitTest, ARunThatWasShedStillExpectsHeartbeats) {
  options_.memory_bytes_max = 0;
  StartAfresh();
  const std::string run = StartSteps(R"(
  - {stepId: a, heartbeatTimeout: 1m, waitFor: {hook: {token: mine}}}
)");
  AdvanceClock(seconds(30));
  EXPECT_EQ(Beat("mine"), run);
  AdvanceClock(seconds(59));
  EXPECT_EQ(StatusOf(run), "RUNNING");
  AdvanceClock(seconds(1));
  EXPECT_EQ(View(run).error_code, "TIMEOUT");
}

TEST_F(PlanRunWaitTest, ADeliveryReachesAPausedRunAndNothingStarts) {
  const std::string run = StartSteps(R"(
  - {stepId: a, waitFor: {hook: {token: mine}}}
  - {stepId: b, kind: http}
)");
  Signal(run, "PAUSE");
  EXPECT_EQ(View(run).substatus, "") << "a wait is not in flight";
  Deliver("mine", "1");
  EXPECT_EQ(StepStatus(run, "a"), "SUCCESS");
  EXPECT_FALSE(IsOpen("b"));
  Signal(run, "RESUME");
  EXPECT_TRUE(IsOpen("b"));
}

TEST_F(PlanRunWaitTest, DesignRule14ARunParkedOnAHookIsRunning) {
  const std::string run = StartSteps("  - {stepId: a, waitFor: {hook: {}}}\n");
  EXPECT_EQ(StatusOf(run), "RUNNING");
  EXPECT_EQ(engine_->Metrics().runs_in_memory, 0U);
}

TEST_F(PlanRunWaitTest, TimerLatenessIsMeasured) {
  StartSteps("  - {stepId: a, waitFor: {duration: 10s}}\n");
  StartSteps("  - {stepId: a, waitFor: {duration: 12s}}\n");
  AdvanceClock(std::chrono::seconds(13));
  const EngineMetrics metrics = engine_->Metrics();
  EXPECT_EQ(metrics.timers_fired, 2U);
  EXPECT_EQ(metrics.timer_lateness_us_max, 3'000'000U);
  EXPECT_EQ(metrics.timer_lateness_us_sum, 4'000'000U);
}

TEST_F(PlanRunWaitTest, DesignRule18DecisionsAreNotEvaluatedAgain) {
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
inputs: {wait: {default: 1h}, url: {default: old}}
steps:
  - {stepId: a, dependsOn: [], waitFor: {duration: "{{ inputs.wait }}"}}
  - {stepId: b, kind: http, inputs: {url: "{{ inputs.url }}"}}
)");
  Signal(run, "UPDATE_PARAMS", R"({"params":{"wait":"5h","url":"new"}})");
  Restart();
  EXPECT_EQ(Opened("b").inputs, R"({"url":"old"})");
  Finish("b");
  AdvanceClock(hours(1));
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

}  // namespace
}  // namespace everstep
