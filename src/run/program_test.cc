#include "run/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/plan_workbench.h"
#include "testing/relay_program.h"

namespace everstep {
namespace {

using testing::ElementsAre;

// A kind of program that the engine does not know runs by what the port offers. The workbench folds
// and decodes each run again after everything that happens.
class ProgramTest : public PlanWorkbench {
 protected:
  ProgramTest() {
    formats_ = {std::make_shared<RelayFormat>()};
    StartAfresh();
  }
  std::string StartRelay(const std::string& lines) {
    StartRequest request = RequestOf(lines);
    request.format = "relay";
    return Start(request);
  }
  // The token that the call was given.
  std::string TokenOf(const std::string& step) {
    const std::string& inputs = Opened(step).inputs;
    return inputs.substr(inputs.find(':') + 2, 32);
  }
  void Cancel(const std::string& run, const std::string& step) {
    const auto decision = Signal(run, "UPDATE_PARAMS", R"({"params":{"cancel":")" + step + "\"}}");
    EXPECT_EQ(decision.decision, "ACCEPTED") << decision.reason;
  }
  std::vector<std::string> Steps(const std::string& run) {
    std::vector<std::string> ids;
    for (const StepView& step : View(run).steps) ids.push_back(step.step_id);
    return ids;
  }
};

TEST_F(ProgramTest, RunsItsActivitiesAndCompletes) {
  const std::string run = StartRelay("tool http\nsleep 5\ntool shell");
  Finish("line[0]/work");
  AdvanceClock(std::chrono::seconds(5));
  Finish("line[2]/work");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(View(run).result, "\"done\"");
}

TEST_F(ProgramTest, AFurtherVisitIsAnActivityOfItsOwnWithAllItsAttempts) {
  const std::string run = StartRelay("tool http\nagain 3 x 0");
  Finish("line[0]/work");
  Fail("line[0]/work#2", "BUSY");
  EXPECT_EQ(Opened("line[0]/work#2").id.logical_attempt, 2U);
  Finish("line[0]/work#2");
  Fail("line[0]/work#3", "BUSY");
  EXPECT_EQ(Opened("line[0]/work#3").id.logical_attempt, 2U) << "visits use up no attempts";
  Finish("line[0]/work#3");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_THAT(Steps(run), ElementsAre("line[0]/work", "line[0]/work#2", "line[0]/work#3"));
}

TEST_F(ProgramTest, GoesOnAfterARestartWhereItStood) {
  const std::string run = StartRelay("tool http\nagain 2 x 0\ntool shell");
  Finish("line[0]/work");
  Restart();
  EXPECT_EQ(Opened("line[0]/work#2").id.engine_attempt, 2U);
  Finish("line[0]/work#2");
  Finish("line[2]/work");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(ProgramTest, TheFirstRuleThatMatchesAFailureDecides) {
  const std::string run = StartRelay("tool http");
  Fail("line[0]/work", "BUSY");
  EXPECT_TRUE(IsOpen("line[0]/work")) << "the first rule has no delay";
  Fail("line[0]/work", "BROKEN");
  EXPECT_EQ(StatusOf(run), "FAILED") << "two attempts are all there are";

  const std::string other = StartRelay("tool http");
  Fail("line[0]/work", "BROKEN");
  EXPECT_FALSE(IsOpen("line[0]/work")) << "the second rule waits";
  EXPECT_EQ(StatusOf(other), "RUNNING");
  AdvanceClock(std::chrono::seconds(1));
  Finish("line[0]/work");
  EXPECT_EQ(StatusOf(other), "COMPLETED");
}

TEST_F(ProgramTest, ACallThatHandsOverATokenIsAnsweredByItsHook) {
  const std::string run = StartRelay("ask http");
  const std::string token = TokenOf("line[0]/work");
  Finish("line[0]/work", R"({"accepted":true})");
  EXPECT_EQ(StatusOf(run), "RUNNING");
  EXPECT_EQ(Why(run).blockers.at(0).kind, "hook");
  Restart();
  EXPECT_FALSE(IsOpen("line[0]/work")) << "the call has returned and is not repeated";
  EXPECT_EQ(Deliver(token, "7"), run);
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(Deliver(token, "8"), "HOOK_NOT_FOUND");
}

TEST_F(ProgramTest, TheAnswerMayComeBeforeTheCallReturns) {
  const std::string run = StartRelay("ask http\ntool shell");
  EXPECT_EQ(Deliver(TokenOf("line[0]/work"), "7"), run);
  EXPECT_EQ(tools_->cancelled.size(), 1U) << "nobody needs the call any more";
  Finish("line[0]/work");
  Finish("line[1]/work");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(ProgramTest, ATokenThatIsNotAnsweredInTimeFailsTheAttempt) {
  const std::string run = StartRelay("ask http");
  Finish("line[0]/work");
  AdvanceClock(std::chrono::seconds(60));
  EXPECT_EQ(StepOf(run, "line[0]/work").logical_attempt, 1U);
  AdvanceClock(std::chrono::seconds(1));
  EXPECT_EQ(Opened("line[0]/work").id.logical_attempt, 2U);
  Fail("line[0]/work");
  EXPECT_EQ(StatusOf(run), "FAILED");
}

TEST_F(ProgramTest, TheHolderOfTheTokenCanFailTheAttempt) {
  const std::string run = StartRelay("ask http");
  const std::string first = TokenOf("line[0]/work");
  Finish("line[0]/work");
  EXPECT_EQ(FailHook(first, "BUSY"), run);
  EXPECT_EQ(Opened("line[0]/work").id.logical_attempt, 2U) << "the call is made again";
  const std::string second = TokenOf("line[0]/work");
  EXPECT_NE(second, first);
  EXPECT_EQ(FailHook(second, "BROKEN"), run) << "the call has not returned";
  EXPECT_EQ(tools_->cancelled.size(), 1U);
  EXPECT_EQ(View(run).error_code, "BROKEN");
}

TEST_F(ProgramTest, TheHolderOfTheTokenSendsHeartbeatsOnceTheCallHasReturned) {
  const std::string run = StartRelay("ask http 0 10");
  AdvanceClock(std::chrono::seconds(9));
  const std::string token = TokenOf("line[0]/work");
  EXPECT_EQ(Beat(token), run) << "the call has not returned, and is not lost either";
  AdvanceClock(std::chrono::seconds(9));
  EXPECT_EQ(Opened("line[0]/work").id.engine_attempt, 1U);
  Finish("line[0]/work");
  AdvanceClock(std::chrono::seconds(9));
  EXPECT_EQ(Beat(token), run);
  AdvanceClock(std::chrono::seconds(9));
  EXPECT_EQ(StepOf(run, "line[0]/work").logical_attempt, 1U);
  AdvanceClock(std::chrono::seconds(1));
  EXPECT_EQ(StepOf(run, "line[0]/work").status, "FAILED") << "retried after a second";
  AdvanceClock(std::chrono::seconds(1));
  EXPECT_EQ(Opened("line[0]/work").id.logical_attempt, 2U);
}

TEST_F(ProgramTest, GoesOnAfterAFailure) {
  const std::string run = StartRelay("try http\ntool shell");
  Fail("line[0]/work", "BROKEN", false);
  Finish("line[1]/work");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

// ---- cancelling an activity

TEST_F(ProgramTest, CancelsAToolWhichIsAskedThenForcedThenGivenUp) {
  const std::string run = StartRelay("try http\ntool shell");
  Cancel(run, "line[0]/work");
  const TaskId task = tools_->started.at(0).id;
  ASSERT_EQ(tools_->cancelled.size(), 1U);
  EXPECT_EQ(tools_->cancelled[0], std::pair(task, false));
  EXPECT_EQ(Why(run).blockers.at(0).kind, "cancelling");
  AdvanceClock(options_.cancel_grace);
  ASSERT_EQ(tools_->cancelled.size(), 2U);
  EXPECT_EQ(tools_->cancelled[1], std::pair(task, true));
  EXPECT_FALSE(IsOpen("line[1]/work"));
  AdvanceClock(options_.cancel_grace);
  EXPECT_EQ(StepStatus(run, "line[0]/work"), "FAILED");
  Finish("line[1]/work");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(ProgramTest, ACancelledToolMaySucceedOrFailAndIsNotRetried) {
  const std::string first = StartRelay("try http\ntool shell");
  Cancel(first, "line[0]/work");
  Finish("line[0]/work");
  EXPECT_EQ(StepStatus(first, "line[0]/work"), "SUCCESS");
  Finish("line[1]/work");
  const std::string second = StartRelay("try http\ntool shell");
  Cancel(second, "line[0]/work");
  Fail("line[0]/work", "BUSY");
  EXPECT_EQ(StepOf(second, "line[0]/work").logical_attempt, 1U);
  EXPECT_TRUE(IsOpen("line[1]/work"));
}

TEST_F(ProgramTest, ACancelledToolThatIsLostIsNotDeliveredAgain) {
  const std::string run = StartRelay("try http\ntool shell");
  Cancel(run, "line[0]/work");
  tools_->Lose(Opened("line[0]/work").id);
  Step();
  EXPECT_EQ(StepStatus(run, "line[0]/work"), "FAILED");
  EXPECT_TRUE(IsOpen("line[1]/work"));
}

TEST_F(ProgramTest, TheProgramCancelsAgainAfterARestart) {
  const std::string run = StartRelay("try http\ntool shell");
  Cancel(run, "line[0]/work");
  Restart();
  EXPECT_FALSE(IsOpen("line[0]/work")) << "it is not delivered again";
  EXPECT_TRUE(IsOpen("line[1]/work"));
}

TEST_F(ProgramTest, ARunThatWasShedStillForcesWhatItCancelled) {
  options_.memory_bytes_max = 0;
  StartAfresh();
  const std::string run = StartRelay("try http\ntool shell");
  Cancel(run, "line[0]/work");
  AdvanceClock(options_.cancel_grace);
  AdvanceClock(options_.cancel_grace);
  EXPECT_TRUE(tools_->cancelled.back().second);
  EXPECT_EQ(StepStatus(run, "line[0]/work"), "FAILED");
}

TEST_F(ProgramTest, WhatOnlyWaitsIsCancelledAtOnce) {
  const std::string run = StartRelay("wait knock\nsleep 60\nask http\ntool shell");
  Cancel(run, "line[0]/work");
  EXPECT_EQ(View(run).error_code, "CANCELLED") << "a failed line ends a relay";
  EXPECT_EQ(Deliver("knock", "1"), "HOOK_NOT_FOUND");
  const std::string call = StartRelay("ask http");
  const std::string token = TokenOf("line[0]/work");
  Cancel(call, "line[0]/work");
  EXPECT_EQ(tools_->cancelled.back(), std::pair(Opened("line[0]/work").id, true));
  EXPECT_EQ(Deliver(token, "1"), "HOOK_NOT_FOUND");
  EXPECT_EQ(View(call).error_code, "CANCELLED");
}

TEST_F(ProgramTest, WhatIsNotUnderWayIsSkipped) {
  const std::string run = StartRelay("tool http\ntool shell");
  Fail("line[0]/work", "BROKEN");
  EXPECT_EQ(StatusOf(run), "RUNNING") << "it is retried in a second";
  Cancel(run, "line[0]/work");
  EXPECT_EQ(StepStatus(run, "line[0]/work"), "SKIPPED");
  AdvanceClock(std::chrono::seconds(5));
  Finish("line[1]/work");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(ProgramTest, ACancelledChildIsCancelledBeforeTheProgramGoesOn) {
  const std::string run = StartRelay("run relay tool http");
  const std::string child = Opened("line[0]/work").id.run_id.value();
  EXPECT_NE(child, run);
  Cancel(run, "line[0]/work");
  EXPECT_EQ(StatusOf(run), "RUNNING") << "the child is still ending";
  Fail("line[0]/work", "CANCELLED", false);
  EXPECT_EQ(StatusOf(child), "CANCELLED");
  EXPECT_EQ(View(run).error_code, "CHILD_CANCELLED");
}

// ---- children of any format

TEST_F(ProgramTest, AChildMayBeOfAnotherFormat) {
  const std::string run = StartRelay(
      "run plan {\"metadata\":{\"planId\":\"c\",\"planVersion\":\"1\"},"
      "\"steps\":[{\"stepId\":\"a\",\"kind\":\"http\"}]}\n"
      "run relay tool shell;sleep 5");
  Restart();
  Finish("a");
  Finish("line[0]/work");
  EXPECT_EQ(StatusOf(run), "RUNNING");
  AdvanceClock(std::chrono::seconds(5));
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(ProgramTest, AChildOfAFormatThatNobodyReadsIsRefused) {
  StartRequest request = RequestOf("run unheard-of tool http");
  request.format = "relay";
  const auto started = TryStart(request);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ProgramTest, FailsTheRun) {
  const std::string run = StartRelay("tool http\nfail NO_STOCK");
  Finish("line[0]/work");
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_EQ(View(run).error_code, "NO_STOCK");
}

TEST_F(ProgramTest, TakesOrdersOfOperators) {
  const std::string run = StartRelay("tool http\ntool shell");
  (void)Signal(run, "PAUSE");
  Finish("line[0]/work");
  EXPECT_FALSE(IsOpen("line[1]/work"));
  (void)Signal(run, "RESUME");
  (void)Signal(run, "SKIP_STEP", R"({"stepId":"line[1]/work"})");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
  EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, "CANCEL"))), "RUN_TERMINAL");
}

TEST_F(ProgramTest, AFormatThatNobodyReadsIsRefused) {
  StartRequest request = RequestOf("tool http");
  request.format = "unheard-of";
  const auto started = TryStart(request);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace everstep
