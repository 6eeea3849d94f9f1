#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "testing/plan_workbench.h"

// The plans of the contract, in both of their shapes, and its scheduler cases. Event names are
// those of Everstep, and runSeq counts from 1, including RunQueued.

namespace everstep {
namespace {

class GoldenPathTest : public PlanWorkbench {
 protected:
  static std::string Vector(const std::string& name) {
    std::ifstream file(std::string(EVERSTEP_SOURCE_DIR) + "/tests/vectors/plans/" + name);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_FALSE(text.str().empty()) << name;
    return text.str();
  }

  // Returns the plan with tools that end when the test says so.
  static std::string WithOpenTools(std::string plan) {
    for (const std::string kind : {R"("noop")", R"("echo")"}) {
      for (std::size_t at = plan.find(kind); at != std::string::npos; at = plan.find(kind)) {
        plan.replace(at, kind.size(), R"("http")");
      }
    }
    return plan;
  }

  void ExpectContiguousSeqs(const std::string& run) {
    std::uint64_t seq = 0;
    for (const Event& event : Events(run)) EXPECT_EQ(event.seq.value(), ++seq);
  }

  // Runs five sequential steps, named `step`1 to `step`5, and pauses after the third. Another run
  // takes the only slot before the fourth begins, so that the pause comes in between.
  void PauseAfterTheThird(const std::string& plan, const std::string& step) {
    tools_->slots["http"] = 1;
    Restart();
    const std::string run = Start(WithOpenTools(plan));
    Finish(step + "1");
    Finish(step + "2");
    StartSteps("  - {stepId: other, kind: http}\n");
    Finish(step + "3");
    ASSERT_FALSE(IsOpen(step + "4"));
    const SignalDecision pause = Signal(run, "PAUSE");
    Finish("other");
    AdvanceClock(std::chrono::hours(1));
    EXPECT_TRUE(tools_->open.empty()) << "no step runs while the run is paused";
    EXPECT_EQ(StatusOf(run), "PAUSED");
    const SignalDecision resume = Signal(run, "RESUME");
    Finish(step + "4");
    Finish(step + "5");
    const auto pair = [&](const char* n) {
      return " StepStarted(" + step + n + ") StepCompleted(" + step + n + ")";
    };
    EXPECT_EQ(Log(run), "RunQueued RunStarted" + pair("1") + pair("2") + pair("3") +
                            " SignalAccepted RunPaused SignalAccepted RunResumed" + pair("4") +
                            pair("5") + " RunCompleted");
    const auto events = Events(run);
    EXPECT_EQ(events.size(), 17U);
    EXPECT_EQ(events[pause.run_seq].type, EventType::kRunPaused) << "directly after its signal";
    EXPECT_EQ(events[resume.run_seq].type, EventType::kRunResumed);
    ExpectContiguousSeqs(run);
  }
};

TEST_F(GoldenPathTest, PlanMinimal) {
  const std::string run = Start(Vector("plan-minimal.json"));
  EXPECT_EQ(Log(run), "RunQueued RunStarted StepStarted(s1) StepCompleted(s1) RunCompleted");
  ExpectContiguousSeqs(run);
}

TEST_F(GoldenPathTest, PlanMinimalOfTheFirstShape) {
  const std::string run = Start(Vector("golden-minimal.json"));
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(step-1) StepCompleted(step-1) RunCompleted");
  EXPECT_NE(Events(run)[3].payload.find(R"("result":{"message":"Hello, DVT Engine!"})"),
            std::string::npos);
  const auto snapshot = engine_->log().Snapshot(run);
  ASSERT_TRUE(snapshot);
}

TEST_F(GoldenPathTest, PlanParallelWithoutDependenciesIsSequential) {
  const std::string run = Start(Vector("plan-parallel.json"));
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(s1) StepCompleted(s1) StepStarted(s2) "
            "StepCompleted(s2) StepStarted(s3) StepCompleted(s3) StepStarted(s4) StepCompleted(s4) "
            "RunCompleted");
}

TEST_F(GoldenPathTest, PlanParallelOfTheFirstShapeMergesAfterAllBranches) {
  const std::string run = Start(WithOpenTools(Vector("golden-parallel.json")));
  EXPECT_EQ(tools_->open.size(), 3U);
  Finish("step-parallel-2", R"({"message":"2"})");
  Finish("step-parallel-3", R"({"message":"3"})");
  EXPECT_EQ(StepStatus(run, "step-merge"), "WAITING");
  Finish("step-parallel-1", R"({"message":"1"})");
  Finish("step-merge");
  EXPECT_EQ(Events(run).size(), 11U);
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(step-parallel-1) StepStarted(step-parallel-2) "
            "StepStarted(step-parallel-3) StepCompleted(step-parallel-2) "
            "StepCompleted(step-parallel-3) StepCompleted(step-parallel-1) StepStarted(step-merge) "
            "StepCompleted(step-merge) RunCompleted");
  ExpectContiguousSeqs(run);
}

TEST_F(GoldenPathTest, PlanCancelAndResume) {
  PauseAfterTheThird(Vector("plan-cancel-and-resume.json"), "s");
}

TEST_F(GoldenPathTest, PlanCancelAndResumeOfTheFirstShape) {
  PauseAfterTheThird(Vector("golden-cancel-and-resume.json"), "step-");
}

TEST_F(GoldenPathTest, ADiamondRunsInThreeLayers) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http}
  - {stepId: b, kind: http, dependsOn: [a]}
  - {stepId: c, kind: http, dependsOn: [a]}
  - {stepId: d, kind: http, dependsOn: [b, c]}
)");
  EXPECT_EQ(tools_->open.size(), 1U);
  Finish("a");
  EXPECT_TRUE(IsOpen("b") && IsOpen("c") && !IsOpen("d"));
  Finish("c");
  EXPECT_FALSE(IsOpen("d"));
  Finish("b");
  Finish("d");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(GoldenPathTest, ARepeatedDependencyCountsOnce) {
  const std::string run = StartSteps(R"(
  - {stepId: a}
  - {stepId: b, dependsOn: [a, a]}
)");
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(a) StepCompleted(a) StepStarted(b) StepCompleted(b) "
            "RunCompleted");
}

TEST_F(GoldenPathTest, ThreeSequentialStepsHaveTheExactEventOrder) {
  const std::string run = StartSteps("  - {stepId: s-1}\n  - {stepId: s-2}\n  - {stepId: s-3}\n");
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(s-1) StepCompleted(s-1) StepStarted(s-2) "
            "StepCompleted(s-2) StepStarted(s-3) StepCompleted(s-3) RunCompleted");
  ExpectContiguousSeqs(run);
}

TEST_F(GoldenPathTest, APermanentFailureFailsTheRun) {
  const std::string run = StartSteps("  - {stepId: s-1, kind: http}\n");
  Fail("s-1", "PERMANENT_STEP_ERROR", false);
  EXPECT_EQ(Log(run), "RunQueued RunStarted StepStarted(s-1) StepFailed(s-1) RunFailed");
  EXPECT_EQ(View(run).error_code, "PERMANENT_STEP_ERROR");
}

TEST_F(GoldenPathTest, ARunThatIsCancelledTwiceHasOneRunCancelled) {
  const std::string run = StartSteps("  - {stepId: s-1, kind: http}\n");
  Signal(run, "CANCEL");
  Signal(run, "CANCEL");
  tools_->Finish("s-1", TaskOutcome::Failure("CANCELLED", "", false));
  Step();
  EXPECT_EQ(Log(run),
            "RunQueued RunStarted StepStarted(s-1) SignalAccepted SignalAccepted StepFailed(s-1) "
            "RunCancelled");
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "CANCEL"))), "RUN_TERMINAL");
}

TEST_F(GoldenPathTest, DesignRule13ReadyStepsStartInPlanOrder) {
  const std::string run = StartSteps(R"(
  - {stepId: z, kind: http, dependsOn: []}
  - {stepId: a, kind: http}
  - {stepId: m, kind: http}
)");
  EXPECT_EQ(Log(run), "RunQueued RunStarted StepStarted(z) StepStarted(a) StepStarted(m)");
}

TEST_F(GoldenPathTest, StepPriorityTakesPrecedenceOverPlanOrder) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, dependsOn: []}
  - {stepId: b, kind: http, priority: 5}
  - {stepId: c, kind: http, priority: -5}
)");
  EXPECT_EQ(Log(run), "RunQueued RunStarted StepStarted(b) StepStarted(a) StepStarted(c)");
}

}  // namespace
}  // namespace everstep
