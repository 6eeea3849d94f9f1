#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
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

// What a lane needs from the engine around it. Implementations must be thread-safe. Unless stated
// otherwise, a method is called only after the events that justify the call are durable.
class LaneHost {
 public:
  virtual ~LaneHost() = default;
  struct Admitted {
    bool start = false;
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
    Timestamp queued_at{};  // unless the run starts
    Timestamp start_at{};
    std::optional<Error> rejected{};
  };
  // Called while the lane decides, before anything is durable.
  virtual Admitted Admit(const RunId& run_id, const RunOrigin& origin, bool must_keep) = 0;
  virtual void Started(const RunId& run_id, std::uint64_t epoch) = 0;
  virtual void NotStarted(const RunId& run_id, std::uint64_t epoch, bool forget) = 0;
  virtual void Ended(const Execution& run) = 0;
  // Returns false if the run must not continue because an order that ends it has been posted.
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
  std::atomic<std::uint64_t> run_bytes{0};
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

// Owns the runs of one hash slot and decides for them, one turn at a time. A turn takes the posted
// orders, decides them, makes all decisions durable in one write, and then releases their effects.
// Only runs with work in flight stay in memory; other runs are folded from their log when an order
// arrives for them. When memory is short, runs with work in flight are shed too, the least recently
// used first: what their log says is dropped and folded again when they go on.
//
// The cost of a turn's decisions is bounded (measured by OperationsDone, which is deterministic).
// Orders that exceed the bound wait for later turns, where tenants alternate, so that the cost of
// one tenant's decisions delays another tenant's order by about one turn. The orders of a run are
// always decided in the order in which they were posted.
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
    std::uint32_t checkpoint_events = 256;
    std::uint64_t memory_bytes_max = UINT64_MAX;  // for runs and their programs; an estimate
  };

  Lane(World world, Options options);
  ~Lane() override;

  // Any thread. After Close, refuses the order immediately, on the calling thread.
  void Post(LaneOrder order);
  // How many orders wait. Any thread; so are the next two.
  std::size_t Backlog();
  // How many of them are due waits, and admitted runs.
  std::size_t waits() const { return waits_.load(); }
  std::size_t admits() const { return admits_.load(); }

  // Owning thread only. Handles posted orders and expired deadlines. Returns false if there was
  // nothing to do.
  bool Turn();
  // When Turn next has something to do without a Post; unset: never.
  Timestamp NextDeadline() const;
  // Waits for a Post, for Stop, or until `deadline` (unset: forever). Returns false once stopped.
  bool Wait(Timestamp deadline);
  // Sets whether steps may start. Any thread.
  void AllowStarts(bool allow) { may_start_.store(allow); }
  void Stop();  // any thread
  // Refuses all undecided orders, and all later ones, with kEngineStopped, so that every order with
  // an answer callback is answered. Requires: the owning thread has ended.
  void Close();
  // Whether the store refuses writes until it is opened again. Any thread.
  bool stopped() const { return store_stopped_.load(); }
  // Why orders wait for the store or are refused; nothing if the store accepts writes. Any thread.
  std::optional<Error> StoreFault();

  // TaskReports
  void Finished(const TaskId& task, TaskOutcome outcome) override;
  void Finished(const TaskId& task, TaskOutcome outcome,
                std::function<void(Status)> answer) override;
  void Lost(const TaskId& task) override;
  void Taken(const TaskId& task) override;
  // One order waits per task, however often it is called.
  void Heartbeat(const TaskId& task) override;

 private:
  struct Resident;
  // The last checkpoint of a run that is in the store. Without one all members are zero.
  struct Checkpoint {
    EventSeq seq;
    std::size_t bytes = 0;
  };
  // A run that is read back, as far as it has come.
  struct Fold {
    std::unique_ptr<Execution> run;
    EventSeq after;
    Checkpoint checkpoint;
    std::uint64_t turn = 0;       // in which it was gone on with last
    bool awaits_program = false;  // until it is compiled
  };

  // In expression operations: a few milliseconds, or about a thousand orders.
  static constexpr std::uint64_t kCostPerTurn = 1 << 17;
  static constexpr std::uint64_t kCostPerOrder = 64;  // minimum

  std::vector<LaneOrder> TakeOrders();
  bool IsTurnOver() const { return spent_ >= kCostPerTurn; }
  bool MayHandle() const { return waiting_.empty() && !IsTurnOver(); }
  void HandleDone();
  void HandleOwn();
  void HandleWaiting();
  void HandleOrWait(LaneOrder order);
  void HandleLater(LaneOrder order, bool awaits_program = false);
  bool OnlyAwaitsPrograms() const;
  std::uint64_t HandleAndSpend(LaneOrder order);
  void Await(LaneOrder order);
  std::string TenantOf(const LaneOrder& order) const;
  void Handle(LaneOrder order);
  void Decide(Resident& resident, LaneOrder& order);
  bool GetProgram(LaneOrder& order);
  void Start(LaneOrder& order);
  std::optional<StartedRun> FindFormer(const StartOrder& order);
  void Begin(Resident& resident, std::uint64_t epoch);
  void Admit(Resident& resident, const AdmitOrder& order);
  void Approve(Resident& resident, ApproveOrder& order);
  void Deliver(Resident& resident, HookOrder& order);
  void Signal(Resident& resident, SignalCall& call);
  void Report(Resident& resident, ReportOrder& report);
  void Refuse(LaneOrder& order, const Error& error);
  void NoteTaken(LaneOrder& order);

  // Null: the log is long, and the rest of it is read in the next turns.
  Result<Resident*> Find(const RunId& run_id);
  Result<Resident*> Load(const RunId& run_id);
  Result<Resident*> Load(const RunId& run_id, Fold& fold, std::uint64_t cost_max);
  void ForgetFold(const RunId& run_id);
  Resident& Adopt(std::unique_ptr<Execution> run, Checkpoint checkpoint);
  Status LoadCheckpoint(StateReader& reader, const StoredRun& stored, Fold& fold);
  std::shared_ptr<const std::string> CheckpointOf(Resident& resident, std::size_t& bytes);
  Execution::Turn& TurnOf(Resident& resident);
  void Commit();
  bool Settle(Resident& resident, const Result<Placed>& placed);
  void Release(Resident& resident);
  void Dispatch(std::vector<Task> tasks);
  void CheckToken(const Execution& run, const std::string& token, const std::string& hook_id);
  void Discard(Resident& resident, const Error& error);
  void FoldAgain(const Execution& before);
  void Retire(Resident& resident);
  void Use(Resident& resident);
  void Forget(Resident& resident);
  void Shed(Resident& resident);
  void ShedRuns();
  bool WaitsForMemory(const LaneOrder& order);
  void SetStoreFault(std::optional<Error> fault);
  void Reindex(Resident& resident);
  void Measure(Timestamp before, std::size_t events);

  World world_;
  const Options options_;

  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<LaneOrder> posted_;  // guarded by mutex_, like the next five
  std::set<TaskId> beats_;         // tasks with a HeartbeatOrder that waits
  std::optional<Error> store_fault_;
  bool stop_ = false;
  bool closed_ = false;
  bool sleeping_ = false;

  std::unordered_map<RunId, std::unique_ptr<Resident>> residents_;
  // Of residents that are not shed:
  std::list<Resident*> by_use_;                                       // the most recently used last
  std::unordered_map<const CompiledProgram*, std::size_t> programs_;  // how many of them use it
  std::unordered_map<std::string, std::size_t> loaded_;               // how many of them, by tenant
  std::uint64_t bytes_ = 0;                                           // of them and their programs
  std::uint64_t wanted_ = 0;               // bytes for a run that waits for memory
  std::unordered_map<RunId, Fold> folds_;  // runs being read back, for which orders wait
  std::map<std::string, RunId> folding_;   // by tenant: the run whose fold has begun
  std::vector<Resident*> touched_;         // in this turn
  std::vector<LaneOrder> own_;             // for the next turn, posted by this thread
  std::size_t awaiting_programs_ = 0;      // of own_
  bool only_waits_ = false;                // OnlyAwaitsPrograms, after the last turn
  std::vector<ReportOrder> done_;          // for the next turn: results of immediate tools
  OrderQueue waiting_{kCostPerTurn};       // orders that exceeded the cost of their turn
  std::atomic<std::size_t> waiting_count_{0};
  std::atomic<std::size_t> waits_{0};
  std::atomic<std::size_t> admits_{0};
  std::uint64_t spent_ = 0;  // part of kCostPerTurn used in this turn
  std::uint64_t turns_ = 0;
  std::set<std::pair<Timestamp, RunId>> deadlines_;
  std::multimap<Timestamp, LaneOrder> again_;  // retried when the store has space
  std::atomic<bool> may_start_{true};
  bool flush_ = false;  // call ToolBox::Flush at the end of this turn
  std::atomic<bool> store_stopped_{false};
  bool store_full_ = false;  // orders wait for space
  bool slow_store_ = false;
  Timestamp now_{};
};

}  // namespace everstep
