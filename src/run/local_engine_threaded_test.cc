#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "engine/embedded_log.h"
#include "run/local_engine.h"
#include "testing/crashing_store.h"
#include "testing/forwarding_store.h"
#include "testing/relay_program.h"

namespace everstep {
namespace {

constexpr std::chrono::seconds kLongEnough{60};

// `http` and `shell` tasks finish at once, on threads of this tool box; `noop` is immediate.
class ThreadedTools final : public ToolBox {
 public:
  ThreadedTools() {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~ThreadedTools() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  bool Has(std::string_view) const override { return true; }
  bool Immediate(std::string_view kind) const override { return kind == "noop"; }
  TaskOutcome RunNow(const Task&) override { return TaskOutcome(); }
  void Start(Task task, TaskReports& reports) override {
    {
      const std::lock_guard lock(mutex_);
      ++begun_[{task.id.run_id.value(), task.id.step_id, task.id.engine_attempt}];
      queue_.emplace_back(std::move(task), &reports);
    }
    wake_.notify_one();
  }
  void Cancel(const TaskId&, bool) override {}
  std::uint32_t Slots(std::string_view kind) const override { return kind == "shell" ? 3 : 0; }
  std::vector<std::string> Kinds() const override { return {"noop", "http", "shell"}; }

  // How many deliveries were started more than once.
  int Repeated() {
    const std::lock_guard lock(mutex_);
    int repeated = 0;
    for (const auto& [task, times] : begun_) repeated += times > 1;
    return repeated;
  }

 private:
  void Work() {
    while (true) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto [task, reports] = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      reports->Heartbeat(task.id);
      reports->Finished(task.id, TaskOutcome::Success("1"));
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<Task, TaskReports*>> queue_;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, int> begun_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

class LocalEngineThreaded : public testing::Test {
 protected:
  void Open(EngineOptions options, std::unique_ptr<StateStore> store = OpenMemoryStore()) {
    auto tools = std::make_unique<ThreadedTools>();
    tools_ = tools.get();
    auto log = std::make_unique<EmbeddedLog>(std::move(store), SystemClock(), SystemRandom(),
                                             EmbeddedLog::Options());
    options.lanes = 3;
    engine_ =
        std::make_unique<LocalEngine>(LocalEngine::Parts{std::move(log), std::move(tools), nullptr,
                                                         SystemClock(), SystemRandom(), true},
                                      std::move(options));
  }
  std::string Start(const std::string& plan, const std::string& request = {}) {
    StartRequest start;
    start.plan = plan;
    start.request_id = request;
    const auto started = engine_->Start(start);
    EXPECT_TRUE(started) << ToString(started.error());
    return started ? started->run_id : std::string();
  }

  static constexpr const char* kPlan = R"(
metadata: {planId: p, planVersion: "1"}
steps:
  - {stepId: a, kind: noop, dependsOn: []}
  - {stepId: b, kind: http, dependsOn: [a]}
  - {stepId: c, kind: shell, dependsOn: [a]}
  - {stepId: rest, waitFor: {duration: 5ms}, dependsOn: [a]}
  - {stepId: each, kind: shell, dependsOn: [b, c, rest], foreach: {items: "{{ [1, 2, 3, 4] }}"}}
)";

  ThreadedTools* tools_ = nullptr;
  std::unique_ptr<LocalEngine> engine_;
};

// A store that reports a fault.
class UnhealthyStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status Health() override { return Error{ErrorCode::kStoreCorrupt, "000012.log was removed", {}}; }
};

TEST_F(LocalEngineThreaded, AnUnhealthyStoreRaisesAnAlertWithoutAProbe) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Alert> alerts;
  EngineOptions options;
  options.on_alert = [&](const Alert& alert) {
    const std::lock_guard lock(mutex);
    alerts.push_back(alert);
    changed.notify_all();
  };
  Open(std::move(options), std::make_unique<UnhealthyStore>(OpenMemoryStore()));
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kLongEnough, [&] { return !alerts.empty(); }));
    EXPECT_EQ(alerts.front().code, "STORE_CORRUPT");
    EXPECT_EQ(alerts.front().detail, "000012.log was removed");
  }
  engine_.reset();
}

TEST_F(LocalEngineThreaded, EveryRunEndsWithConcurrentCallers) {
  Open({});
  std::mutex mutex;
  std::vector<std::string> runs;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 15; ++i) {
        const std::string run = Start(kPlan);
        SignalRequest pause;
        pause.run_id = run;
        pause.actor = {"tester", {"Operator"}, {}};
        pause.type = "PAUSE";
        (void)engine_->Signal(pause);
        (void)engine_->Why(run);
        pause.type = "RESUME";
        (void)engine_->Signal(pause);
        (void)engine_->View(run);
        (void)engine_->Metrics();
        const std::lock_guard lock(mutex);
        runs.push_back(run);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::string& run : runs) {
    const auto ended = engine_->WaitForEnd(run, kLongEnough);
    ASSERT_TRUE(ended && *ended) << run;
    EXPECT_EQ(engine_->View(run)->status, "COMPLETED");
  }
  EXPECT_EQ(tools_->Repeated(), 0);
}

TEST_F(LocalEngineThreaded, AQueuedRunIsStartedOnceForConcurrentRequests) {
  EngineOptions options;
  options.admission.engine.running_max = 2;
  Open(std::move(options));
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    // All callers request the same runs.
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) (void)Start(kPlan, "request-" + std::to_string(i));
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int i = 0; i < 20; ++i) {
    const std::string run = Start(kPlan, "request-" + std::to_string(i));
    const auto ended = engine_->WaitForEnd(run, kLongEnough);
    ASSERT_TRUE(ended && *ended) << run;
  }
  EXPECT_EQ(tools_->Repeated(), 0);
  const LogHealth health = engine_->embedded_log().Health("default");
  EXPECT_EQ(health.runs_by_status[static_cast<std::size_t>(RunStatus::kCompleted)], 20U);
}

// Compiles a program that it has read before only when the test allows it.
class HeldFormat final : public ProgramFormat {
 public:
  std::string_view name() const override { return relay_->name(); }
  Result<std::shared_ptr<const CompiledProgram>> Read(std::string_view document) const override {
    return relay_->Read(document);
  }
  Result<std::shared_ptr<const CompiledProgram>> ReadAgain(std::string_view text) const override {
    std::unique_lock lock(mutex_);
    begun_ = true;
    changed_.notify_all();
    allowed_in_time_ = changed_.wait_for(lock, kLongEnough, [this] { return allowed_; });
    return relay_->Read(text);
  }
  void AwaitBegin() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLongEnough, [this] { return begun_; }));
  }
  void Allow() {
    const std::lock_guard lock(mutex_);
    allowed_ = true;
    changed_.notify_all();
  }
  bool allowed_in_time() const {
    const std::lock_guard lock(mutex_);
    return allowed_in_time_;
  }

 private:
  const std::shared_ptr<RelayFormat> relay_ = std::make_shared<RelayFormat>();
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool begun_ = false;
  mutable bool allowed_in_time_ = false;
  bool allowed_ = false;
};

TEST_F(LocalEngineThreaded, OtherRunsGoOnWhileALargeProgramIsCompiled) {
  const std::shared_ptr<StateStore> disk = OpenMemoryStore();
  const auto held = std::make_shared<HeldFormat>();
  const auto open = [&] {
    engine_.reset();
    EngineOptions options;
    options.lanes = 1;
    auto log = std::make_unique<EmbeddedLog>(
        std::make_unique<CrashingStore>(disk, std::make_shared<CrashingStore::Power>()),
        SystemClock(), SystemRandom(), EmbeddedLog::Options());
    engine_ = std::make_unique<LocalEngine>(LocalEngine::Parts{std::move(log),
                                                               std::make_unique<ThreadedTools>(),
                                                               nullptr,
                                                               SystemClock(),
                                                               SystemRandom(),
                                                               true,
                                                               100,
                                                               nullptr,
                                                               {held}},
                                            std::move(options));
  };
  open();
  StartRequest waits;
  waits.format = "relay";
  waits.plan = "sleep 3600";
  waits.run_id = "waits";
  ASSERT_TRUE(engine_->Start(waits));
  open();
  held->AwaitBegin();
  const std::string other =
      Start("metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]\n");
  const auto ended = engine_->WaitForEnd(other, kLongEnough);
  EXPECT_TRUE(ended && *ended);
  held->Allow();
  EXPECT_EQ(engine_->View("waits")->status, "RUNNING");
  EXPECT_TRUE(held->allowed_in_time());
  engine_.reset();
}

TEST_F(LocalEngineThreaded, AStoppingEngineAnswersAllCallers) {
  Open({});
  const std::string run = Start(R"(
metadata: {planId: p, planVersion: "1"}
steps:
  - {stepId: a, waitFor: {hook: {token: never}}}
)");
  std::thread waiter([&] { EXPECT_FALSE(*engine_->WaitForEnd(run, std::chrono::seconds(1))); });
  waiter.join();
  EXPECT_TRUE(engine_->Drain(kLongEnough));
  engine_.reset();
}

TEST_F(LocalEngineThreaded, EveryThreadSeesThatTheStoreHasStopped) {
  const auto power = std::make_shared<CrashingStore::Power>();
  power->fails_after = 20;
  Open({}, std::make_unique<CrashingStore>(OpenMemoryStore(), power));
  const std::string first = Start(kPlan);
  std::thread watcher([&] {
    while (!engine_->stopped()) (void)engine_->Metrics();
  });
  StartRequest request;
  request.plan = kPlan;
  while (engine_->Start(request)) {
  }
  watcher.join();
  const auto why = engine_->Why(first);
  ASSERT_TRUE(why);
  EXPECT_TRUE(why->status == "COMPLETED" || why->blockers.at(0).kind == "store");
}

}  // namespace
}  // namespace everstep
