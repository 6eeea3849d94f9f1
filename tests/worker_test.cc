#include "everstep/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "client/api_client.h"
#include "serve/server.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr std::string_view kOneStep = R"({"metadata":{"planId":"one","planVersion":"1"},
"steps":[{"stepId":"a","kind":"far.work","inputs":{"n":7}}]})";
constexpr std::string_view kTwoBeside = R"({"metadata":{"planId":"two","planVersion":"1"},
"steps":[{"stepId":"a","kind":"far.work","dependsOn":[]},
{"stepId":"b","kind":"far.work","dependsOn":[]}]})";

// A gate that is opened once; waits for it are bounded.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool Wait(milliseconds wait = 10s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, wait, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class WorkerTest : public testing::Test {
 protected:
  ~WorkerTest() override { StopWorker(); }

  void Serve(ServerOptions options = {}) {
    options.engine.log.directory = directory_ / "store";
    options.engine.log.create_if_missing = true;
    options.data_directory = directory_.path();
    options.work.artifact_directory = directory_ / "artifacts";
    options.http.listen = {address_.empty() ? "127.0.0.1:0" : address_};
    options.authentication = authentication_;
    auto server = Server::Start(std::move(options));
    ASSERT_TRUE(server) << ToString(server.error());
    server_ = std::move(*server);
    address_ = server_->addresses().front();
  }
  WorkerOptions Options() const {
    WorkerOptions options;
    options.server.url = "http://" + address_;
    options.name = "test";
    options.slots = 4;
    options.backoff_max = 50ms;
    return options;
  }
  void Work(Worker::Handler handler) {
    worker_ = std::make_unique<Worker>(Options());
    worker_->Handle("far.work", std::move(handler));
    thread_ = std::thread([this] { ended_ = worker_->Run(); });
  }
  void StopWorker() {
    if (!thread_.joinable()) return;
    worker_->Stop();
    thread_.join();
  }
  std::string StartRun(std::string_view plan) {
    StartRequest request;
    request.plan = plan;
    const auto started = server_->engine().Start(request);
    EXPECT_TRUE(started) << (started ? "" : ToString(started.error()));
    return started ? started->run_id : "";
  }
  RunView AtEnd(const std::string& run_id) {
    const auto ended = server_->engine().WaitForEnd(run_id, 10s);
    EXPECT_TRUE(ended && *ended) << "the run does not end";
    auto view = server_->engine().View(run_id);
    EXPECT_TRUE(view);
    return view ? *view : RunView{};
  }

  TemporaryDirectory directory_;
  bool authentication_ = false;
  std::string address_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Worker> worker_;
  std::thread thread_;
  Status ended_ = Ok();
};

TEST_F(WorkerTest, ExecutesTheTasksOfAServer) {
  Serve();
  TaskCall seen;
  Work([&](const TaskCall& call) {
    seen = call;
    return TaskResult::Success(R"({"sum":8})");
  });
  const std::string run_id = StartRun(kOneStep);
  EXPECT_EQ(AtEnd(run_id).status, "COMPLETED");
  EXPECT_EQ(seen.run_id, run_id);
  EXPECT_EQ(seen.step_id, "a");
  EXPECT_EQ(seen.inputs, R"({"n":7})");
  EXPECT_FALSE(seen.cancelled());
  StopWorker();
  EXPECT_TRUE(ended_);
}

TEST_F(WorkerTest, AResultIsReportedWithoutWaitingForPollsOrOtherTasks) {
  Serve();
  Gate b_reported;
  Work([&](const TaskCall& call) {
    EXPECT_TRUE(call.step_id != "a" || b_reported.Wait());
    return TaskResult::Success();
  });
  const std::string run_id = StartRun(kTwoBeside);
  // Step b ends while a is running, and no other request is made meanwhile.
  const auto deadline = SteadyNow() + 10s;
  bool done = false;
  while (!done && SteadyNow() < deadline) {
    const auto view = server_->engine().View(run_id);
    done = view && view->steps[1].status == "SUCCESS";
    if (!done) (void)server_->engine().WaitForEnd(run_id, 5ms);
  }
  EXPECT_TRUE(done);
  b_reported.Open();
  EXPECT_EQ(AtEnd(run_id).status, "COMPLETED");
}

TEST_F(WorkerTest, LeasesAreKeptWhileAHandlerRuns) {
  ServerOptions options;
  options.work.lease = 150ms;
  Serve(std::move(options));
  Gate never;
  std::atomic<int> calls = 0;
  Work([&](const TaskCall& call) {
    ++calls;
    EXPECT_EQ(call.engine_attempt, 1U);
    EXPECT_FALSE(never.Wait(600ms));
    return TaskResult::Success();
  });
  EXPECT_EQ(AtEnd(StartRun(kOneStep)).status, "COMPLETED");
  EXPECT_EQ(calls, 1);
}

TEST_F(WorkerTest, AHandlerSeesThatItsStepWasCancelled) {
  ServerOptions options;
  options.engine.cancel_grace = 0ms;
  options.work.lease = 300ms;  // a busy worker notices within a third of the lease
  Serve(std::move(options));
  Gate begun;
  Gate never;
  std::atomic<bool> cancelled = false;
  Work([&](const TaskCall& call) {
    begun.Open();
    for (int i = 0; i < 1'000 && !call.cancelled(); ++i) (void)never.Wait(10ms);
    cancelled = call.cancelled();
    return TaskResult::Success();
  });
  const std::string run_id = StartRun(kOneStep);
  ASSERT_TRUE(begun.Wait());
  SignalRequest signal;
  signal.run_id = run_id;
  signal.type = "CANCEL";
  signal.actor = {"tester", {"Admin"}, ""};
  ASSERT_TRUE(server_->engine().Signal(signal));
  EXPECT_EQ(AtEnd(run_id).status, "CANCELLED");
  StopWorker();
  EXPECT_TRUE(cancelled);
}

TEST_F(WorkerTest, FailuresExceptionsAndResultsThatAreNotJsonFailTheStep) {
  Serve();
  std::atomic<int> calls = 0;
  Work([&](const TaskCall&) -> TaskResult {
    switch (calls++) {
      case 0:
        return TaskResult::Failed("CARD_DECLINED", "no money");
      case 1:
        throw std::runtime_error("out of luck");
      case 2:
        return TaskResult::Success(R"(1,"token":"other")");
      default:
        return TaskResult::Failed("BAD", "\xff");
    }
  });
  const char* codes[] = {"CARD_DECLINED", "WORKER_EXCEPTION", "WORKER_RESULT_INVALID",
                         "WORKER_RESULT_INVALID"};
  for (const char* code : codes) {
    const RunView view = AtEnd(StartRun(kOneStep));
    EXPECT_EQ(view.status, "FAILED");
    EXPECT_EQ(view.steps[0].error_code, code);
  }
}

TEST_F(WorkerTest, StopsOnlyAfterReportingItsTasks) {
  Serve();
  Gate begun;
  Gate may_end;
  Work([&](const TaskCall&) {
    begun.Open();
    EXPECT_TRUE(may_end.Wait());
    return TaskResult::Success();
  });
  const std::string run_id = StartRun(kOneStep);
  ASSERT_TRUE(begun.Wait());
  worker_->Stop();
  may_end.Open();
  thread_.join();
  EXPECT_TRUE(ended_);
  EXPECT_EQ(AtEnd(run_id).status, "COMPLETED");
}

TEST_F(WorkerTest, RegistersAgainIfTheServerDoesNotKnowIt) {
  Serve();
  Work([](const TaskCall&) { return TaskResult::Success(); });
  EXPECT_EQ(AtEnd(StartRun(kOneStep)).status, "COMPLETED");
  ApiClient api(Options().server);
  const auto workers = api.Send({.path = "/v1/workers"});
  ASSERT_TRUE(workers);
  const auto list = ValueFromJson(*workers)->Get("workers");
  ASSERT_EQ(list.list().size(), 1U);
  const std::string id = ToText(list.list().front().Get("workerId"));
  ASSERT_TRUE(api.Send({.method = "DELETE", .path = "/v1/workers/" + id}));
  EXPECT_EQ(AtEnd(StartRun(kOneStep)).status, "COMPLETED");
}

TEST_F(WorkerTest, ContinuesWhenTheServerIsBack) {
  Serve();
  Work([](const TaskCall&) { return TaskResult::Success(); });
  EXPECT_EQ(AtEnd(StartRun(kOneStep)).status, "COMPLETED");
  server_.reset();
  Serve();
  EXPECT_EQ(AtEnd(StartRun(kOneStep)).status, "COMPLETED");
}

TEST_F(WorkerTest, GivesUpIfItsTokenIsRefused) {
  authentication_ = true;
  Serve();
  Worker worker(Options());
  worker.Handle("far.work", [](const TaskCall&) { return TaskResult::Success(); });
  const Status ended = worker.Run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kUnauthenticated);
}

TEST_F(WorkerTest, ManyRunsOnOneThreadAreAllDone) {
  Serve();
  std::atomic<int> calls = 0;
  WorkerOptions options = Options();
  options.slots = 64;
  options.threads = 1;
  worker_ = std::make_unique<Worker>(options);
  worker_->Handle("far.work", [&](const TaskCall&) {
    ++calls;
    return TaskResult::Success();
  });
  thread_ = std::thread([this] { ended_ = worker_->Run(); });
  std::vector<std::string> runs;
  for (int i = 0; i < 200; ++i) runs.push_back(StartRun(kTwoBeside));
  for (const std::string& run_id : runs) EXPECT_EQ(AtEnd(run_id).status, "COMPLETED");
  EXPECT_EQ(calls, 400);
}

TEST_F(WorkerTest, NeedsAHandlerAndSlots) {
  EXPECT_FALSE(Worker({}).Run());
  WorkerOptions options;
  options.slots = 1'001;
  Worker worker(options);
  worker.Handle("far.work", [](const TaskCall&) { return TaskResult::Success(); });
  EXPECT_EQ(worker.Run().error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace everstep
