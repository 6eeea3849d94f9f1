#include <gtest/gtest.h>

#include <optional>

#include "testing/plan_workbench.h"

// Tasks that wait for a worker, are lost with it, or need an answer to their report.

namespace everstep {
namespace {

using std::chrono::seconds;

class PlanRunRemoteTest : public PlanWorkbench {
 protected:
  PlanRunRemoteTest() { tools_->queued.insert("http"); }

  std::string StartWith(const std::string& fields) {
    return StartSteps("- {stepId: a, kind: http, " + fields + "}\n");
  }
  // Reports the task and returns the answer; "" if there is none yet.
  std::string ReportAnswered(const TaskId& task) {
    Report(task);
    Step();
    return answer_;
  }
  void Report(const TaskId& task) {
    answer_.clear();
    tools_->Report(task, TaskOutcome::Success("1"), [this](const Status& status) {
      EXPECT_EQ(answer_, "") << "answered twice";
      answer_ = status ? "OK" : std::string(Name(status.error().code));
      started_at_answer_ = tools_->started.size();
      flushes_at_answer_ = tools_->flushes;
    });
  }
  void Lose(const TaskId& task) {
    tools_->Lose(task);
    Step();
  }
  void Take(const TaskId& task) {
    tools_->Take(task);
    Step();
  }

  std::string answer_;
  std::size_t started_at_answer_ = 0;
  std::uint64_t flushes_at_answer_ = 0;
};

TEST_F(PlanRunRemoteTest, TheTimeoutCountsFromWhenAWorkerTakesTheTask) {
  const std::string run = StartWith("timeout: 5s");
  AdvanceClock(seconds(60));
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING") << "it only waited";
  Take(Opened("a").id);
  AdvanceClock(seconds(4));
  Take(Opened("a").id);  // repeated: without effect
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING");
  AdvanceClock(seconds(1));
  EXPECT_EQ(View(run).error_code, "TIMEOUT");
}

TEST_F(PlanRunRemoteTest, TheRunTimeoutCountsWhileTheTaskWaits) {
  const std::string run = Start(
      "metadata: {planId: p, planVersion: '1'}\ntimeout: 30s\nsteps:\n"
      "- {stepId: a, kind: http}\n");
  AdvanceClock(seconds(31));
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  Fail("a", "CANCELLED", false);
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(PlanRunRemoteTest, TheHeartbeatTimeoutCountsFromWhenAWorkerTakesTheTask) {
  StartWith("heartbeatTimeout: 5s");
  AdvanceClock(seconds(60));
  EXPECT_EQ(tools_->started.size(), 1U);
  Take(Opened("a").id);
  AdvanceClock(seconds(5));
  ASSERT_EQ(tools_->started.size(), 2U);
  EXPECT_EQ(tools_->started[1].id.engine_attempt, 2U);
  AdvanceClock(seconds(60));
  EXPECT_EQ(tools_->started.size(), 2U) << "the second delivery waits as the first did";
}

TEST_F(PlanRunRemoteTest, TasksNameTheirQueueAndPriority) {
  StartSteps(
      "- {stepId: a, kind: http, queue: gpu, priority: 7, heartbeatTimeout: 5s}\n"
      "- {stepId: b, kind: http, dependsOn: []}\n");
  EXPECT_EQ(Opened("a").queue, "gpu");
  EXPECT_EQ(Opened("a").priority, 7);
  EXPECT_EQ(Opened("a").heartbeat_timeout, Milliseconds(5'000));
  EXPECT_EQ(Opened("b").queue, "http");
}

TEST_F(PlanRunRemoteTest, ALostTaskIsRedeliveredAndItsLateReportRefused) {
  const std::string run = StartWith("timeout: 5s");
  const Task first = Opened("a");
  Lose(first.id);
  const Task second = Opened("a");
  EXPECT_EQ(second.id.logical_attempt, 1U);
  EXPECT_EQ(second.id.engine_attempt, 2U);
  EXPECT_EQ(second.idempotency_key, first.idempotency_key);
  EXPECT_EQ(ReportAnswered(first.id), "STEP_ATTEMPT_STALE");
  EXPECT_EQ(StatusOf(run), "RUNNING");
  Lose(first.id);
  EXPECT_EQ(tools_->started.size(), 2U) << "losing a delivery that is over has no effect";
  EXPECT_EQ(ReportAnswered(second.id), "OK");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(ReportAnswered(second.id), "STEP_ATTEMPT_STALE");
}

TEST_F(PlanRunRemoteTest, ATaskLostTooOftenFails) {
  options_.engine_attempts_max = 3;
  StartAfresh();
  tools_->queued.insert("http");
  const std::string run = StartWith("timeout: 5s");
  for (int i = 0; i < 3; ++i) Lose(Opened("a").id);
  EXPECT_EQ(View(run).error_code, "DELIVERIES_EXHAUSTED");
}

TEST_F(PlanRunRemoteTest, ATaskThatNoWorkerTookSurvivesAnyNumberOfRestarts) {
  options_.engine_attempts_max = 3;
  StartAfresh();
  tools_->queued.insert("http");
  const std::string run = StartWith("timeout: 5s");
  const auto restart = [this] {
    auto tools = std::make_unique<ScriptedTools>();
    tools->queued.insert("http");
    engine_.reset();
    Open(std::move(tools));
  };
  for (int i = 0; i < 7; ++i) restart();
  EXPECT_EQ(Opened("a").id.engine_attempt, 8U);
  Lose(Opened("a").id);
  Lose(Opened("a").id);
  EXPECT_EQ(StatusOf(run), "RUNNING") << "it was lost twice";
  EXPECT_EQ(ReportAnswered(Opened("a").id), "OK");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunRemoteTest, ATaskLostWhilePausedIsRedeliveredOnResume) {
  const std::string run = StartWith("timeout: 5s");
  Signal(run, "PAUSE");
  Lose(Opened("a").id);
  EXPECT_FALSE(IsOpen("a"));
  Signal(run, "RESUME");
  EXPECT_EQ(Opened("a").id.engine_attempt, 2U);
}

TEST_F(PlanRunRemoteTest, ATaskLostWhileCancellingIsNotRedelivered) {
  const std::string run = StartWith("timeout: 5s");
  Signal(run, "CANCEL");
  EXPECT_EQ(StepStatus(run, "a"), "RUNNING");
  Lose(Opened("a").id);
  EXPECT_EQ(StatusOf(run), "CANCELLED");
}

TEST_F(PlanRunRemoteTest, FollowingTasksStartBeforeTheAnswerAndFlushComesAfter) {
  StartSteps("- {stepId: a, kind: http}\n- {stepId: b, kind: http, dependsOn: [a]}\n");
  EXPECT_EQ(tools_->flushes, 1U);
  EXPECT_EQ(ReportAnswered(Opened("a").id), "OK");
  EXPECT_EQ(started_at_answer_, 2U);
  EXPECT_EQ(flushes_at_answer_, 1U);
  EXPECT_EQ(tools_->flushes, 2U);
}

TEST_F(PlanRunRemoteTest, AReportForAnUnknownRunIsStale) {
  StartWith("timeout: 5s");
  TaskId other = Opened("a").id;
  other.run_id = RunId("nobody");
  EXPECT_EQ(ReportAnswered(other), "STEP_ATTEMPT_STALE");
}

TEST_F(PlanRunRemoteTest, AReportWhoseWriteFailsIsAnsweredWithTheError) {
  StartWith("timeout: 5s");
  power_->fails_after = 0;
  EXPECT_EQ(ReportAnswered(Opened("a").id), "INDETERMINATE");
  EXPECT_EQ(ReportAnswered(Opened("a").id), "STORE_STOPPED");
}

TEST_F(PlanRunRemoteTest, AReportIsAnsweredEvenIfTheEngineStopsFirst) {
  StartWith("timeout: 5s");
  Report(Opened("a").id);
  EXPECT_EQ(answer_, "");
  engine_.reset();
  EXPECT_EQ(answer_, "ENGINE_STOPPED");
}

TEST_F(PlanRunRemoteTest, WhySaysThatATaskWaitsForAWorker) {
  const std::string run = StartWith("timeout: 5s");
  EXPECT_EQ(Why(run).blockers.at(0).kind, "step");
  tools_->waiting_step = "a";
  EXPECT_EQ(Why(run).blockers.at(0).kind, "worker");
  EXPECT_EQ(Why(run).blockers.at(0).message, "step a waits for a worker");
}

}  // namespace
}  // namespace everstep
