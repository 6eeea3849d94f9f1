#include <gtest/gtest.h>

#include "run/derived_run_id.h"
#include "testing/plan_workbench.h"

// How runs start: approval, limits, repeated requests, later start times.

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class PlanRunAdmissionTest : public PlanWorkbench {
 protected:
  static std::string One(const std::string& metadata = "") {
    return "metadata: {planId: p, planVersion: '1'" + metadata +
           "}\nsteps: [{stepId: a, kind: http}]\n";
  }
  void Limit(AdmissionPolicy::Overload overload, std::uint32_t running_max) {
    options_.admission.overload = overload;
    options_.admission.engine.running_max = running_max;
    StartAfresh();
  }
};

TEST_F(PlanRunAdmissionTest, TheAgeOfTheQueueIsThatOfItsOldestRun) {
  Limit(AdmissionPolicy::Overload::kQueue, 1);
  EXPECT_EQ(engine_->Metrics().run_queue_oldest_us, 0U);
  for (int i = 0; i < 3; ++i) {
    Start(One());
    AdvanceClock(seconds(10));
  }
  EXPECT_EQ(engine_->Metrics().run_queue_pending, 2U);
  EXPECT_EQ(engine_->Metrics().run_queue_oldest_us, 20'000'000U);
  Finish("a");
  EXPECT_EQ(engine_->Metrics().run_queue_oldest_us, 10'000'000U);
}

TEST_F(PlanRunAdmissionTest, DesignRule07ARunThatNeedsApprovalIsApprovedOnce) {
  const std::string run = Start(One(", requiresApproval: true"));
  EXPECT_EQ(StatusOf(run), "PENDING");
  EXPECT_EQ(View(run).substatus, "WAITING_APPROVAL");
  EXPECT_EQ(Why(run).blockers.at(0).kind, "approval");
  Restart();
  EXPECT_TRUE(tools_->open.empty()) << "a restart approves nothing";
  EXPECT_TRUE(engine_->Approve(run, {"boss", {"Admin"}, {}}, "fine"));
  Step();
  EXPECT_EQ(Log(run), "RunQueued RunApproved RunStarted StepStarted(a)");
  EXPECT_FALSE(engine_->Approve(run, {"boss", {"Admin"}, {}}, ""));
  EXPECT_FALSE(engine_->Approve("none", {"boss", {"Admin"}, {}}, ""));
}

TEST_F(PlanRunAdmissionTest, DesignRule07ARunThatWaitsForApprovalCanBeCancelled) {
  const std::string run = Start(One(", requiresApproval: true"));
  Signal(run, "CANCEL");
  EXPECT_EQ(Log(run), "RunQueued SignalAccepted RunCancelled");
}

TEST_F(PlanRunAdmissionTest, APendingRunRefusesUpdateParams) {
  const std::string run = Start(One(", requiresApproval: true"));
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "UPDATE_PARAMS", R"({"params":{}})"))),
            "RUN_NOT_STARTED");
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "PAUSE"))), "INVALID_TRANSITION");
}

TEST_F(PlanRunAdmissionTest, AnApprovedRunKeepsItsStartTime) {
  StartRequest request = RequestOf(One(", requiresApproval: true"));
  request.start_at = clock_.Now() + hours(2);
  const std::string run = Start(request);
  Restart();
  EXPECT_TRUE(engine_->Approve(run, {"boss", {"Admin"}, {}}, ""));
  AdvanceClock(hours(1));
  EXPECT_FALSE(IsOpen("a"));
  AdvanceClock(hours(1));
  EXPECT_TRUE(IsOpen("a"));
}

TEST_F(PlanRunAdmissionTest, AStartTimeIsDurable) {
  StartRequest request = RequestOf(One());
  request.start_at = clock_.Now() + hours(2);
  const auto started = TryStart(request);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->start_at, request.start_at);
  EXPECT_EQ(Why(started->run_id).status, "PENDING");
  Restart();
  AdvanceClock(hours(1));
  EXPECT_FALSE(IsOpen("a"));
  AdvanceClock(hours(1));
  EXPECT_TRUE(IsOpen("a"));
}

TEST_F(PlanRunAdmissionTest, RejectSaysWhenToRetryAndWritesNothing) {
  Limit(AdmissionPolicy::Overload::kReject, 1);
  Start(One());
  const auto second = TryStart(RequestOf(One()));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAdmissionRejected);
  EXPECT_NE(second.error().message.find("try again in"), std::string::npos);
  EXPECT_GT(second.error().retry_after, std::chrono::milliseconds(0));
  EXPECT_FALSE(engine_->View("run-2"));
}

TEST_F(PlanRunAdmissionTest, QueuedRunsStartInOrderWhenOthersEnd) {
  Limit(AdmissionPolicy::Overload::kQueue, 1);
  const std::string first = Start(One());
  AdvanceClock(seconds(1));
  const auto second = TryStart(RequestOf(One()));
  AdvanceClock(seconds(1));
  const auto third = TryStart(RequestOf(One()));
  ASSERT_TRUE(second && third);
  EXPECT_EQ(second->status, "PENDING");
  EXPECT_EQ(third->queue_position, 2U);
  EXPECT_EQ(View(third->run_id).queue_position, 2U);
  EXPECT_EQ(Why(third->run_id).blockers.at(0).kind, "admission");
  Restart();
  EXPECT_EQ(tools_->open.size(), 1U) << "the limit holds after a restart";
  Finish("a");
  EXPECT_EQ(StatusOf(first), "COMPLETED");
  EXPECT_EQ(StatusOf(second->run_id), "RUNNING");
  EXPECT_EQ(StatusOf(third->run_id), "PENDING");
  Signal(second->run_id, "EMERGENCY_STOP", R"({"reason":"x"})");
  EXPECT_EQ(StatusOf(third->run_id), "RUNNING");
}

TEST_F(PlanRunAdmissionTest, QueuedRunsStartByPriority) {
  Limit(AdmissionPolicy::Overload::kQueue, 1);
  Start(One());
  const std::string low = Start(One());
  StartRequest request = RequestOf(One());
  request.priority = 10;
  const std::string high = Start(request);
  Finish("a");
  EXPECT_EQ(StatusOf(high), "RUNNING");
  EXPECT_EQ(StatusOf(low), "PENDING");
}

TEST_F(PlanRunAdmissionTest, AQueuedRunThatIsCancelledLeavesTheQueue) {
  Limit(AdmissionPolicy::Overload::kQueue, 1);
  Start(One());
  const std::string second = Start(One());
  const std::string third = Start(One());
  Signal(second, "CANCEL");
  Finish("a");
  EXPECT_EQ(StatusOf(second), "CANCELLED");
  EXPECT_EQ(StatusOf(third), "RUNNING");
}

TEST_F(PlanRunAdmissionTest, DelayedRunsStartAfterTheDelay) {
  Limit(AdmissionPolicy::Overload::kDelay, 1);
  Start(One());
  const auto second = TryStart(RequestOf(One()));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->start_at, clock_.Now() + options_.admission.delay);
  Finish("a");
  EXPECT_EQ(StatusOf(second->run_id), "PENDING");
  AdvanceClock(options_.admission.delay);
  EXPECT_EQ(StatusOf(second->run_id), "RUNNING");
}

TEST_F(PlanRunAdmissionTest, RunsWithTheSameKeyRunOneAfterTheOther) {
  const std::string plan =
      "metadata: {planId: p, planVersion: '1'}\nconcurrencyKey: \"k-{{ inputs.n }}\"\n"
      "inputs: {n: {default: 1}}\nsteps: [{stepId: a, kind: http}]\n";
  const std::string first = Start(plan);
  const std::string second = Start(plan);
  const std::string other = Start(plan, R"({"n":2})");
  EXPECT_EQ(StatusOf(second), "PENDING");
  EXPECT_EQ(StatusOf(other), "RUNNING");
  tools_->Report({RunId(first), "a", 1, 1}, TaskOutcome::Success("1"));
  Step();
  EXPECT_EQ(StatusOf(second), "RUNNING");
}

TEST_F(PlanRunAdmissionTest, ARepeatedRequestReturnsTheSameRun) {
  StartRequest request = RequestOf(One());
  request.run_id.clear();
  request.request_id = "req-1";
  const auto first = TryStart(request);
  const auto second = TryStart(request);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->existing);
  EXPECT_TRUE(second->existing);
  EXPECT_EQ(second->run_id, first->run_id);
  EXPECT_EQ(tools_->open.size(), 1U);
  request.project_id = "another";
  EXPECT_NE(TryStart(request)->run_id, first->run_id);
}

TEST_F(PlanRunAdmissionTest, ARequestThatAnEarlierVersionServedReturnsItsRun) {
  StartRequest request = RequestOf(One());
  request.run_id = FormerDerivedRunId(request.tenant_id + "|" + request.project_id + "|" +
                                      request.environment_id + "|p|1|req-7")
                       .value();
  ASSERT_TRUE(TryStart(request));
  const std::string former = std::exchange(request.run_id, "");
  request.request_id = "req-7";
  const auto again = TryStart(request);
  ASSERT_TRUE(again) << ToString(again.error());
  EXPECT_TRUE(again->existing);
  EXPECT_EQ(again->run_id, former);
  // A run of another tenant with that id is neither revealed nor in the way.
  request.tenant_id = "others";
  EXPECT_FALSE(TryStart(request)->existing);
}

TEST_F(PlanRunAdmissionTest, AnInvalidIdSaysHowIdsMustBegin) {
  StartRequest request = RequestOf(One());
  request.run_id = "-x";
  const auto refused = TryStart(request);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().faults.at(0).message.find("must begin with a letter or digit"),
            std::string::npos);
}

TEST_F(PlanRunAdmissionTest, ARunIdOfAnotherOwnerIsRefused) {
  StartRequest request = RequestOf(One());
  Start(request);
  EXPECT_TRUE(TryStart(request)->existing);
  request.tenant_id = "others";
  EXPECT_EQ(TryStart(request).error().code, ErrorCode::kRunAlreadyExists);
}

TEST_F(PlanRunAdmissionTest, SlotLimitsHoldAfterARestart) {
  tools_->slots["http"] = 2;
  Restart();
  for (int i = 0; i < 5; ++i) Start(One());
  EXPECT_EQ(tools_->open.size(), 2U);
  Restart();
  EXPECT_EQ(tools_->open.size(), 2U);
  for (int i = 0; i < 5; ++i) Finish("a");
  for (const std::string& run : run_ids_) EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunAdmissionTest, StepsWithTheSameKeyRunOneAfterTheOther) {
  const std::string step = "  - {stepId: a, kind: http, concurrencyKey: \"only\"}\n";
  const std::string first = StartSteps(step);
  const std::string second = StartSteps(step);
  EXPECT_EQ(tools_->open.size(), 1U);
  EXPECT_EQ(Why(second).blockers.at(0).kind, "slot");
  Finish("a");
  EXPECT_EQ(StatusOf(first), "COMPLETED");
  Finish("a");
  EXPECT_EQ(StatusOf(second), "COMPLETED");
}

TEST_F(PlanRunAdmissionTest, RunsOfTheSameMicrosecondKeepTheirPlacesAfterARestart) {
  Limit(AdmissionPolicy::Overload::kQueue, 1);
  Start(One());
  std::vector<std::string> made;
  for (int i = 0; i < 5; ++i) made.push_back(Start(One(", requiresApproval: true")));
  // They are queued in order of approval.
  const std::vector<std::string> queue = {made[2], made[0], made[4], made[1], made[3]};
  for (const std::string& run : queue) {
    EXPECT_TRUE(engine_->Approve(run, {"boss", {"Admin"}, {}}, ""));
  }
  Step();
  for (int restarts = 0; restarts < 2; ++restarts) {
    for (std::size_t i = 0; i < queue.size(); ++i) {
      EXPECT_EQ(View(queue[i]).queue_position, i + 1) << restarts << " restarts";
    }
    Restart();
  }
  for (const std::string& run : queue) {
    Finish("a");
    EXPECT_EQ(StatusOf(run), "RUNNING");
  }
}

TEST_F(PlanRunAdmissionTest, ATenantTakesItsShareOfTheRunsThatMayBeExecutedAtOnce) {
  options_.admission.engine.running_max = 10;
  tenant_share_ = 50;
  StartAfresh();
  const auto start = [this](const std::string& tenant) {
    StartRequest request =
        RequestOf("metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kind: http}]\n");
    request.tenant_id = tenant;
    return StatusOf(Start(request));
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(start("much"), "RUNNING") << i;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(start("much"), "PENDING") << i;
  EXPECT_EQ(start("little"), "RUNNING");
}

}  // namespace
}  // namespace everstep
