#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/watched_clock.h"
#include "engine/embedded_log.h"
#include "everstep/engine.h"
#include "run/admission.h"
#include "run/lane.h"
#include "run/logged_backend.h"
#include "run/plan_fetcher.h"
#include "run/program_library.h"
#include "run/slot_board.h"
#include "run/timers.h"
#include "run/tool.h"

namespace everstep {

// The engine of this process: lanes that decide, one thread that watches the clock, and the state
// that they share. With `threads` off, the owner drives the engine by calling Step, as the
// simulation does.
class LocalEngine final : public Engine, private LaneHost {
 public:
  struct Parts {
    std::unique_ptr<EmbeddedLog> log;
    std::unique_ptr<ToolBox> tools;
    std::unique_ptr<PlanFetcher> plans;  // null: plans only as documents, not by URI
    Clock& clock;
    Random& random;
    bool threads = true;
    // Percent of a tool's slots, and of the runs that may be executed at once, that one tenant may
    // hold.
    std::uint32_t tenant_share = 100;
    WatchedClock* watch = nullptr;  // `clock` itself, to report its leaps; may be null
    std::vector<std::shared_ptr<const ProgramFormat>> formats{};  // other than plans
  };

  LocalEngine(Parts parts, EngineOptions options);
  ~LocalEngine() override;

  Log& log() override { return *log_; }
  Result<StartedRun> Start(const StartRequest& request) override;
  Result<SignalDecision> Signal(const SignalRequest& request) override;
  Status Approve(std::string_view run_id, const Actor& actor, std::string_view reason) override;
  Result<std::string> Deliver(const HookDelivery& delivery) override;
  Result<Explanation> Why(std::string_view run_id) override;
  Result<RunView> View(std::string_view run_id) override;
  Result<bool> WaitForEnd(std::string_view run_id, std::chrono::milliseconds wait) override;
  EngineMetrics Metrics() override;
  bool Drain(std::chrono::milliseconds wait) override;

  // A start that has been checked. order.answer is called on a lane.
  struct Prepared {
    RunId run_id;
    StartOrder order;
  };
  Result<Prepared> Prepare(const StartRequest& request);
  // Likewise, with the program that the caller has found already.
  Result<Prepared> Prepare(const StartRequest& request,
                           std::shared_ptr<const CompiledProgram> program);
  void Post(RunId run_id, LaneOrder order);
  void Submit(Prepared start) { Post(start.run_id, {start.run_id, std::move(start.order)}); }

  // On return, nothing is decided any more and all waiting callers have been answered. The log can
  // still be read. The destructor calls this first.
  void Stop();

  // Does everything that can be done now. Returns when to call it again; unset: only after an order
  // or a report. Requires: the engine has no threads.
  Timestamp Step();
  // Whether a write failed with an unknown outcome. The engine has to be opened again.
  bool stopped() const;
  StateStore& store() { return log_->store(); }
  EmbeddedLog& embedded_log() { return *log_; }
  ProgramLibrary& library() { return library_; }
  // How many orders wait in the lanes.
  std::size_t Backlog();
  // Whether the runs that the previous process left have been recovered.
  bool recovered() const { return recovered_.load(); }
  // Returns the program of the request if Prepare needs no disk read, fetch, expression or pattern
  // for it: it is compiled, has no child plans, its concurrency key is not computed, and its inputs
  // are quick to check. Null otherwise.
  std::shared_ptr<const CompiledProgram> ReadyProgram(const StartRequest& request);
  // Likewise, for the program `ref` and the other members of the request.
  std::shared_ptr<const CompiledProgram> ReadyProgram(const StartRequest& request,
                                                      const ProgramRef& ref);
  // Like EngineOptions::on_end, but receives the run itself, while it is still in memory. The
  // listener must stay valid until another one is set and no lane is calling it. Null: none.
  using EndListener = std::function<void(const Execution&)>;
  void SetEndListener(const EndListener* listener) { end_listener_.store(listener); }
  // Connects the backend of the runs whose engine_run_ref begins with its prefix, until it is
  // removed. RemoveBackend waits for the calls that use it.
  void AddBackend(ExecutionBackend& backend);
  void RemoveBackend(ExecutionBackend& backend);

 private:
  // LaneHost
  Admitted Admit(const RunId& run_id, const RunOrigin& origin, bool must_keep) override;
  void Started(const RunId& run_id, std::uint64_t epoch) override;
  void NotStarted(const RunId& run_id, std::uint64_t epoch, bool forget) override;
  void Ended(const Execution& run) override;
  bool Restored(const Execution& run) override;
  void Armed(Timestamp due_at, const RunId& run_id, const std::string& wait_id) override;
  void StartDue() override { AdmitNext(); }
  void StartChild(const ChildOrder& child) override;
  void CancelChild(const RunId& child, const std::string& tenant_id) override;
  void Raise(const Alert& alert) override;

  // local_engine_start.cc
  Result<std::shared_ptr<const CompiledProgram>> ProgramFor(const StartRequest& request);
  Status AddChildren(const CompiledProgram& program, const std::string& base, int depth,
                     std::map<std::string, std::string>& children);
  void ChildMissed(const ChildOrder& child, const Error& error);
  void ReportChild(const RunId& child, const RunId& parent);
  bool IsOrphan(const Execution& child);
  Result<SignalDecision> RetryRun(const SignalRequest& request, const SignalVerdict& verdict);
  // A run that is decided elsewhere, with its backend, which stays while this object lives.
  struct Elsewhere {
    StoredRun run;
    ExecutionBackend& backend;
    std::shared_lock<std::shared_mutex> lock;
  };
  std::optional<Elsewhere> FindElsewhere(const RunId& run_id);

  bool IsCounted(const RunOrigin& origin) const;
  Lane& LaneOf(const RunId& run_id);
  // local_engine_look.cc
  std::optional<Error> StoreFault();
  void ExplainAdmission(const RunId& id, Explanation& to);
  Result<Explanation> ExplainStopped(const RunId& run_id, const Error& fault);
  template <typename T>
  Result<T> Ask(const RunId& run_id, std::function<LaneOrder(std::function<void(Result<T>)>)> make);
  template <typename T>
  Result<T> Look(std::string_view run_id, std::function<T(const Execution&)> see);
  void AdmitNext();
  void RunLane(Lane& lane);
  void WatchClock();
  Timestamp PollClock();
  Timestamp PollTimers(Timestamp now);
  void LookAtStore();
  void ReportLeaps(Timestamp now);
  void WakeClock();
  Status Recover();

  const EngineOptions options_;
  Clock& clock_;
  Random& random_;
  const bool threads_;
  WatchedClock* const watch_;
  std::unique_ptr<EmbeddedLog> log_;
  ProgramLibrary library_;
  LoggedBackend logged_;  // of the runs whose backend is not connected
  std::shared_mutex backends_mutex_;
  std::vector<ExecutionBackend*> backends_;  // guarded by backends_mutex_
  Timers timers_;
  LaneCounters counters_;
  SlotBoard slots_;

  std::mutex admission_mutex_;
  Admission admission_;  // guarded by admission_mutex_
  const bool limited_;
  std::uint64_t start_failures_ = 0;

  std::unique_ptr<PlanFetcher> fetcher_;
  // Tools report to lanes, so lanes outlive tools. Lanes call tools, so lane threads end first.
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<ToolBox> tools_;

  std::mutex mutex_;
  std::condition_variable ended_;  // notified when a run or recovery ends, and on Stop
  std::condition_variable clock_wake_;
  bool stop_ = false;  // guarded by mutex_, like look_again_
  std::atomic<bool> recovered_{false};
  std::atomic<const EndListener*> end_listener_{nullptr};
  bool look_again_ = false;
  // Used by the clock thread only.
  bool behind_store_ = false;  // has been reported
  Timestamp store_looked_at_{};
  std::optional<ErrorCode> store_fault_;  // has been reported
  std::atomic<std::uint64_t> timers_fired_{0};
  std::atomic<std::uint64_t> lateness_us_sum_{0};
  std::atomic<std::uint64_t> lateness_us_max_{0};
  std::vector<std::thread> lane_threads_;
  std::thread clock_thread_;
};

template <typename T>
Result<T> LocalEngine::Ask(const RunId& run_id,
                           std::function<LaneOrder(std::function<void(Result<T>)>)> make) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto answer = promise->get_future();
  Post(run_id, make([promise](Result<T> result) { promise->set_value(std::move(result)); }));
  if (!threads_) {
    (void)Step();
    if (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      return Error{ErrorCode::kEngineStopped, "the engine has not answered the request", {}};
    }
  }
  return answer.get();  // always arrives, from Lane::Close at the latest
}

template <typename T>
Result<T> LocalEngine::Look(std::string_view run_id, std::function<T(const Execution&)> see) {
  const RunId id{std::string(run_id)};
  return Ask<T>(id, [&](std::function<void(Result<T>)> answer) {
    return LaneOrder{id, LookOrder{[answer, see](Result<const Execution*> run) {
                       if (!run) return answer(run.error());
                       answer(see(**run));
                     }}};
  });
}

}  // namespace everstep
