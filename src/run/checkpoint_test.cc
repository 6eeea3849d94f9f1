#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/plan_workbench.h"
#include "testing/relay_program.h"

namespace everstep {
namespace {

class CheckpointTest : public PlanWorkbench {
 protected:
  CheckpointTest() {
    formats_ = {std::make_shared<RelayFormat>()};
    options_.checkpoint_events = 8;
    StartAfresh();
  }
  std::string StartLoop(int visits) {
    StartRequest request =
        RequestOf("tool http\nagain " + std::to_string(visits) + " x 0\nsleep 3600\ntool shell");
    request.format = "relay";
    const std::string run = Start(request);
    for (int visit = 1; visit <= visits; ++visit) {
      Finish(visit == 1 ? "line[0]/work" : "line[0]/work#" + std::to_string(visit));
    }
    return run;
  }
  std::optional<std::string> Stored(const std::string& run) {
    auto text = engine_->store().Read()->FindDocument(CheckpointKey("default", RunId(run)));
    EXPECT_TRUE(text);
    return text ? *text : std::nullopt;
  }
  void Store(const std::string& run, std::optional<std::string> text) {
    EXPECT_TRUE(engine_->embedded_log().committer().Put(
        {{CheckpointKey("default", RunId(run)), std::move(text)}}));
  }
  void WakeAndEnd(const std::string& run) {
    AdvanceClock(std::chrono::hours(1));
    Finish("line[3]/work");
    EXPECT_EQ(StatusOf(run), "COMPLETED");
  }
};

TEST_F(CheckpointTest, IsWrittenEverySoManyEventsAndGoesWithTheEnd) {
  const std::string run = StartLoop(1);
  EXPECT_FALSE(Stored(run)) << "short runs have none";
  const std::string longer = StartLoop(8);
  EXPECT_TRUE(Stored(longer));
  AdvanceClock(std::chrono::hours(1));
  Finish("line[3]/work");
  Finish("line[3]/work");
  EXPECT_FALSE(Stored(longer));
}

TEST_F(CheckpointTest, AParkedRunIsWokenFromIt) {
  const std::string run = StartLoop(20);
  Restart();
  EXPECT_TRUE(Stored(run));
  WakeAndEnd(run);
}

TEST_F(CheckpointTest, WhatIsUnreadableIsFoldedInstead) {
  for (const std::string& damage :
       {std::string(), std::string("\x01\x02nonsense"), std::string(500, '\xff')}) {
    StartAfresh();
    const std::string run = StartLoop(20);
    Restart();
    Store(run, damage);
    WakeAndEnd(run);
  }
}

TEST_F(CheckpointTest, OneThatIsAheadOfTheLogIsNotUsed) {
  const std::string ahead = StartLoop(20);
  const auto text = Stored(ahead);
  ASSERT_TRUE(text);
  const std::string run = StartLoop(5);
  Restart();
  Store(run, text);
  EXPECT_EQ(View(run).steps.size(), 6U);
}

TEST_F(CheckpointTest, AnOlderOneIsFollowedByTheRestOfTheLog) {
  const std::string run = StartLoop(8);
  const auto older = Stored(run);
  ASSERT_TRUE(older);
  AdvanceClock(std::chrono::hours(1));
  Restart();
  Store(run, older);
  EXPECT_EQ(View(run).steps.size(), 10U);
  Finish("line[3]/work");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(CheckpointTest, ATruncatedOneIsNeverTakenForAShorterRun) {
  const std::string run = StartLoop(12);
  const auto text = Stored(run);
  ASSERT_TRUE(text);
  for (std::size_t size = 0; size < text->size(); ++size) {
    engine_->Post(RunId(run), {RunId(run), LookOrder{[&](Result<const Execution*> live) {
                                 ASSERT_TRUE(live);
                                 Execution execution((*live)->run_id(), (*live)->compiled(),
                                                     *tools_, {});
                                 EXPECT_FALSE(execution.Decode(text->substr(0, size))) << size;
                               }}});
    engine_->Step();
  }
}

TEST_F(CheckpointTest, IsRemovedWithItsRun) {
  const std::string run = StartLoop(20);
  (void)Signal(run, "CANCEL");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
  EXPECT_FALSE(Stored(run));
}

TEST_F(CheckpointTest, OneThatWouldBeVeryLargeIsNotWritten) {
  std::string steps;
  const std::string text(900'000, 'x');
  for (int i = 0; i < 6; ++i) {
    steps +=
        "- {stepId: s" + std::to_string(i) + ", kind: echo, inputs: {text: '{{ inputs.t }}'}}\n";
  }
  const std::string run =
      Start("metadata: {planId: p, planVersion: '1'}\ninputs: {t: {type: string}}\nsteps:\n" +
                steps + "- {stepId: last, kind: http}\n",
            R"({"t":")" + text + "\"}");
  const auto stored = Stored(run);
  EXPECT_LE(stored ? stored->size() : 0, 4U << 20);
  Restart();
  Finish("last");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

}  // namespace
}  // namespace everstep
