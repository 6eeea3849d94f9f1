#include "work/remote_work.h"

#include <gtest/gtest.h>

#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"
#include "work/artifact_store.h"
#include "work/remote_workbench.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Surroundings {
  ManualClock manual_clock;
  TemporaryDirectory directory;
};

class RemoteWorkTest : public testing::Test, protected Surroundings, protected RemoteWorkbench {
 protected:
  RemoteWorkTest() : RemoteWorkbench(manual_clock, directory.path()) {}

  void AdvanceClock(milliseconds by) {
    manual_clock.Advance(by);
    (void)work_->Tick();
  }
  std::string CodeOf(const Answer& answer) {
    return *answer.given ? "" : std::string(Name(answer.given->error().code));
  }
};

// ---- registration

TEST_F(RemoteWorkTest, RegistrationReportsAllInvalidFields) {
  const auto faults_of = [this](WorkerSpec spec) {
    const auto registered = work_->Register(std::move(spec));
    std::string pointers;
    if (registered) return pointers;
    EXPECT_EQ(registered.error().code, ErrorCode::kInvalidArgument);
    for (const Fault& fault : registered.error().faults) pointers += fault.pointer + " ";
    return pointers;
  };
  EXPECT_EQ(faults_of({"t1", "w", {"train"}, {}, 1}), "");
  EXPECT_EQ(faults_of({"t1", "w", {}, {}, 0}), "/kinds /slots ");
  EXPECT_EQ(faults_of({"t1", "w", {"echo", "a b", "shell"}, {""}, 1}),
            "/kinds/0 /kinds/1 /kinds/2 /queues/0 ");
  EXPECT_EQ(faults_of({"t1", "w", {"train"}, std::vector<std::string>(1001, "q"), 1}), "/kinds ");
}

TEST_F(RemoteWorkTest, WorkersAreBounded) {
  options_.workers_max = 1;
  Open();
  RegisterFor("train");
  EXPECT_EQ(work_->Register({"t1", "w", {"train"}, {}, 1}).error().code,
            ErrorCode::kAdmissionRejected);
}

TEST_F(RemoteWorkTest, ATenantTakesItsShareOfTheWorkers) {
  options_.workers_max = 10;
  Open();
  const auto fill = [this](const char* tenant) {
    int count = 0;
    while (work_->Register({tenant, "w", {"train"}, {}, 1})) ++count;
    return count;
  };
  EXPECT_EQ(fill("t1"), 5);
  EXPECT_EQ(fill("t2"), 4);
  EXPECT_EQ(fill("t3"), 0);
  EXPECT_TRUE(work_->Register({"t3", "w", {"train"}, {}, 1, true})) << "the operator has a reserve";
  EXPECT_FALSE(work_->Register({"t3", "w", {"train"}, {}, 1, true}));
}

// However many workers a tenant may have, lists of their kinds stay short.
TEST_F(RemoteWorkTest, ATenantTakesItsShareOfTheKindsInQueuesThatAreServed) {
  options_.workers_max = 10'000;
  Open();
  const auto fill = [this](const char* tenant) {
    std::uint64_t places = 0;
    while (work_->Register({tenant, "w", {"train"}, std::vector<std::string>(1'000, "q"), 1})) {
      places += 1'000;
    }
    return places;
  };
  EXPECT_EQ(fill("t1"), 50'000U);
  EXPECT_EQ(fill("t2"), 40'000U);
  const auto refused = work_->Register({"t1", "w", {"train"}, {}, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAdmissionRejected);
  for (const WorkerView& worker : work_->Workers("t1")) {
    EXPECT_TRUE(work_->Remove("t1", worker.worker_id));
  }
  EXPECT_EQ(fill("t3"), 50'000U) << "what is given up can be used again";
}

TEST_F(RemoteWorkTest, TheTotalsAreThoseOfAllTenants) {
  Task other = TaskOf("x");
  other.id.run_id = RunId("run-2");
  other.scope.tenant_id = "t2";
  Start({TaskOf("a"), TaskOf("b"), other});
  Poll(RegisterFor("train"), 1);
  manual_clock.Advance(std::chrono::seconds(3));
  const QueueView totals = work_->Totals();
  EXPECT_EQ(totals.waiting, 2U);
  EXPECT_EQ(totals.held, 1U);
  EXPECT_EQ(totals.oldest, std::chrono::seconds(3));
  EXPECT_EQ(totals.workers, 1U);
}

TEST_F(RemoteWorkTest, AWorkerOfAnotherTenantIsNotFound) {
  const std::string worker = RegisterFor("train");
  PollRequest request = RequestOf(worker);
  request.tenant_id = "t2";
  EXPECT_EQ(CodeOf(*Poll(request)), "WORKER_NOT_FOUND");
  EXPECT_FALSE(work_->Drain("t2", worker));
  EXPECT_FALSE(work_->Remove("t2", worker));
  EXPECT_TRUE(work_->Workers("t2").empty());
  EXPECT_EQ(work_->Workers("t1").size(), 1U);
}

// ---- tasks

TEST_F(RemoteWorkTest, LocalKindsRunHereAndOthersWaitForAWorker) {
  EXPECT_TRUE(work_->Has("echo"));
  EXPECT_TRUE(work_->Has("train"));
  EXPECT_FALSE(work_->Has("shell")) << "a disabled built-in tool";
  EXPECT_FALSE(work_->Has("not a name"));
  EXPECT_TRUE(work_->WaitsForWorker("train"));
  EXPECT_FALSE(work_->WaitsForWorker("echo"));
  Start({TaskOf("here", "echo"), TaskOf("there")});
  ASSERT_EQ(reports_.finished.size(), 1U);
  EXPECT_EQ(reports_.finished[0].outcome.result, "\"local\"");
  EXPECT_EQ(Queue("train").waiting, 1U);
}

TEST_F(RemoteWorkTest, APollGetsWaitingTasksUpToItsSlots) {
  const std::string worker = RegisterFor("train", 3);
  Start({TaskOf("a"), TaskOf("b"), TaskOf("c"), TaskOf("d")});
  EXPECT_EQ(StepsOf(*Poll(worker, 2)), "a b ");
  EXPECT_EQ(StepsOf(*Poll(worker)), "c ");
  const auto full = Poll(worker);
  EXPECT_TRUE(full->waits()) << "all slots are taken";
  EXPECT_EQ(Queue("train").waiting, 1U);
  EXPECT_EQ(Queue("train").held, 3U);
}

TEST_F(RemoteWorkTest, AnAnswerHasABoundedAmountOfInputs) {
  std::vector<Task> tasks;
  for (const char* step : {"a", "b", "c", "d"}) {
    tasks.push_back(TaskOf(step));
    tasks.back().inputs = R"({"text":")" + std::string(1'900'000, 'x') + "\"}";
  }
  tasks[2].inputs = R"({"text":")" + std::string(9'000'000, 'x') + "\"}";
  Start(std::move(tasks));
  const std::string worker = RegisterFor("train");
  EXPECT_EQ(StepsOf(*Poll(worker)), "a b ");
  EXPECT_EQ(StepsOf(*Poll(worker)), "c ") << "one is always given";
  EXPECT_EQ(StepsOf(*Poll(worker)), "d ");
}

TEST_F(RemoteWorkTest, AWaitingPollGetsAllTasksThatAreStartedTogether) {
  const auto poll = Poll(RegisterFor("train"));
  EXPECT_TRUE(poll->waits());
  Start({TaskOf("a"), TaskOf("b"), TaskOf("c")});
  ASSERT_FALSE(poll->waits());
  EXPECT_EQ(StepsOf(*poll), "a b c ");
  EXPECT_EQ(poll->task().task.inputs, R"({"n":1})");
  EXPECT_EQ(poll->get().lease, seconds(30));
}

TEST_F(RemoteWorkTest, APollWithoutTasksIsAnsweredAtItsDeadline) {
  const auto poll = Poll(RegisterFor("train"));
  AdvanceClock(seconds(19));
  EXPECT_TRUE(poll->waits());
  AdvanceClock(seconds(1));
  ASSERT_FALSE(poll->waits());
  EXPECT_TRUE(poll->get().tasks.empty());
  Start("a");
  EXPECT_EQ(Queue("train").waiting, 1U) << "no poll is waiting any more";
}

TEST_F(RemoteWorkTest, APollWithoutAWaitIsAnsweredAtOnce) {
  EXPECT_FALSE(Poll(RequestOf(RegisterFor("train"), 10, seconds(0)))->waits());
}

TEST_F(RemoteWorkTest, PriorityGoesBeforeArrivalAcrossKinds) {
  const std::string worker = Register({"t1", "w", {"train", "test"}, {"q"}, 10});
  std::vector<Task> tasks = {TaskOf("a"), TaskOf("b", "test"), TaskOf("c"), TaskOf("d", "test")};
  for (Task& task : tasks) task.queue = "q";
  tasks[3].priority = 5;
  Start(std::move(tasks));
  EXPECT_EQ(StepsOf(*Poll(worker)), "d a b c ");
}

TEST_F(RemoteWorkTest, AWorkerServesItsQueuesAndKindsAndTenantOnly) {
  Task queue = TaskOf("queue");
  queue.queue = "gpu";
  Task tenant = TaskOf("tenant");
  tenant.scope.tenant_id = "t2";
  Start({queue, tenant, TaskOf("kind", "test"), TaskOf("own")});
  EXPECT_EQ(StepsOf(*Poll(RegisterFor("train"))), "own ");
  EXPECT_EQ(StepsOf(*Poll(Register({"t1", "w", {"train"}, {"gpu"}, 9}))), "queue ");
}

TEST_F(RemoteWorkTest, TokensAreLongAndDiffer) {
  const std::string worker = RegisterFor("train");
  Start({TaskOf("a"), TaskOf("b")});
  const auto poll = Poll(worker);
  EXPECT_EQ(poll->task(0).token.size(), 32U);
  EXPECT_NE(poll->task(0).token, poll->task(1).token);
}

TEST_F(RemoteWorkTest, TheEngineIsNotifiedWhenATaskWithATimeoutIsTaken) {
  Task timed = TaskOf("timed");
  timed.timeout = Milliseconds(1'000);
  Start({timed, TaskOf("plain")});
  EXPECT_TRUE(reports_.taken.empty());
  Poll(RegisterFor("train"));
  ASSERT_EQ(reports_.taken.size(), 1U);
  EXPECT_EQ(reports_.taken[0].step_id, "timed");
}

// ---- reports

TEST_F(RemoteWorkTest, AReportIsAnsweredOnceDurableWithTheTaskThatFollows) {
  const std::string worker = RegisterFor("train");
  Start("a");
  const auto first = Poll(worker);
  const auto poll = Report(worker, first->task().token);
  ASSERT_EQ(reports_.finished.size(), 1U);
  EXPECT_EQ(reports_.finished[0].outcome.result, "1");
  EXPECT_TRUE(poll->waits());
  work_->Start(TaskOf("b"), reports_);  // by the commit that records the report
  Commit();
  ASSERT_FALSE(poll->waits());
  EXPECT_EQ(StepsOf(*poll), "b ");
  EXPECT_TRUE(poll->get().refused.empty());
}

TEST_F(RemoteWorkTest, APollWithAReportWaitsForOtherTasksIfNoneFollows) {
  const std::string worker = RegisterFor("train");
  Start("a");
  const auto poll = Report(worker, Poll(worker)->task().token);
  Commit();
  EXPECT_TRUE(poll->waits());
  Start("other");
  EXPECT_EQ(StepsOf(*poll), "other ");
}

TEST_F(RemoteWorkTest, APollThatOnlyReportsIsAnsweredWhenAllReportsAreDurable) {
  const std::string worker = RegisterFor("train");
  Start({TaskOf("a"), TaskOf("b")});
  const auto held = Poll(worker);
  PollRequest request = RequestOf(worker, 0);
  request.reports.push_back({held->task(0).token, TaskOutcome::Success("1")});
  request.reports.push_back({held->task(1).token, TaskOutcome::Success("2")});
  const auto poll = Poll(std::move(request));
  reports_.finished[0].answer(Ok());
  work_->Flush();
  EXPECT_TRUE(poll->waits());
  reports_.finished[1].answer(Ok());
  work_->Flush();
  EXPECT_FALSE(poll->waits());
}

TEST_F(RemoteWorkTest, AReportThatTheEngineRejectsIsListedAsRefused) {
  const std::string worker = RegisterFor("train");
  Start("a");
  const std::string token = Poll(worker)->task().token;
  PollRequest request = RequestOf(worker, 0);
  request.reports.push_back({token, TaskOutcome::Success("1")});
  const auto poll = Poll(std::move(request));
  Commit(Error{ErrorCode::kStepAttemptStale, "late", {}});
  ASSERT_EQ(poll->get().refused.size(), 1U);
  EXPECT_EQ(poll->get().refused[0].token, token);
  EXPECT_EQ(poll->get().refused[0].error.code, ErrorCode::kStepAttemptStale);
}

TEST_F(RemoteWorkTest, AReportOnATaskThatIsNotHeldIsRejected) {
  const std::string worker = RegisterFor("train");
  const std::string other = RegisterFor("train");
  Start("a");
  const std::string token = Poll(worker)->task().token;
  PollRequest stolen = RequestOf(other, 0);
  stolen.reports.push_back({token, TaskOutcome::Success("1")});
  EXPECT_EQ(Poll(std::move(stolen))->get().refused.size(), 1U);
  EXPECT_TRUE(reports_.finished.empty());
  Report(worker, token);
  PollRequest again = RequestOf(worker, 0);
  again.reports.push_back({token, TaskOutcome::Success("1")});
  EXPECT_EQ(Poll(std::move(again))->get().refused.size(), 1U);
  EXPECT_EQ(reports_.finished.size(), 1U);
}

TEST_F(RemoteWorkTest, FreedSlotsServeOtherPollsOfTheWorker) {
  const std::string worker = RegisterFor("train", 1);
  Start({TaskOf("a"), TaskOf("b")});
  const std::string token = Poll(worker)->task().token;
  const auto waiting = Poll(worker);
  EXPECT_TRUE(waiting->waits());
  PollRequest request = RequestOf(worker, 0);
  request.reports.push_back({token, TaskOutcome::Success("1")});
  Poll(std::move(request));
  ASSERT_FALSE(waiting->waits());
  EXPECT_EQ(StepsOf(*waiting), "b ");
}

TEST_F(RemoteWorkTest, InvalidErrorCodesAndCategoriesAreReplaced) {
  const std::string worker = RegisterFor("train");
  Start("a");
  Report(worker, Poll(worker)->task().token, TaskOutcome::Failure("not a code!", "", true, "ODD"));
  EXPECT_EQ(reports_.finished.at(0).outcome.error_code, "WORKER_FAILED");
  EXPECT_EQ(reports_.finished.at(0).outcome.category, "SYSTEM");
  EXPECT_TRUE(reports_.finished.at(0).outcome.retryable);
}

TEST_F(RemoteWorkTest, ALargeResultIsMovedToTheArtifactStore) {
  const std::string worker = RegisterFor("train");
  Start("a");
  const std::string large = "\"" + std::string(70'000, 'x') + "\"";
  Report(worker, Poll(worker)->task().token, TaskOutcome::Success(large));
  const TaskOutcome& outcome = reports_.finished.at(0).outcome;
  EXPECT_LT(outcome.result.size(), 1'000U);
  EXPECT_NE(outcome.artifacts.find("artifact:sha256:"), std::string::npos);
  const std::size_t at = outcome.artifacts.find("artifact:sha256:");
  const auto read = ArtifactStore(options_.artifact_directory)
                        .Read(outcome.artifacts.substr(at, outcome.artifacts.find('"', at) - at));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, large);
}

TEST_F(RemoteWorkTest, ATooLargeBatchIsRejected) {
  PollRequest request = RequestOf(RegisterFor("train"));
  request.heartbeats.resize(options_.batch_max + 1);
  EXPECT_EQ(CodeOf(*Poll(std::move(request))), "INVALID_ARGUMENT");
}

// ---- secrets

TEST_F(RemoteWorkTest, SecretsAreInsertedIntoInputsAndMaskedInReports) {
  Task task = TaskOf("a");
  task.secrets = {{"password", "env", "PASSWORD", ""}};
  task.secret_prefix = "$secret-0:";
  task.inputs = R"({"login":"me:$secret-0:password;"})";
  Start({task});
  const std::string worker = RegisterFor("train");
  const auto poll = Poll(worker);
  EXPECT_EQ(poll->task().task.inputs, R"({"login":"me:hunter22"})");
  TaskOutcome outcome = TaskOutcome::Failure("DENIED", "hunter22 is wrong", false);
  outcome.details = R"({"hunter22":["hunter22"]})";
  outcome.result = R"("hunter22")";
  Report(worker, poll->task().token, outcome);
  const TaskOutcome& recorded = reports_.finished.at(0).outcome;
  EXPECT_EQ(recorded.error_message, "*** is wrong");
  EXPECT_EQ(recorded.details, R"({"***":["***"]})");
  EXPECT_EQ(recorded.result, R"("***")");
}

// Neither a thread that reads requests nor a lane prepares them.
TEST_F(RemoteWorkTest, LargeInputsAndSecretsArePreparedElsewhere) {
  const std::string worker = RegisterFor("train");
  std::vector<std::function<void()>> elsewhere;
  const auto poll = [&] {
    PollRequest request = RequestOf(worker);
    request.elsewhere = [&](std::function<void()> work) { elsewhere.push_back(std::move(work)); };
    return Poll(std::move(request));
  };
  const auto waits = poll();
  Start("small");
  EXPECT_FALSE(waits->waits());
  EXPECT_TRUE(elsewhere.empty());
  Task large = TaskOf("large");
  large.inputs = R"({"text":")" + std::string(100'000, 'x') + "\"}";
  const auto by_lane = poll();
  Start({large});
  EXPECT_TRUE(by_lane->waits());
  Task secret = TaskOf("secret");
  secret.secrets = {{"password", "env", "PASSWORD", ""}};
  secret.secret_prefix = "$secret-0:";
  secret.inputs = R"({"login":"$secret-0:password;"})";
  Start({secret});
  const auto at_once = poll();
  EXPECT_TRUE(at_once->waits());
  ASSERT_EQ(elsewhere.size(), 2U);
  for (const auto& work : elsewhere) work();
  EXPECT_EQ(StepsOf(*by_lane), "large ");
  EXPECT_EQ(at_once->task().task.inputs, R"({"login":"hunter22"})");
}

TEST_F(RemoteWorkTest, ATaskWhoseSecretIsMissingFailsAndIsNotLeased) {
  Task task = TaskOf("a");
  task.secrets = {{"password", "env", "NOWHERE", ""}};
  Start({task, TaskOf("b")});
  EXPECT_EQ(StepsOf(*Poll(RegisterFor("train"))), "b ");
  EXPECT_EQ(reports_.finished.at(0).outcome.error_code, "SECRET_UNAVAILABLE");
  EXPECT_EQ(Queue("train").held, 1U);
}

}  // namespace
}  // namespace everstep
