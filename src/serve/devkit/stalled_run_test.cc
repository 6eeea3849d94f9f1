#include "serve/devkit/stalled_run.h"

#include <gtest/gtest.h>

#include "testing/store_workbench.h"

namespace everstep {
namespace {

using enum EventType;
using namespace std::chrono_literals;

class StalledRunTest : public testing::Test {
 protected:
  // A run that an application started.
  RunScribe& RunOf(const std::string& engine) {
    RunScribe& run = bench_.NewRun("run-1");
    bench_.Write(run, kRunQueued, {}, {.engine_run_ref = engine});
    bench_.Write(run, kRunStarted);
    EXPECT_TRUE(bench_.Commit({&run}));
    return run;
  }
  std::string WokenBy(bool has_later = false) {
    const auto message = WakeStalledRun(*bench_.Read(), "acme", RunId("run-1"), has_later);
    return message ? message->topic + " " + message->body : "nobody";
  }

  StoreWorkbench bench_{OpenMemoryStore()};
  const std::string plan_ = ScopeOf("acme").plan_id;
  const std::string replay_ = "__wkf_workflow_" + plan_ + R"( {"runId":"run-1"})";
};

TEST_F(StalledRunTest, AnAbandonedStepIsReplayed) {
  RunScribe& run = RunOf("devkit/7");
  ASSERT_TRUE(bench_.Append(run, kHookCreated, "hook", {.token = "t"}));
  EXPECT_EQ(WokenBy(), "nobody");  // waits for a delivery
  ASSERT_TRUE(bench_.Append(run, kStepScheduled, "a"));
  EXPECT_EQ(WokenBy(), replay_);
  EXPECT_EQ(WokenBy(true), replay_);
  ASSERT_TRUE(bench_.Append(run, kStepStarted, "a"));
  EXPECT_EQ(WokenBy(), replay_);
  ASSERT_TRUE(bench_.Append(run, kStepCompleted, "a"));
  EXPECT_EQ(WokenBy(), "nobody");
}

TEST_F(StalledRunTest, AWaitWithoutAMessageIsReplayed) {
  RunScribe& run = RunOf("devkit/7");
  ASSERT_TRUE(bench_.Append(run, kHookCreated, "hook", {.token = "t"}));
  ASSERT_TRUE(bench_.Append(run, kWaitCreated, "nap", {.due_at = bench_.now() + 1h}));
  EXPECT_EQ(WokenBy(true), "nobody");
  EXPECT_EQ(WokenBy(), replay_);
}

TEST_F(StalledRunTest, ARunWithNothingToWaitForIsReplayedUntilItHasEnded) {
  RunScribe& run = RunOf("devkit/7");
  EXPECT_EQ(WokenBy(), replay_);
  EXPECT_EQ(WokenBy(true), "nobody");
  ASSERT_TRUE(bench_.Append(run, kRunCompleted));
  EXPECT_EQ(WokenBy(), "nobody");
}

TEST_F(StalledRunTest, TheReplayUsesTheNamespaceOfTheApplication) {
  RunOf("devkit/5/shop");
  EXPECT_EQ(WokenBy(), "__shop_wkf_workflow_" + plan_ + R"( {"runId":"run-1"})");
}

TEST_F(StalledRunTest, RunsOfOtherEnginesAreLeftAlone) {
  RunScribe& run = RunOf("temporal://default/run/1");
  ASSERT_TRUE(bench_.Append(run, kStepScheduled, "a"));
  EXPECT_EQ(WokenBy(), "nobody");
  EXPECT_FALSE(WakeStalledRun(*bench_.Read(), "acme", RunId("run-2"), false));
}

}  // namespace
}  // namespace everstep
