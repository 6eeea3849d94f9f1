#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "testing/temporary_directory.h"
#include "work/server_engine.h"

namespace everstep {
namespace {

constexpr std::chrono::seconds kLongEnough{60};

class ServerEngineThreaded : public testing::Test {
 protected:
  ServerEngineThreaded() {
    EngineOptions options;
    options.lanes = 3;
    options.tools.artifact_directory = directory_ / "artifacts";
    options.tools.enabled = {"noop", "echo"};
    auto opened = OpenServerEngine(std::move(options), {});
    EVERSTEP_ASSERT(opened);
    server_ = std::move(*opened);
  }
  ~ServerEngineThreaded() override {
    stop_ = true;
    for (std::thread& worker : workers_) worker.join();
    server_.engine.reset();
  }

  std::string Start(const std::string& plan) {
    StartRequest start;
    start.plan = plan;
    const auto started = server_.engine->Start(start);
    EXPECT_TRUE(started) << ToString(started.error());
    return started ? started->run_id : std::string();
  }
  std::string StatusAtEnd(const std::string& run) {
    const auto ended = server_.engine->WaitForEnd(run, kLongEnough);
    return ended && *ended ? server_.engine->View(run)->status : "it has not ended";
  }
  std::string Register(std::uint32_t slots) {
    auto id = server_.work->Register({"default", "w", {"train"}, {}, slots});
    EVERSTEP_ASSERT(id);
    return *id;
  }
  Result<PollAnswer> Poll(PollRequest request) {
    auto promise = std::make_shared<std::promise<Result<PollAnswer>>>();
    auto answer = promise->get_future();
    server_.work->Poll(std::move(request), [promise](Result<PollAnswer> given) {
      promise->set_value(std::move(given));
    });
    return answer.get();
  }
  static PollRequest RequestOf(const std::string& worker, std::uint32_t tasks_max) {
    PollRequest request;
    request.tenant_id = "default";
    request.worker_id = worker;
    request.tasks_max = tasks_max;
    request.wait = std::chrono::milliseconds(50);
    return request;
  }
  // A worker that completes its tasks and reports them in the next poll.
  void AddWorker(std::uint32_t tasks_max) {
    workers_.emplace_back([this, tasks_max] {
      const std::string worker = Register(tasks_max);
      std::vector<WorkReport> reports;
      while (!stop_ || !reports.empty()) {
        PollRequest request = RequestOf(worker, stop_ ? 0 : tasks_max);
        request.reports = std::move(reports);
        reports.clear();
        const auto answer = Poll(std::move(request));
        ASSERT_TRUE(answer);
        EXPECT_TRUE(answer->refused.empty());
        for (const LentTask& lent : answer->tasks) {
          const std::lock_guard lock(mutex_);
          ++done_[lent.task.id];
          reports.push_back({lent.token, TaskOutcome::Success("1")});
        }
      }
    });
  }

  static constexpr const char* kPlan = R"(
metadata: {planId: p, planVersion: "1"}
steps:
  - {stepId: a, kind: train, timeout: 60s}
  - {stepId: b, kind: train, dependsOn: [a]}
  - {stepId: c, kind: echo, dependsOn: [b]}
  - {stepId: each, kind: train, dependsOn: [c], foreach: {items: "{{ [1, 2, 3, 4] }}"}}
)";

  TemporaryDirectory directory_;
  ServerEngine server_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::map<TaskId, int> done_;
  std::vector<std::thread> workers_;
};

TEST_F(ServerEngineThreaded, WorkersExecuteEachStepOfManyRunsOnce) {
  std::vector<std::string> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(Start(kPlan));
  for (const std::uint32_t tasks_max : {1U, 3U, 50U}) AddWorker(tasks_max);
  for (int i = 0; i < 40; ++i) runs.push_back(Start(kPlan));
  for (const std::string& run : runs) EXPECT_EQ(StatusAtEnd(run), "COMPLETED");
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(done_.size(), runs.size() * 6);
  for (const auto& [task, times] : done_) EXPECT_EQ(times, 1);
}

TEST_F(ServerEngineThreaded, TheTasksOfALostWorkerGoToAnother) {
  const std::string run = Start(kPlan);
  const std::string why = server_.engine->Why(run)->blockers.at(0).message;
  EXPECT_EQ(why, "step a waits for a worker that can do 'train'; none is connected");
  const std::string gone = Register(1);
  PollRequest request = RequestOf(gone, 1);
  request.wait = kLongEnough;
  const auto answer = Poll(std::move(request));
  ASSERT_EQ(answer->tasks.size(), 1U);
  EXPECT_TRUE(server_.work->Remove("default", gone));
  AddWorker(5);
  EXPECT_EQ(StatusAtEnd(run), "COMPLETED");
  EXPECT_EQ(server_.engine->Metrics().steps_redelivered, 1U);
  EXPECT_EQ(server_.work->leases_lost(), 1U);
}

TEST_F(ServerEngineThreaded, ACancelledRunTakesItsTasksBack) {
  const std::string run = Start(kPlan);
  SignalRequest cancel;
  cancel.run_id = run;
  cancel.actor = {"tester", {"Operator"}, {}};
  cancel.type = "CANCEL";
  cancel.reason = "a test";
  ASSERT_TRUE(server_.engine->Signal(cancel));
  EXPECT_EQ(StatusAtEnd(run), "CANCELLED");
  EXPECT_EQ(server_.work->waiting(), 0U);
}

TEST_F(ServerEngineThreaded, PollsAreAnsweredWhenTheirTimeIsOverAndWhenTheEngineStops) {
  const std::string worker = Register(1);
  EXPECT_TRUE(Poll(RequestOf(worker, 1))->tasks.empty());
  const auto answered = std::make_shared<std::promise<void>>();
  PollRequest request = RequestOf(worker, 1);
  request.wait = kLongEnough;
  server_.work->Poll(std::move(request),
                     [answered](const Result<PollAnswer>&) { answered->set_value(); });
  server_.engine.reset();
  answered->get_future().get();
}

TEST_F(ServerEngineThreaded, ADrainDoesNotWaitForTasksThatNoWorkerHasTaken) {
  Start(kPlan);
  EXPECT_TRUE(server_.engine->Drain(kLongEnough));
}

TEST_F(ServerEngineThreaded, ADisabledToolIsNotAKindForWorkers) {
  StartRequest start;
  start.plan =
      "metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kind: shell, inputs: {command: "
      "ls}}]\n";
  const auto started = server_.engine->Start(start);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kCapabilityNotSupported);
}

}  // namespace
}  // namespace everstep
