#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "engine/append_authority.h"
#include "run/plan_library.h"
#include "run/plan_run.h"
#include "run/signal_rules.h"
#include "run/slot_board.h"

namespace everstep {

// ---- what a lane is told. An answer is given when what it rests on is durable.

struct StartOrder {
  std::shared_ptr<const Plan> plan;
  RunOrigin origin;
  std::optional<SignalVerdict> signal{};  // RETRY_RUN: recorded in the new run
  std::function<void(Result<StartedRun>)> answer{};
};
struct AdmitOrder {  // a queued run may start
  std::uint64_t epoch = 0;
};
struct ApproveOrder {
  Actor actor;
  std::string reason;
  std::function<void(Status)> answer{};
};
struct ReportOrder {
  TaskId task;
  TaskOutcome outcome;
  std::function<void(Status)> answer{};
};
struct LostOrder {
  TaskId task;
};
struct TakenOrder {
  TaskId task;
};
struct HeartbeatOrder {
  TaskId task;
};
struct WaitOrder {
  std::string wait_id;
};
struct HookOrder {
  HookDelivery delivery;
  std::function<void(Result<std::string>)> answer{};
};
struct SignalCall {
  SignalRequest request;
  SignalVerdict verdict;
  std::function<void(Result<SignalDecision>)> answer{};
};
struct ChildEndOrder {
  PlanRun::ChildEnd end;
};
struct SlotOrder {
  UnitKey key;
};
struct TokenOrder {  // the log recorded a conflict instead of this hook
  std::string hook_id;
};
struct RecoverOrder {
  bool restored = false;  // after a restart: the host counts the run again
};
struct TickOrder {};
struct LookOrder {
  std::function<void(Result<const PlanRun*>)> look;
};

struct LaneOrder {
  RunId run_id;
  std::variant<StartOrder, AdmitOrder, ApproveOrder, ReportOrder, LostOrder, TakenOrder,
               HeartbeatOrder, WaitOrder, HookOrder, SignalCall, ChildEndOrder, SlotOrder,
               TokenOrder, RecoverOrder, TickOrder, LookOrder>
      what;
  std::uint32_t tries = 0;
};

// What a lane needs from the engine around it. Thread-safe; called after the events that justify
// the call are durable, except where it says otherwise.
class LaneHost {
 public:
  virtual ~LaneHost() = default;
  struct Admitted {
    bool start = false;
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
    Timestamp queued_at{};  // unless it starts
    Timestamp start_at{};
    std::optional<Error> rejected{};
  };
  // Called while deciding.
  virtual Admitted Admit(const RunId& run_id, const RunOrigin& origin, bool must_keep) = 0;
  virtual void Started(const RunId& run_id, std::uint64_t epoch) = 0;
  virtual void NotStarted(const RunId& run_id, std::uint64_t epoch, bool forget) = 0;
  virtual void Ended(const PlanRun& run) = 0;
  // False: it is not to go on, an order that ends it is on its way.
  virtual bool Restored(const PlanRun& run) = 0;
  virtual void Armed(Timestamp due_at, const RunId& run_id, const std::string& wait_id) = 0;
  virtual void StartDue() = 0;
  virtual void StartChild(const ChildOrder& child) = 0;
  virtual void CancelChild(const RunId& child, const std::string& tenant_id) = 0;
  virtual void Raise(const Alert& alert) = 0;
};

struct LaneCounters {
  std::atomic<std::int64_t> tasks_under_way{0};
  std::atomic<std::uint64_t> runs_in_memory{0};
  std::atomic<std::uint64_t> runs_started{0};
  std::atomic<std::uint64_t> runs_ended{0};
  std::atomic<std::uint64_t> steps_started{0};
  std::atomic<std::uint64_t> steps_ended{0};
  std::atomic<std::uint64_t> steps_redelivered{0};
  std::atomic<std::uint64_t> writes{0};
  std::atomic<std::uint64_t> write_us_sum{0};
  std::atomic<std::uint64_t> write_us_max{0};
  std::atomic<std::uint64_t> write_timeouts{0};
  std::atomic<std::uint64_t> buffered_events{0};
};

// Owns the runs of one hash slot and decides for them, one turn at a time: takes every order that
// has come, decides, makes all of it durable in one write, and lets the effects out. What runs in
// memory is what has work under way; the rest is folded from its log when an order comes.
class Lane final : public TaskReports {
 public:
  struct World {
    StateStore& store;
    AppendAuthority& authority;
    Clock& clock;
    Random& random;
    PlanLibrary& plans;
    SlotBoard& slots;
    ToolBox& tools;
    LaneHost& host;
    LaneCounters& counters;
  };
  struct Options {
    PlanRun::Options run;
    WriteBudget budget;
  };

  Lane(World world, Options options);
  ~Lane() override;

  // Any thread. Behind Close the order is refused at once, on this thread.
  void Post(LaneOrder order);
  std::size_t Backlog();

  // The owning thread. Handles what was posted and what is past its deadline. False: nothing.
  bool Turn();
  // When Turn has something to do without a Post; unset: never.
  Timestamp NextDeadline() const;
  // Waits for a Post or until `deadline` (unset: for ever) or Stop. False: stopped.
  bool Wait(Timestamp deadline);
  // Whether steps may begin; any thread.
  void AllowStarts(bool allow) { may_start_.store(allow); }
  void Stop();  // any thread
  // Refuses what was posted and not decided, and all that will be, with kEngineStopped: so every
  // order that has an answer is answered. When the owning thread has ended.
  void Close();
  // The store refuses writes until it is opened again. Any thread, as the next.
  bool stopped() const { return store_stopped_.load(); }
  // Why orders wait for the store or are refused; nothing: it takes writes.
  std::optional<Error> StoreFault();

  // TaskReports
  void Finished(const TaskId& task, TaskOutcome outcome) override;
  void Finished(const TaskId& task, TaskOutcome outcome,
                std::function<void(Status)> answer) override;
  void Lost(const TaskId& task) override;
  void Taken(const TaskId& task) override;
  void Heartbeat(const TaskId& task) override;

 private:
  struct Resident;

  std::vector<LaneOrder> TakeOrders();
  void HandleDone();
  void Handle(LaneOrder order);
  void Decide(Resident& resident, LaneOrder& order);
  void Start(LaneOrder& order);
  void Begin(Resident& resident, std::uint64_t epoch);
  void Admit(Resident& resident, const AdmitOrder& order);
  void Approve(Resident& resident, ApproveOrder& order);
  void Deliver(Resident& resident, HookOrder& order);
  void Signal(Resident& resident, SignalCall& call);
  void Report(Resident& resident, ReportOrder& report);
  void Refuse(LaneOrder& order, const Error& error);

  Result<Resident*> Find(const RunId& run_id);
  Result<Resident*> Load(const RunId& run_id);
  Resident& Adopt(std::unique_ptr<PlanRun> run);
  PlanRun::Turn& TurnOf(Resident& resident);
  void Commit();
  bool Settle(Resident& resident, const Result<Placed>& placed);
  void Release(Resident& resident);
  void Dispatch(std::vector<Task> tasks);
  void CheckToken(const PlanRun& run, const std::string& token, const std::string& hook_id);
  void Discard(Resident& resident, const Error& error);
  void FoldAgain(const PlanRun& before);
  void Retire(Resident& resident);
  void SetStoreFault(std::optional<Error> fault);
  void Reindex(Resident& resident);
  void Measure(Timestamp before, std::size_t events);

  World world_;
  const Options options_;

  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<LaneOrder> posted_;  // guarded by mutex_, as the next four
  std::optional<Error> store_fault_;
  bool stop_ = false;
  bool closed_ = false;
  bool sleeping_ = false;

  std::unordered_map<RunId, std::unique_ptr<Resident>> residents_;
  std::vector<Resident*> touched_;  // in this turn
  std::vector<LaneOrder> own_;      // for the next turn, from this thread
  std::vector<ReportOrder> done_;   // likewise: what immediate tools gave
  std::set<std::pair<Timestamp, RunId>> deadlines_;
  std::multimap<Timestamp, LaneOrder> again_;  // to be tried when the store has space
  std::atomic<bool> may_start_{true};
  bool flush_ = false;  // tools were told something in this turn
  std::atomic<bool> store_stopped_{false};
  bool store_full_ = false;  // orders wait for space
  bool slow_store_ = false;
  Timestamp now_{};
};

}  // namespace everstep
