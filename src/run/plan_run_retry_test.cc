#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

// Attempts: retries by policy, timeouts, deliveries and late reports.

namespace everstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class PlanRunRetryTest : public PlanWorkbench {
 protected:
  std::string StartWith(const std::string& more) {
    return StartSteps("  - {stepId: a, kind: http, " + more + "}\n");
  }
};

TEST_F(PlanRunRetryTest, ARetryIsANewLogicalAttemptAfterADurableWait) {
  const std::string run =
      StartWith("retryPolicy: {maxAttempts: 3, backoff: exponential, initialDelay: 1s}");
  const std::string first_key = Opened("a").idempotency_key;
  Fail("a");
  EXPECT_EQ(StepStatus(run, "a"), "RETRYING");
  EXPECT_EQ(StepOf(run, "a").wakes_at, clock_.Now() + seconds(1));
  AdvanceClock(milliseconds(999));
  EXPECT_FALSE(IsOpen("a"));
  AdvanceClock(milliseconds(1));
  EXPECT_EQ(Opened("a").id.logical_attempt, 2U);
  EXPECT_NE(Opened("a").idempotency_key, first_key);
  Fail("a");
  AdvanceClock(seconds(1));
  EXPECT_FALSE(IsOpen("a")) << "the delay doubles";
  AdvanceClock(seconds(1));
  Finish("a");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(a) StepFailed(a) WaitCreated WaitCompleted "
            "StepStarted(a) StepFailed(a) WaitCreated WaitCompleted StepStarted(a) "
            "StepCompleted(a) RunCompleted");
}

TEST_F(PlanRunRetryTest, WithoutADelayTheNextAttemptStartsInTheSameCommit) {
  const std::string run = StartWith("retryPolicy: {maxAttempts: 2, backoff: none}");
  const std::uint64_t commits = power_->commits;
  Fail("a");
  EXPECT_EQ(power_->commits, commits + 1);
  EXPECT_EQ(Opened("a").id.logical_attempt, 2U);
  Fail("a");
  EXPECT_EQ(StatusOf(run), "FAILED") << "attempts are used up";
  EXPECT_EQ(StepOf(run, "a").logical_attempt, 2U);
}

TEST_F(PlanRunRetryTest, OnlyRetryableFailuresAreRetriedByDefault) {
  const std::string run = StartWith("retryPolicy: {maxAttempts: 5}");
  Fail("a", "BROKEN", false);
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunRetryTest, RetryOnDecidesByCodeAlone) {
  const std::string run = StartWith("retryPolicy: {maxAttempts: 5, backoff: none, retryOn: [X]}");
  Fail("a", "X", false);
  EXPECT_EQ(Opened("a").id.logical_attempt, 2U);
  Fail("a", "Y", true);
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunRetryTest, RetryAfterOfTheCalleeLengthensTheDelay) {
  StartWith("retryPolicy: {maxAttempts: 2, backoff: none, initialDelay: 1s}");
  TaskOutcome outcome = TaskOutcome::Failure("HTTP_STATUS", "429", true);
  outcome.retry_after = milliseconds(30'000);
  tools_->Finish("a", outcome);
  Step();
  AdvanceClock(seconds(29));
  EXPECT_FALSE(IsOpen("a"));
  AdvanceClock(seconds(1));
  EXPECT_TRUE(IsOpen("a"));
}

TEST_F(PlanRunRetryTest, JitterStaysWithinItsShare) {
  const std::string run =
      StartWith("retryPolicy: {maxAttempts: 50, backoff: none, initialDelay: 10s, jitter: 0.2}");
  bool differs = false;
  for (int i = 0; i < 40; ++i) {
    Fail("a");
    const auto delay = *StepOf(run, "a").wakes_at - clock_.Now();
    EXPECT_GE(delay, seconds(8));
    EXPECT_LE(delay, seconds(10));
    differs = differs || delay != seconds(10);
    AdvanceClock(seconds(10));
  }
  EXPECT_TRUE(differs);
}

TEST_F(PlanRunRetryTest, ATimeoutEndsTheAttemptAndStopsTheTask) {
  const std::string run =
      StartWith("timeout: 5s, retryPolicy: {maxAttempts: 2, backoff: none, retryOn: [TIMEOUT]}");
  const TaskId first = Opened("a").id;
  AdvanceClock(seconds(5));
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  EXPECT_EQ(tools_->cancelled[0].first, first);
  EXPECT_EQ(tools_->open.size(), 2U) << "the second attempt runs";
  tools_->Report(first, TaskOutcome::Success("1"));
  Step();
  EXPECT_EQ(StatusOf(run), "RUNNING") << "the report of the first attempt is stale";
  AdvanceClock(seconds(5));
  EXPECT_EQ(View(run).error_code, "TIMEOUT");
}

TEST_F(PlanRunRetryTest, DeadlinesEndWithTheirAttempt) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, timeout: 5s, heartbeatTimeout: 3s}
  - {stepId: b, kind: http}
)");
  Finish("a");
  AdvanceClock(seconds(10));
  EXPECT_TRUE(tools_->cancelled.empty());
  Finish("b");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunRetryTest, ASilentTaskIsRedeliveredWithTheSameKey) {
  const std::string run = StartWith("heartbeatTimeout: 10s");
  const Task first = Opened("a");
  AdvanceClock(seconds(9));
  tools_->Beat(first.id);
  Step();
  AdvanceClock(seconds(9));
  EXPECT_EQ(tools_->started.size(), 1U) << "its heartbeat renewed the lease";
  AdvanceClock(seconds(1));
  ASSERT_EQ(tools_->started.size(), 2U);
  const Task second = tools_->started[1];
  EXPECT_EQ(second.id.logical_attempt, 1U);
  EXPECT_EQ(second.id.engine_attempt, 2U);
  EXPECT_EQ(second.idempotency_key, first.idempotency_key);
  tools_->Beat(first.id);  // delivery was given up: renews nothing
  Step();
  AdvanceClock(seconds(10));
  EXPECT_EQ(tools_->started.size(), 3U);
  tools_->Report(second.id, TaskOutcome::Success("2"));
  Step();
  EXPECT_EQ(StatusOf(run), "RUNNING") << "only the last delivery may report";
  tools_->Report(tools_->started[2].id, TaskOutcome::Success("3"));
  Step();
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunRetryTest, DeliveriesAreLimited) {
  options_.engine_attempts_max = 3;
  StartAfresh();
  const std::string run = StartWith("heartbeatTimeout: 1s");
  for (int i = 0; i < 3; ++i) AdvanceClock(seconds(1));
  EXPECT_EQ(tools_->started.size(), 3U);
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "DELIVERIES_EXHAUSTED");
}

TEST_F(PlanRunRetryTest, RepeatedAndUnknownReportsChangeNothing) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  const TaskId first = Opened("a").id;
  Finish("a", "1");
  const std::string log = Log(run);
  tools_->Report(first, TaskOutcome::Failure("LATE", "", true));
  tools_->Report({RunId(run), "nobody", 1, 1}, TaskOutcome::Success("1"));
  tools_->Report({RunId(run), "b", 2, 1}, TaskOutcome::Success("1"));
  tools_->Report({RunId(run), "b", 1, 2}, TaskOutcome::Success("1"));
  tools_->Report({RunId("none"), "b", 1, 1}, TaskOutcome::Success("1"));
  Step();
  EXPECT_EQ(Log(run), log);
}

TEST_F(PlanRunRetryTest, TheRunTimeoutFailsTheRunAndStopsItsTasks) {
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
timeout: 5m
steps: [{stepId: a, kind: http}]
)");
  AdvanceClock(minutes(5));
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  tools_->Finish("a", TaskOutcome::Failure("CANCELLED", "", true));
  Step();
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "RUN_TIMEOUT");
  EXPECT_EQ(StepOf(run, "a").logical_attempt, 1U);
}

TEST_F(PlanRunRetryTest, ATaskThatDoesNotStopIsForcedAndThenGivenUp) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, dependsOn: []}
  - {stepId: b, kind: http}
)");
  Fail("a", "BROKEN", false);
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  AdvanceClock(options_.cancel_grace);
  ASSERT_EQ(tools_->cancelled.size(), 2U);
  EXPECT_TRUE(tools_->cancelled[1].second);
  EXPECT_EQ(StatusOf(run), "RUNNING");
  AdvanceClock(options_.cancel_grace);
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(StepOf(run, "b").error_code, "CANCELLED");
}

TEST_F(PlanRunRetryTest, AStepThatIsNotCancellableRunsToItsEnd) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, dependsOn: []}
  - {stepId: b, kind: http, cancellable: false, heartbeatTimeout: 1h}
)");
  Fail("a", "BROKEN", false);
  AdvanceClock(minutes(59));
  EXPECT_TRUE(tools_->cancelled.empty());
  AdvanceClock(minutes(1));
  EXPECT_EQ(tools_->started.back().id.engine_attempt, 2U) << "it is delivered again";
  tools_->Report(tools_->started.back().id, TaskOutcome::Success("1"));
  Step();
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(StepStatus(run, "b"), "SUCCESS");
}

TEST_F(PlanRunRetryTest, ThePlansOwnIdempotencyKeyIsUsed) {
  const std::string run = StartWith("idempotencyKey: \"load-{{ run.id }}\"");
  EXPECT_EQ(Opened("a").idempotency_key, "load-" + run);
}

TEST_F(PlanRunRetryTest, SecretsInInputsAreMarkersUniqueToTheAttempt) {
  const std::string run = StartSteps(R"(
  - stepId: a
    kind: http
    retryPolicy: {maxAttempts: 2, backoff: none}
    secretRefs: [{name: token, provider: env, key: API_TOKEN}]
    inputs: {auth: "Bearer {{ secrets.token }}", plain: "$secret-x:token;"}
)");
  const Task first = Opened("a");
  ASSERT_FALSE(first.secret_prefix.empty());
  EXPECT_EQ(first.inputs,
            R"({"auth":"Bearer )" + first.secret_prefix + R"(token;","plain":"$secret-x:token;"})");
  EXPECT_EQ(first.secrets.at(0).key, "API_TOKEN");
  Restart();
  EXPECT_EQ(Opened("a").secret_prefix, first.secret_prefix) << "a redelivery is the same attempt";
  EXPECT_EQ(Opened("a").inputs, first.inputs);
  Fail("a");
  EXPECT_NE(Opened("a").secret_prefix, first.secret_prefix);
}

TEST_F(PlanRunRetryTest, APermanentFailureIsNeverRetried) {
  const std::string run = StartSteps(
      "  - {stepId: a, kind: http, retryPolicy: {maxAttempts: 3, backoff: none, "
      "retryOn: [EXIT_STATUS]}}\n");
  TaskOutcome outcome = TaskOutcome::Failure("EXIT_STATUS", "exit code 4", false);
  outcome.permanent = true;
  tools_->Finish("a", outcome);
  Step();
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(tools_->started.size(), 1U);
}

}  // namespace
}  // namespace everstep
