// The cost of one tenant's decisions does not delay another tenant.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "flow/operations_done.h"
#include "testing/plan_workbench.h"

namespace everstep {
namespace {

constexpr std::uint64_t kTurn = 1 << 17;   // operations per turn of a lane
constexpr std::uint64_t kCostly = 80'000;  // minimum cost of a run of kCostlyPlan

constexpr const char* kCostlyPlan =
    "metadata: {planId: costly, planVersion: '1'}\n"
    "steps: [{stepId: a, kind: echo, inputs: {x: "
    "'{{ (range(20000) | sum) + (range(20000) | sum) }}'}}]\n";
constexpr const char* kCheapPlan =
    "metadata: {planId: cheap, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]\n";
constexpr const char* kOpenPlan =
    "metadata: {planId: open, planVersion: '1'}\nsteps: [{stepId: a, kind: http}]\n";
// Writes several thousand events and then waits.
constexpr const char* kLongPlan =
    "metadata: {planId: long, planVersion: '1'}\n"
    "steps:\n"
    "- {stepId: a, kind: noop, foreach: {items: '{{ range(8000) }}', maxInFlight: 1000}}\n"
    "- {stepId: b, dependsOn: [a], waitFor: {hook: {token: t}}}\n";

// A plan whose steps all wait at the same time.
std::string WaitingPlan(int steps, const std::string& wait) {
  std::string plan = "metadata: {planId: waiting, planVersion: '1'}\nsteps:\n";
  for (int i = 0; i < steps; ++i) {
    plan += "- {stepId: s" + std::to_string(i) + ", dependsOn: [], waitFor: " + wait + "}\n";
  }
  return plan;
}

class LaneFairness : public PlanWorkbench {
 protected:
  // Posts a start; the lane does not handle it before the next Step.
  void PostStart(const std::string& tenant, const std::string& run, const std::string& plan) {
    StartRequest request;
    request.tenant_id = tenant;
    request.run_id = run;
    request.plan = plan;
    auto prepared = engine_->Prepare(request);
    ASSERT_TRUE(prepared) << ToString(prepared.error());
    prepared->order.answer = [this, run](const Result<StartedRun>& started) {
      EXPECT_TRUE(started) << run;
      Answered(run);
    };
    engine_->Submit(std::move(*prepared));
  }
  void PostLook(const std::string& run, const std::string& name) {
    engine_->Post(RunId(run), {RunId(run), LookOrder{[this, name](Result<const Execution*> seen) {
                                 EXPECT_TRUE(seen) << name;
                                 Answered(name);
                               }}});
  }
  void PostSignal(const std::string& tenant, const std::string& run, const std::string& type) {
    SignalRequest request = SignalOf(run, type);
    request.tenant_id = tenant;
    request.signal_id = type;
    auto verdict = JudgeSignal(request, {}, clock_.Now(), random_);
    ASSERT_TRUE(verdict);
    engine_->Post(RunId(run), {RunId(run), SignalCall{request, std::move(*verdict), {}}});
  }
  void Answered(const std::string& name) {
    order_.push_back(name);
    cost_[name] = OperationsDone() - begun_;
  }
  void StepFromHere() {
    begun_ = OperationsDone();
    Step();
  }

  std::vector<std::string> order_;             // in which answers arrived
  std::map<std::string, std::uint64_t> cost_;  // of all decisions before the answer

  std::uint64_t begun_ = 0;
};

TEST_F(LaneFairness, AStartDoesNotWaitForAllRunsOfAnotherTenant) {
  for (int i = 0; i < 100; ++i) PostStart("much", "m" + std::to_string(i), kCostlyPlan);
  PostStart("little", "one", kCheapPlan);
  StepFromHere();
  EXPECT_LE(cost_.at("one"), 3 * (kTurn + kCostly));
  EXPECT_GE(cost_.at("m99"), 90 * kCostly);
  EXPECT_EQ(order_.size(), 101u);
}

TEST_F(LaneFairness, ManyCheapOrdersYieldToAnotherTenantToo) {
  for (int i = 0; i < 10'000; ++i) PostStart("much", "m" + std::to_string(i), kCheapPlan);
  PostStart("little", "one", kCheapPlan);
  StepFromHere();
  EXPECT_LE(cost_.at("one"), 3 * kTurn);
}

TEST_F(LaneFairness, OrdersOfARunAreDecidedInArrivalOrder) {
  PostStart("default", "open", kOpenPlan);
  Step();
  for (int i = 0; i < 50; ++i) PostStart("much", "m" + std::to_string(i), kCostlyPlan);
  for (int i = 0; i < 20; ++i) PostStart("default", "d" + std::to_string(i), kCostlyPlan);
  std::vector<std::string> decisions;
  for (int i = 0; i < 20; ++i) {
    SignalRequest request = SignalOf("open", i % 2 == 0 ? "PAUSE" : "RESUME");
    request.tenant_id = "default";
    request.signal_id = "s" + std::to_string(i);
    auto verdict = JudgeSignal(request, {}, clock_.Now(), random_);
    ASSERT_TRUE(verdict);
    engine_->Post(
        RunId("open"),
        {RunId("open"),
         SignalCall{request, std::move(*verdict), [&](const Result<SignalDecision>& decision) {
                      decisions.push_back(decision ? decision->decision : "error");
                    }}});
  }
  Step();
  // Pausing a paused run or resuming a running one would be refused.
  EXPECT_EQ(decisions, std::vector<std::string>(20, "ACCEPTED"));
}

TEST_F(LaneFairness, ARunWithALongLogIsReadBackInParts) {
  PostStart("much", "long", kLongPlan);
  PostStart("little", "open", kOpenPlan);
  Step();
  ASSERT_GT(Events("long").size(), 16'000u);
  options_.checkpoint_events = 0;
  Restart();
  order_.clear();
  PostLook("long", "first");
  PostLook("long", "second");
  PostLook("open", "other");
  StepFromHere();
  EXPECT_EQ(order_, (std::vector<std::string>{"other", "first", "second"}));
  EXPECT_LE(cost_.at("other"), 3 * kTurn);
}

TEST_F(LaneFairness, ALargeResultThatIsUsedOftenIsParsedOnce) {
  std::string names;
  for (int i = 0; i < 300; ++i) names += "'{{ steps.a.result.x }}',";
  const std::string run = StartSteps(
      "- {stepId: a, kind: echo, inputs: {x: 1, list: '{{ range(20000) }}'}}\n"
      "- {stepId: b, kind: echo, dependsOn: [a], inputs: {all: [" +
      names + "]}}\n");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(LaneFairness, OnlyQuickChecksAreDoneWhereRequestsAreRead) {
  const auto is_ready = [this](const std::string& members, const std::string& inputs = "{}") {
    StartRequest request = RequestOf("metadata: {planId: p, planVersion: '1'}\n" + members +
                                     "\nsteps: [{stepId: a, kind: noop}]\n");
    request.inputs = inputs;
    EXPECT_TRUE(engine_->Prepare(request));  // the plan is known now
    return engine_->ReadyProgram(request) != nullptr;
  };
  EXPECT_TRUE(is_ready("concurrencyKey: fixed"));
  EXPECT_FALSE(is_ready("concurrencyKey: '{{ 1 + 1 }}'"));
  EXPECT_TRUE(is_ready("inputs: {x: {type: string}}", R"({"x":"a"})"));
  EXPECT_FALSE(
      is_ready("inputs: {x: {type: string}}", R"({"x":")" + std::string(100'000, 'a') + "\"}"));
  EXPECT_FALSE(is_ready("inputs: {x: {pattern: a}}"));
}

TEST_F(LaneFairness, LookingAtALargeRunIsChargedToItsTenant) {
  PostStart("much", "large", WaitingPlan(3'000, "{duration: 1h}"));
  Step();
  order_.clear();
  for (int i = 0; i < 50; ++i) PostLook("large", "look-" + std::to_string(i));
  PostStart("little", "one", kCheapPlan);
  StepFromHere();
  ASSERT_EQ(order_.size(), 51U);
  const auto one = std::ranges::find(order_, "one");
  EXPECT_LE(one - order_.begin(), 5);
}

TEST_F(LaneFairness, ARunWithManyWaitsEndsInParts) {
  PostStart("much", "large", WaitingPlan(12'000, "{hook: {}}"));
  Step();
  PostSignal("much", "large", "CANCEL");
  PostStart("little", "one", kCheapPlan);
  StepFromHere();
  EXPECT_LE(cost_.at("one"), 2 * kTurn);
  EXPECT_EQ(StatusOf("large"), "CANCELLED");
}

TEST_F(LaneFairness, WhatALargeRunCostsGrowsWithItsStepsOnly) {
  const auto cost = [this](const std::string& run, int steps) {
    PostStart("much", run, WaitingPlan(steps, "{duration: 1h}"));
    begun_ = OperationsDone();
    Step();
    return static_cast<double>(OperationsDone() - begun_);
  };
  const double small = cost("small", 3'000);
  EXPECT_LE(cost("large", 12'000), 4.2 * small);
}

TEST_F(LaneFairness, HeartbeatsOfATaskWaitAsOneOrder) {
  StartSteps("- {stepId: a, kind: http, heartbeatTimeout: 60s}\n");
  const TaskId task = Opened("a").id;
  for (int i = 0; i < 1'000; ++i) tools_->Beat(task);
  EXPECT_EQ(engine_->Backlog(), 1U);
  AdvanceClock(std::chrono::seconds(50));
  EXPECT_EQ(engine_->Backlog(), 0U);
  tools_->Beat(task);
  EXPECT_EQ(engine_->Backlog(), 1U) << "the former ones have been decided";
  AdvanceClock(std::chrono::seconds(50));
  EXPECT_EQ(Opened("a").id, task) << "it was heard in time";
}

// However many orders of others wait in its lane.
TEST_F(LaneFairness, ABusyLaneDoesNotHoldTheClockBack) {
  options_.on_end = [this](const std::string& run, const std::string&) {
    if (run == "timed") order_.push_back(run);
  };
  StartAfresh();
  PostStart("little", "timed", WaitingPlan(1, "{duration: 1s}"));
  Step();
  for (int i = 0; i < 6'000; ++i) PostStart("much", "m" + std::to_string(i), kCheapPlan);
  clock_.Advance(std::chrono::seconds(1));
  Step();
  const auto timed = std::ranges::find(order_, "timed");
  const auto last = std::ranges::find(order_, "m5999");
  ASSERT_NE(timed, order_.end());
  EXPECT_LT(timed - order_.begin(), last - order_.begin());
}

TEST_F(LaneFairness, CheckingTheInputsOfAChildIsChargedToItsTenant) {
  std::string pattern = "(";
  for (int i = 0; i < 15; ++i) pattern += "[a-a]?";
  const std::string parents =
      "metadata: {planId: p, planVersion: '1'}\n"
      "steps:\n"
      "- stepId: a\n"
      "  foreach: {items: '{{ range(20) }}', maxInFlight: 20}\n"
      "  onFailure: continue\n"
      "  inputs: {x: " +
      std::string(5'000, 'a') +
      "}\n"
      "  plan: {metadata: {planId: c, planVersion: '1'}, inputs: {x: {pattern: '" +
      pattern + "){150}b'}}, steps: [{stepId: b, kind: noop}]}\n";
  StartRequest request;
  request.tenant_id = "much";
  request.plan = parents;
  auto prepared = engine_->Prepare(request);
  ASSERT_TRUE(prepared) << ToString(prepared.error());
  // Answered when the children have been ordered.
  prepared->order.answer = [this](const Result<StartedRun>&) {
    PostStart("little", "one", kCheapPlan);
  };
  engine_->Submit(std::move(*prepared));
  StepFromHere();
  constexpr std::uint64_t kCheck = 1'000'000;
  EXPECT_LE(cost_.at("one"), 3 * (kTurn + kCheck));
  EXPECT_GE(OperationsDone() - begun_, 20 * kCheck);
}

}  // namespace
}  // namespace everstep
