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
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "engine/append_authority.h"
#include "run/execution.h"
#include "run/lane_order.h"
#include "run/order_queue.h"
#include "run/program_library.h"
#include "run/slot_board.h"

namespace everstep {

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
  virtual void Ended(const Execution& run) = 0;
  // False: it is not to go on, an order that ends it is on its way.
  virtual bool Restored(const Execution& run) = 0;
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

// Owns the runs of one hash slot and decides for them, one turn at a time: takes the orders that
// have come, decides, makes all of it durable in one write, and lets the effects out. What runs in
// memory is what has work under way; the rest is folded from its log when an order comes.
//
// A turn is bounded by what its decisions cost (OperationsDone, which is the same in every
// execution). Orders that find it used up wait for later turns, where tenants take turns: what one
// tenant's decisions cost delays another's order by about one turn. The orders of a run are always
// decided in the order in which they came.
class Lane final : public TaskReports {
 public:
  struct World {
    StateStore& store;
    AppendAuthority& authority;
    Clock& clock;
    Random& random;
    ProgramLibrary& programs;
    SlotBoard& slots;
    ToolBox& tools;
    LaneHost& host;
    LaneCounters& counters;
  };
  struct Options {
    Execution::Options run;
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
  // A run that is read back, as far as it has come.
  struct Fold {
    std::unique_ptr<Execution> run;
    EventSeq after;
    std::uint64_t turn = 0;  // in which it was gone on with last
  };

  // In operations of expressions: a few milliseconds, or about a thousand orders.
  static constexpr std::uint64_t kCostPerTurn = 1 << 17;
  static constexpr std::uint64_t kCostPerOrder = 64;  // of the cheapest

  std::vector<LaneOrder> TakeOrders();
  bool IsTurnOver() const { return spent_ >= kCostPerTurn; }
  bool MayHandle() const { return waiting_.empty() && !IsTurnOver(); }
  void HandleDone();
  void HandleOwn();
  void HandleWaiting();
  void HandleOrWait(LaneOrder order);
  std::uint64_t HandleAndSpend(LaneOrder order);
  void Await(LaneOrder order);
  std::string TenantOf(const LaneOrder& order) const;
  void Handle(LaneOrder order);
  void Decide(Resident& resident, LaneOrder& order);
  void Start(LaneOrder& order);
  std::optional<StartedRun> FindFormer(const StartOrder& order);
  void Begin(Resident& resident, std::uint64_t epoch);
  void Admit(Resident& resident, const AdmitOrder& order);
  void Approve(Resident& resident, ApproveOrder& order);
  void Deliver(Resident& resident, HookOrder& order);
  void Signal(Resident& resident, SignalCall& call);
  void Report(Resident& resident, ReportOrder& report);
  void Refuse(LaneOrder& order, const Error& error);

  // Null: its log is long, and what is left of it is read in the next turns.
  Result<Resident*> Find(const RunId& run_id);
  Result<Resident*> Load(const RunId& run_id);
  Result<Resident*> Load(const RunId& run_id, Fold& fold, std::uint64_t cost_max);
  Resident& Adopt(std::unique_ptr<Execution> run);
  Execution::Turn& TurnOf(Resident& resident);
  void Commit();
  bool Settle(Resident& resident, const Result<Placed>& placed);
  void Release(Resident& resident);
  void Dispatch(std::vector<Task> tasks);
  void CheckToken(const Execution& run, const std::string& token, const std::string& hook_id);
  void Discard(Resident& resident, const Error& error);
  void FoldAgain(const Execution& before);
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
  std::unordered_map<RunId, Fold> folds_;  // of orders that wait for them
  std::vector<Resident*> touched_;         // in this turn
  std::vector<LaneOrder> own_;             // for the next turn, from this thread
  std::vector<ReportOrder> done_;          // likewise: what immediate tools gave
  OrderQueue waiting_{kCostPerTurn};       // found their turn used up
  std::atomic<std::size_t> waiting_count_{0};
  std::uint64_t spent_ = 0;  // of kCostPerTurn, in this turn
  std::uint64_t turns_ = 0;
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
