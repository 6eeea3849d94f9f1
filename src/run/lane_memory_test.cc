#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "testing/plan_workbench.h"

// What runs that wait cost, and what bounds it.

namespace everstep {
namespace {

using std::chrono::seconds;

class LaneMemoryTest : public PlanWorkbench {
 protected:
  void Limit(std::uint32_t tasks_max, std::uint64_t memory_bytes_max = 512 << 20) {
    options_.tasks_max = tasks_max;
    options_.memory_bytes_max = memory_bytes_max;
    StartAfresh();
    tools_->queued.insert("http");
  }
  void RestartWithWorkers() {
    Restart();
    tools_->queued.insert("http");
  }
  // A plan whose steps can all run at once.
  static std::string Parallel(int steps, const std::string& fields = "") {
    std::string plan;
    for (int i = 0; i < steps; ++i) {
      plan += "- {stepId: s" + std::to_string(i) + ", kind: http, dependsOn: []" + fields + "}\n";
    }
    return plan;
  }
  // Steps that were begun for the first time, in order.
  std::vector<int> Begun(const std::string& run) {
    std::vector<int> steps;
    for (const Event& event : Events(run)) {
      if (event.type != EventType::kStepStarted || event.engine_attempt > 1) continue;
      steps.push_back(std::stoi(event.entity_id.substr(1)));
    }
    return steps;
  }
  void FinishSome(std::size_t count) {
    while (count-- > 0 && !tools_->open.empty()) {
      tools_->Finish(tools_->open.begin()->first, TaskOutcome::Success("1"));
    }
    Step();
  }
};

TEST_F(LaneMemoryTest, StepsBeyondTheLimitOfTasksWaitTheirTurn) {
  constexpr int kSteps = 400;  // more than may ask for a slot at once, too
  Limit(20);
  const std::string run = StartSteps(Parallel(kSteps));
  EXPECT_EQ(tools_->open.size(), 20U);
  const Explanation why = Why(run);
  const auto waits = std::ranges::find(why.blockers, "s20", &Blocker::subject);
  ASSERT_NE(waits, why.blockers.end());
  EXPECT_EQ(waits->kind, "slot");
  EXPECT_EQ(waits->message, "step s20 waits for one of 20 slots, 20 in use, 0 ahead");
  FinishSome(50);
  EXPECT_EQ(tools_->open.size(), 20U);
  RestartWithWorkers();
  Step();
  EXPECT_EQ(tools_->open.size(), 20U) << "the limit holds for the next process";
  for (int i = 0; i < kSteps && !tools_->open.empty(); ++i) FinishSome(7);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  std::vector<int> all(kSteps);
  for (int i = 0; i < kSteps; ++i) all[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(Begun(run), all);
}

TEST_F(LaneMemoryTest, StepsThatWaitForASlotCanBeCancelled) {
  Limit(5);
  const std::string run = StartSteps(Parallel(400));
  Signal(run, "PAUSE");
  Signal(run, "RESUME");
  EXPECT_EQ(tools_->open.size(), 5U);
  Signal(run, "CANCEL");
  FinishSome(5);
  EXPECT_EQ(StatusOf(run), "CANCELLED");
  const std::string next = StartSteps(Parallel(6));
  EXPECT_EQ(tools_->open.size(), 5U) << "all slots were given back";
  FinishSome(5);
  FinishSome(1);
  EXPECT_EQ(StatusOf(next), "COMPLETED");
}

TEST_F(LaneMemoryTest, TasksWithLargeInputsTakeMoreSlots) {
  Limit(100);
  const std::string fields =
      ", inputs: {text: '" + std::string(10 * SlotBoard::kInputBytesPerSlot, 'x') + "'}";
  const std::string run = StartSteps(Parallel(30, fields));
  EXPECT_EQ(tools_->open.size(), 10U);
  for (int i = 0; i < 30 && !tools_->open.empty(); ++i) FinishSome(3);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(LaneMemoryTest, ARunThatWaitsShedsWhatItsLogSays) {
  Limit(1'000);
  StartSteps(Parallel(100));
  EXPECT_GT(engine_->Metrics().run_bytes, 0U) << "there is room";
  Limit(3, 0);
  std::vector<std::string> runs;
  for (int i = 0; i < 4; ++i) {
    runs.push_back(
        StartSteps("- {stepId: a" + std::to_string(i) +
                   ", kind: http, timeout: 60s, retryPolicy: {maxAttempts: 2, backoff: none}}\n"
                   "- {stepId: b" +
                   std::to_string(i) + ", kind: http}\n"));
  }
  EXPECT_EQ(engine_->Metrics().run_bytes, 0U);
  EXPECT_EQ(engine_->Metrics().runs_in_memory, 4U);
  EXPECT_EQ(Why(runs[3]).blockers.at(0).kind, "slot") << "the fourth waits for a slot";
  tools_->Take(Opened("a0").id);
  Step();
  Fail("a1");
  EXPECT_TRUE(IsOpen("a3")) << "it got the slot";
  Finish("a2");
  AdvanceClock(seconds(60));
  EXPECT_EQ(Opened("a1").id.logical_attempt, 2U);
  EXPECT_EQ(StepOf(runs[0], "a0").error_code, "TIMEOUT");
  EXPECT_EQ(engine_->Metrics().run_bytes, 0U);
  for (int i = 0; i < 20 && !tools_->open.empty(); ++i) FinishSome(3);
  for (const std::string& run : runs) EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(LaneMemoryTest, RunsThatComputeComeToTheirEndOneAfterTheOther) {
  Limit(20, 0);
  std::string steps = "- {stepId: s0, kind: noop}\n";
  for (int i = 1; i < 40; ++i) steps += "- {stepId: s" + std::to_string(i) + ", kind: noop}\n";
  std::vector<std::string> runs;
  for (int i = 0; i < 5; ++i) {
    StartRequest request = RequestOf("metadata: {planId: p, planVersion: '1'}\nsteps:\n" + steps);
    request.run_id = "many-" + std::to_string(i);
    auto prepared = engine_->Prepare(request);
    ASSERT_TRUE(prepared);
    engine_->Submit(*std::move(prepared));
    runs.push_back(request.run_id);
  }
  Step();
  for (const std::string& run : runs) {
    EXPECT_EQ(StatusOf(run), "COMPLETED");
    EXPECT_EQ(Events(run).size(), 2U + 1U + 40U * 2U) << "no step was delivered twice";
  }
  EXPECT_EQ(engine_->Metrics().run_bytes, 0U);
}

TEST_F(LaneMemoryTest, ARunThatWasShedGoesOnAfterARestart) {
  Limit(20, 0);
  const std::string run = StartSteps(Parallel(60));
  RestartWithWorkers();
  EXPECT_EQ(engine_->Metrics().run_bytes, 0U);
  for (int i = 0; i < 60 && !tools_->open.empty(); ++i) FinishSome(3);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(LaneMemoryTest, APlanCountsWithItsTextsAndValues) {
  const auto bytes = [this](const std::string& input) {
    const auto program = engine_->library().Add(
        kPlanFormat,
        "metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kind: noop, "
        "inputs: {x: " +
            input + "}}]\n");
    EXPECT_TRUE(program);
    return program ? (*program)->bytes() : 0;
  };
  EXPECT_LE(bytes("1"), 5'000U);
  EXPECT_GE(bytes(std::string(1'000'000, 'x')), 1'000'000U);
  std::string list = "[1";
  for (int i = 0; i < 10'000; ++i) list += ",1";
  EXPECT_GE(bytes(list + "]"), 500'000U);
}

}  // namespace
}  // namespace everstep
