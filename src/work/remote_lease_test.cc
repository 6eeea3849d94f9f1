#include <gtest/gtest.h>

#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"
#include "work/remote_workbench.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Surroundings {
  ManualClock manual_clock;
  TemporaryDirectory directory;
};

class RemoteLeaseTest : public testing::Test, protected Surroundings, protected RemoteWorkbench {
 protected:
  RemoteLeaseTest() : RemoteWorkbench(manual_clock, directory.path()) {}

  void AdvanceClock(milliseconds by) {
    manual_clock.Advance(by);
    (void)work_->Tick();
  }
  std::string CodeOf(const Answer& answer) {
    return *answer.given ? "" : std::string(Name(answer.given->error().code));
  }
};

// ---- leases

TEST_F(RemoteLeaseTest, ALeaseEndsWithoutHeartbeatAndItsReportIsRejected) {
  const std::string worker = RegisterFor("train");
  Start({TaskOf("a"), TaskOf("b")});
  const auto held = Poll(worker);
  AdvanceClock(seconds(20));
  PollRequest beat = RequestOf(worker, 0);
  beat.heartbeats = {held->task(0).token};
  EXPECT_TRUE(Poll(beat)->get().stop.empty());
  AdvanceClock(seconds(10));
  ASSERT_EQ(reports_.lost.size(), 1U);
  EXPECT_EQ(reports_.lost[0].step_id, "b");
  EXPECT_EQ(work_->leases_lost(), 1U);
  EXPECT_EQ(Queue("train").held, 1U);
  PollRequest late = RequestOf(worker, 0);
  late.reports.push_back({held->task(1).token, TaskOutcome::Success("1")});
  late.heartbeats = {held->task(1).token};
  const auto answer = Poll(late);
  EXPECT_EQ(answer->get().refused.at(0).error.code, ErrorCode::kStepAttemptStale);
  EXPECT_EQ(answer->get().stop.at(0), held->task(1).token);
  AdvanceClock(seconds(20));
  EXPECT_EQ(reports_.lost.size(), 2U) << "the heartbeat extended it once";
}

TEST_F(RemoteLeaseTest, HeartbeatsReachTheEngineIfTheTaskHasAHeartbeatTimeout) {
  Task task = TaskOf("a");
  task.heartbeat_timeout = Milliseconds(5'000);
  Start({task, TaskOf("b")});
  const std::string worker = RegisterFor("train");
  const auto held = Poll(worker);
  PollRequest beat = RequestOf(worker, 0);
  beat.heartbeats = {held->task(0).token, held->task(1).token};
  Poll(beat);
  ASSERT_EQ(reports_.beats.size(), 1U);
  EXPECT_EQ(reports_.beats[0].step_id, "a");
}

TEST_F(RemoteLeaseTest, AClockThatJumpsBackExtendsNoLease) {
  const std::string worker = RegisterFor("train");
  Start("a");
  Poll(worker);
  AdvanceClock(seconds(20));
  manual_clock.JumpBack(std::chrono::hours(1));
  (void)work_->Tick();
  AdvanceClock(seconds(9));
  EXPECT_TRUE(reports_.lost.empty());
  AdvanceClock(seconds(1));
  EXPECT_EQ(reports_.lost.size(), 1U);
}

TEST_F(RemoteLeaseTest, TickReturnsWhenToCallItAgain) {
  EXPECT_EQ(work_->Tick(), Timestamp{});
  const std::string worker = RegisterFor("train");
  EXPECT_EQ(work_->Tick(), manual_clock.Now() + seconds(90));
  Start("a");
  Poll(worker);
  EXPECT_EQ(work_->Tick(), manual_clock.Now() + seconds(30));
  Poll(worker);
  EXPECT_EQ(work_->Tick(), manual_clock.Now() + seconds(20));
}

TEST_F(RemoteLeaseTest, ASilentWorkerIsForgottenButNotOneWithAWaitingPoll) {
  options_.lease = seconds(1'000);
  Open();
  const std::string silent = RegisterFor("train");
  const std::string patient = RegisterFor("test");
  Start("a");
  Poll(silent);
  AdvanceClock(seconds(40));
  const auto waits = Poll(RequestOf(patient, 1, seconds(60)));
  AdvanceClock(seconds(49));
  EXPECT_EQ(work_->Workers("t1").size(), 2U);
  AdvanceClock(seconds(1));
  EXPECT_EQ(work_->Workers("t1").size(), 1U);
  ASSERT_EQ(reports_.lost.size(), 1U);
  EXPECT_EQ(CodeOf(*Poll(silent)), "WORKER_NOT_FOUND");
  EXPECT_TRUE(waits->waits());
}

TEST_F(RemoteLeaseTest, RemovingAWorkerEndsItsLeasesAtOnce) {
  const std::string worker = RegisterFor("train", 2);
  Start("a");
  Poll(worker);
  const auto waits = Poll(worker);
  EXPECT_TRUE(work_->Remove("t1", worker));
  EXPECT_EQ(reports_.lost.size(), 1U);
  EXPECT_FALSE(waits->waits());
  EXPECT_TRUE(work_->Queues("t1").empty()) << "the queue is forgotten as well";
}

TEST_F(RemoteLeaseTest, GivingTasksBackEndsTheirLeasesAtOnce) {
  const std::string worker = RegisterFor("train");
  const std::string other = RegisterFor("train");
  Start({TaskOf("a"), TaskOf("b")});
  const std::string token = Poll(worker)->task().token;
  EXPECT_TRUE(work_->GiveBack("t1", other, {token}));
  EXPECT_TRUE(reports_.lost.empty()) << "another worker holds it";
  EXPECT_TRUE(work_->GiveBack("t1", worker, {token, "nothing"}));
  ASSERT_EQ(reports_.lost.size(), 1U);
  EXPECT_EQ(reports_.lost[0].step_id, "a");
  EXPECT_FALSE(work_->GiveBack("t2", worker, {token}));
}

TEST_F(RemoteLeaseTest, ADrainingWorkerCanReportButGetsNoTasks) {
  const std::string worker = RegisterFor("train");
  Start("a");
  const std::string token = Poll(worker)->task().token;
  const auto waits = Poll(worker);
  EXPECT_TRUE(work_->Drain("t1", worker));
  EXPECT_FALSE(waits->waits());
  Start("b");
  EXPECT_TRUE(Poll(RequestOf(worker, 10, seconds(0)))->get().tasks.empty());
  Report(worker, token);
  EXPECT_EQ(reports_.finished.size(), 1U);
  EXPECT_TRUE(work_->Workers("t1").at(0).draining);
  EXPECT_EQ(Queue("train").workers, 0U);
}

// ---- limits

TEST_F(RemoteLeaseTest, AQueueLeasesNoMoreThanItsConcurrency) {
  EXPECT_TRUE(work_->SetConcurrency("t1", "train", 1));
  const std::string worker = RegisterFor("train");
  const std::string other = RegisterFor("train");
  Start({TaskOf("a"), TaskOf("b"), TaskOf("c")});
  const auto first = Poll(worker);
  EXPECT_EQ(StepsOf(*first), "a ");
  const auto second = Poll(other);
  EXPECT_TRUE(second->waits());
  Report(worker, first->task().token);
  ASSERT_FALSE(second->waits()) << "the next task is handed out";
  EXPECT_EQ(StepsOf(*second), "b ");
  const auto third = Poll(worker);
  EXPECT_TRUE(third->waits());
  EXPECT_TRUE(work_->SetConcurrency("t1", "train", 0));
  EXPECT_FALSE(third->waits());
  EXPECT_FALSE(work_->SetConcurrency("t1", "", 1));
}

// Not once for each report: a queue may have many kinds.
TEST_F(RemoteLeaseTest, AFullQueueIsServedOnceAfterAllReportsOfAPoll) {
  EXPECT_TRUE(work_->SetConcurrency("t1", "train", 2));
  const std::string worker = RegisterFor("train");
  Start({TaskOf("a"), TaskOf("b"), TaskOf("c"), TaskOf("d")});
  const auto held = Poll(worker);
  const auto waits = Poll(RegisterFor("train"));
  PollRequest reports = RequestOf(worker, 0);
  for (const LentTask& lent : held->get().tasks) {
    reports.reports.push_back({lent.token, TaskOutcome::Success("1")});
  }
  Poll(std::move(reports));
  ASSERT_FALSE(waits->waits());
  EXPECT_EQ(StepsOf(*waits), "c d ");
}

TEST_F(RemoteLeaseTest, AQueueShowsItsWaitingTasksAndTheirAge) {
  const std::string worker = RegisterFor("train");
  Start({TaskOf("a"), TaskOf("b")});
  Poll(worker, 1);
  AdvanceClock(seconds(7));
  const QueueView queue = Queue("train");
  EXPECT_EQ(queue.waiting, 1U);
  EXPECT_EQ(queue.held, 1U);
  EXPECT_EQ(queue.oldest, seconds(7));
  EXPECT_EQ(queue.workers, 1U);
}

// ---- stopping

TEST_F(RemoteLeaseTest, AWaitingTaskIsCancelledAtOnce) {
  Start("a");
  work_->Cancel(TaskOf("a").id, false);
  EXPECT_EQ(reports_.finished.at(0).outcome.error_code, "CANCELLED");
  EXPECT_TRUE(work_->Queues("t1").empty());
  work_->Cancel(TaskOf("a").id, true);
  EXPECT_EQ(reports_.finished.size(), 1U);
}

TEST_F(RemoteLeaseTest, CancellingAHeldTaskAnswersTheWaitingPollOfItsWorker) {
  const std::string worker = RegisterFor("train");
  Start("a");
  const std::string token = Poll(worker)->task().token;
  const auto waits = Poll(worker);
  work_->Cancel(TaskOf("a").id, false);
  ASSERT_FALSE(waits->waits());
  EXPECT_EQ(waits->get().stop, std::vector<std::string>{token});
  EXPECT_TRUE(reports_.finished.empty());
  Report(worker, token, TaskOutcome::Failure("CANCELLED", "", false, "USER"));
  EXPECT_EQ(reports_.finished.size(), 1U) << "the worker can still report";
}

TEST_F(RemoteLeaseTest, AForcedStopEndsTheLease) {
  const std::string worker = RegisterFor("train");
  Start("a");
  const std::string token = Poll(worker)->task().token;
  work_->Cancel(TaskOf("a").id, true);
  EXPECT_EQ(reports_.finished.at(0).outcome.error_code, "CANCELLED");
  PollRequest late = RequestOf(worker, 0);
  late.reports.push_back({token, TaskOutcome::Success("1")});
  const auto answer = Poll(late);
  EXPECT_EQ(answer->get().refused.size(), 1U);
  EXPECT_EQ(answer->get().stop, std::vector<std::string>{token});
}

TEST_F(RemoteLeaseTest, TheDestructorReportsTasksAndAnswersPolls) {
  const std::string worker = RegisterFor("train", 1);
  Start({TaskOf("a"), TaskOf("b")});
  Poll(worker);
  const auto waits = Poll(worker);
  work_.reset();
  EXPECT_FALSE(waits->waits());
  ASSERT_EQ(reports_.finished.size(), 2U);
  EXPECT_EQ(reports_.finished[0].outcome.error_code, "CANCELLED");
}

TEST_F(RemoteLeaseTest, AfterStopLendingNoTaskIsLeased) {
  const std::string worker = RegisterFor("train");
  work_->StopLending();
  Start("a");
  const auto poll = Poll(worker);
  ASSERT_TRUE(poll->given && *poll->given) << "polls must not wait";
  EXPECT_TRUE((*poll->given)->tasks.empty());
  EXPECT_EQ(work_->waiting(), 1U);
}

// ---- why

TEST_F(RemoteLeaseTest, WhyWaitingExplainsWhatATaskWaitsFor) {
  Start("a");
  const TaskId id = TaskOf("a").id;
  EXPECT_EQ(work_->WhyWaiting(id), "waits for a worker that can do 'train'; none is connected");
  const std::string worker = RegisterFor("train");
  EXPECT_EQ(work_->WhyWaiting(id), "waits for a worker that can do 'train'; 1 connected");
  const std::string leaving = RegisterFor("train");
  EXPECT_TRUE(work_->Drain("t1", leaving));
  EXPECT_TRUE(work_->Drain("t1", leaving));
  EXPECT_EQ(work_->WhyWaiting(id), "waits for a worker that can do 'train'; 1 connected");
  EXPECT_TRUE(work_->Remove("t1", leaving));
  EXPECT_EQ(work_->WhyWaiting(id), "waits for a worker that can do 'train'; 1 connected");
  Poll(worker);
  EXPECT_EQ(work_->WhyWaiting(id), "");
}

}  // namespace
}  // namespace everstep
