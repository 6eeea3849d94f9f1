#include "run/lane.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"
#include "flow/operations_done.h"
#include "run/lane_resident.h"

namespace everstep {
namespace {

constexpr std::uint32_t kTriesMax = 5;
constexpr std::chrono::milliseconds kRetryStoreAfter{200};
constexpr std::uint64_t kBytesPerOperationOfLook = 8;

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// Whether a caller waits for the answer and can retry. While the disk is full, such orders are
// refused; all others wait for the store.
bool IsAsked(const LaneOrder& order) {
  if (const auto* start = std::get_if<StartOrder>(&order.what)) {
    return start->origin.parent.value().empty();
  }
  if (const auto* signal = std::get_if<SignalCall>(&order.what)) return signal->answer != nullptr;
  return std::holds_alternative<HookOrder>(order.what) ||
         std::holds_alternative<ApproveOrder>(order.what);
}

// Whether the turn only starts what the durable log already justifies. It contains no report, order
// or decision that could be lost.
bool MayFailOpen(const std::vector<EventWrite>& writes) {
  return std::ranges::all_of(writes, [](const EventWrite& write) {
    return write.type == EventType::kStepScheduled || write.type == EventType::kStepStarted ||
           write.type == EventType::kWaitCreated || write.type == EventType::kWaitCompleted;
  });
}

}  // namespace

Lane::Lane(World world, Options options) : world_(world), options_(options) {}

Lane::~Lane() = default;

// ---- a turn

std::vector<LaneOrder> Lane::TakeOrders() {
  std::vector<LaneOrder> orders;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(posted_);
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    const RunId run_id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    const auto resident = residents_.find(run_id);
    if (resident != residents_.end()) resident->second->deadline = {};
    orders.push_back({run_id, TickOrder{}});
  }
  while (!again_.empty() && again_.begin()->first <= now_) {
    orders.push_back(std::move(again_.begin()->second));
    again_.erase(again_.begin());
  }
  return orders;
}

bool Lane::Turn() {
  now_ = world_.clock.Now();
  EVERSTEP_ASSERT(touched_.empty());
  std::vector<LaneOrder> orders = TakeOrders();
  if (orders.empty() && own_.empty() && done_.empty() && waiting_.empty()) return false;
  spent_ = 0;
  awaiting_programs_ = 0;
  ++turns_;
  HandleDone();
  HandleOwn();
  for (LaneOrder& order : orders) HandleOrWait(std::move(order));
  HandleWaiting();
  waiting_count_.store(waiting_.size());
  Commit();
  ShedRuns();
  EVERSTEP_ASSERT(touched_.empty());  // nothing undecided is left for the next turn
  if (store_full_ && again_.empty()) {
    store_full_ = false;
    if (!store_stopped_) SetStoreFault(std::nullopt);
  }
  if (std::exchange(flush_, false)) world_.tools.Flush();
  only_waits_ = OnlyAwaitsPrograms();
  return !only_waits_;
}

// Whether the next turn has nothing to do but to ask again for programs that are being compiled.
bool Lane::OnlyAwaitsPrograms() const {
  return awaiting_programs_ > 0 && own_.size() == awaiting_programs_ && waiting_.empty() &&
         done_.empty();
}

// If the write fails, the run recovers and these results are computed again.
void Lane::HandleDone() {
  std::vector<ReportOrder> done = std::move(done_);
  done_.clear();
  for (ReportOrder& report : done) {
    const auto found = residents_.find(report.task.run_id);
    const bool shed = found != residents_.end() && found->second->shed;
    if (!MayHandle() || shed) {
      RunId run_id = report.task.run_id;
      Await({std::move(run_id), std::move(report)});
      continue;
    }
    if (found == residents_.end() || store_stopped_) continue;
    Resident& resident = *found->second;
    const std::uint64_t before = OperationsDone();
    world_.counters.steps_ended.fetch_add(1);
    (void)resident.run->Report(TurnOf(resident), report.task, report.outcome);
    spent_ += kCostPerOrder + (OperationsDone() - before);
  }
}

// These orders are older than those in waiting_, so they go to the front. The exception is
// RecoverOrder, which only continues a run and lets the others go first.
void Lane::HandleOwn() {
  std::vector<LaneOrder> own = std::move(own_);
  own_.clear();
  std::size_t handled = 0;
  while (handled < own.size() && MayHandle()) (void)HandleAndSpend(std::move(own[handled++]));
  const std::span<LaneOrder> left = std::span(own).subspan(handled);
  const auto goes_on = [](const LaneOrder& order) {
    return std::holds_alternative<RecoverOrder>(order.what);
  };
  for (auto order = left.rbegin(); order != left.rend(); ++order) {
    if (goes_on(*order)) continue;
    waiting_.PushFront(std::move(*order), [this](const LaneOrder& of) { return TenantOf(of); });
  }
  for (LaneOrder& order : left) {
    if (goes_on(order)) Await(std::move(order));
  }
}

void Lane::HandleOrWait(LaneOrder order) {
  if (!MayHandle()) return Await(std::move(order));
  (void)HandleAndSpend(std::move(order));
}

// Stops when every waiting tenant has used up its share, so that the decisions so far are committed
// and answered first.
void Lane::HandleWaiting() {
  while (!waiting_.empty() && !IsTurnOver() && (spent_ == 0 || !waiting_.AllOwe())) {
    waiting_.Charge(HandleAndSpend(waiting_.Pop()));
  }
}

// Returns the cost of the order.
std::uint64_t Lane::HandleAndSpend(LaneOrder order) {
  const std::uint64_t before = OperationsDone();
  Handle(std::move(order));
  static_assert(kCostPerOrder < kCostPerTurn);
  const std::uint64_t cost = kCostPerOrder + (OperationsDone() - before);
  spent_ += cost;
  return cost;
}

void Lane::Await(LaneOrder order) {
  waiting_.Push(std::move(order), [this](const LaneOrder& of) { return TenantOf(of); });
}

// The tenant that sent the order; for orders without a sender, the tenant of the run.
std::string Lane::TenantOf(const LaneOrder& order) const {
  if (const auto* start = std::get_if<StartOrder>(&order.what)) {
    return start->origin.scope.tenant_id;
  }
  if (const auto* call = std::get_if<SignalCall>(&order.what)) return call->request.tenant_id;
  if (const auto* hook = std::get_if<HookOrder>(&order.what)) return hook->delivery.tenant_id;
  const auto resident = residents_.find(order.run_id);
  if (resident != residents_.end()) return resident->second->run->scope().tenant_id;
  const auto stored = world_.store.Read()->FindRun(order.run_id);
  return stored && *stored ? (*stored)->state.scope.tenant_id : std::string();
}

void Lane::Handle(LaneOrder order) {
  const auto* report = std::get_if<ReportOrder>(&order.what);
  if (report != nullptr && report->answer) flush_ = true;
  if (store_stopped_) {
    return Refuse(
        order, {ErrorCode::kStoreStopped, "the store has stopped and has to be opened again", {}});
  }
  if (std::holds_alternative<StartOrder>(order.what)) {
    if (GetProgram(order)) Start(order);
    return;
  }
  if (WaitsForMemory(order)) return own_.push_back(std::move(order));
  auto found = Find(order.run_id);
  if (!found) return Refuse(order, found.error());
  if (*found == nullptr) return HandleLater(std::move(order));
  Resident& resident = **found;
  EVERSTEP_ASSERT(!resident.shed);
  if (auto* look = std::get_if<LookOrder>(&order.what)) {
    // A look takes time in proportion to the run and its plan, which may be large.
    AddOperations(resident.run->bytes() / kBytesPerOperationOfLook +
                  resident.run->compiled()->bytes() / (4 * kBytesPerOperationOfLook));
    // The state may not be durable yet: answer after the commit.
    if (resident.touched) {
      resident.answers.push_back(
          [look = look->look, &resident](const Error*) { look(resident.run.get()); });
      resident.followers.push_back(std::move(order));
    } else {
      look->look(resident.run.get());
      Retire(resident);
    }
    return;
  }
  const bool token_is_open = resident.touched && !resident.turn->effects.reserved.empty();
  if (token_is_open) {
    own_.push_back(std::move(order));  // the write decides whether its token was free
    return;
  }
  resident.orders.push_back(std::move(order));
  Decide(resident, resident.orders.back());
}

Execution::Turn& Lane::TurnOf(Resident& resident) {
  EVERSTEP_ASSERT(resident.touched == resident.turn.has_value());
  if (!resident.touched) {
    resident.touched = true;
    touched_.push_back(&resident);
    resident.turn.emplace(Execution::Turn{now_, world_.random, resident, may_start_.load()});
  }
  return *resident.turn;
}

void Lane::Decide(Resident& resident, LaneOrder& order) {
  Execution& run = *resident.run;
  Execution::Turn& turn = TurnOf(resident);
  NoteTaken(order);
  std::visit(
      Overloaded{
          [&](AdmitOrder& what) { Admit(resident, what); },
          [&](ApproveOrder& what) { Approve(resident, what); },
          [&](ReportOrder& what) { Report(resident, what); },
          [&](LostOrder& what) { run.Lost(turn, what.task); },
          [&](TakenOrder& what) { run.Taken(turn, what.task); },
          [&](HeartbeatOrder& what) { run.Heartbeat(turn, what.task); },
          [&](WaitOrder& what) { run.WaitDue(turn, what.wait_id); },
          [&](HookOrder& what) { Deliver(resident, what); },
          [&](SignalCall& what) { Signal(resident, what); },
          [&](ChildEndOrder& what) { run.ChildEnded(turn, what.end); },
          [&](SlotOrder& what) {
            // The grant may be for a request that was withdrawn meanwhile; ignore it then.
            if (world_.slots.Holds(run.run_id(), what.activity_id)) {
              run.SlotGranted(turn, what.activity_id);
            }
          },
          [&](TokenOrder& what) {
            resident.token_is_unsure = false;
            run.TokenTaken(turn, what.hook_id);
          },
          [&](RecoverOrder& what) {
            if (what.goes_on) {
              run.GoOn(turn);
            } else if (!what.restored || world_.host.Restored(run)) {
              run.Recover(turn);
            }
          },
          [&](TickOrder&) { run.Tick(turn); },
          [](StartOrder&) { EVERSTEP_ASSERT(false && "handled before a run is looked for"); },
          [](LookOrder&) { EVERSTEP_ASSERT(false && "handled before deciding"); },
      },
      order.what);
}

// Answers an order that cannot be carried out with an error.
void Lane::Refuse(LaneOrder& order, const Error& error) {
  NoteTaken(order);
  std::visit(Overloaded{
                 [&](StartOrder& what) {
                   if (what.answer) what.answer(error);
                 },
                 [&](ApproveOrder& what) {
                   if (what.answer) what.answer(error);
                 },
                 [&](HookOrder& what) {
                   if (what.answer) what.answer(error);
                 },
                 [&](SignalCall& what) {
                   if (what.answer) what.answer(error);
                 },
                 [&](LookOrder& what) { what.look(error); },
                 [&](ReportOrder& what) {
                   if (!what.answer) return;
                   const bool gone = error.code == ErrorCode::kRunNotFound;
                   what.answer(gone ? StaleReport(what.task) : error);
                 },
                 [&](AdmitOrder& what) { world_.host.NotStarted(order.run_id, what.epoch, true); },
                 [](auto&) {},
             },
             order.what);
}

void Lane::Measure(Timestamp before, std::size_t events) {
  const auto took = std::max<std::int64_t>(0, (world_.clock.Now() - before).count());
  const auto us = static_cast<std::uint64_t>(took);
  LaneCounters& counters = world_.counters;
  counters.writes.fetch_add(1);
  counters.write_us_sum.fetch_add(us);
  std::uint64_t max = counters.write_us_max.load();
  while (us > max && !counters.write_us_max.compare_exchange_weak(max, us)) {
  }
  slow_store_ = std::chrono::microseconds(took) > options_.budget.latency;
  if (!slow_store_) return;
  counters.write_timeouts.fetch_add(1);
  world_.host.Raise({"STATE_STORE_WRITE_SLOW",
                     "P2",
                     {},
                     "a write of " + std::to_string(events) + " events took " +
                         std::to_string(us / 1000) + " ms; the budget is " +
                         std::to_string(options_.budget.latency.count()) + " ms"});
}

void Lane::Commit() {
  std::vector<AppendOrder> orders;
  std::vector<Resident*> writing;
  std::vector<Resident*> touched;
  std::vector<const Resident*> discarded;
  touched.swap(touched_);
  std::size_t events = 0;
  std::vector<Resident*> ahead;  // dispatched before their events are durable
  std::size_t checkpoint_bytes = 0;
  const bool fails_open = slow_store_ && options_.budget.fail_open_step_started;
  for (Resident* resident : touched) {
    auto& writes = resident->turn->writes;
    if (writes.empty()) continue;
    events += writes.size();
    if (fails_open && MayFailOpen(writes)) ahead.push_back(resident);
    auto checkpoint = CheckpointOf(*resident, checkpoint_bytes);
    orders.push_back({resident->run->run_id(), std::move(writes), nullptr, std::move(checkpoint)});
    writing.push_back(resident);
  }
  if (!orders.empty()) {
    const Timestamp before = world_.clock.Now();
    auto submission = world_.authority.Submit(orders, {});
    for (Resident* resident : ahead) {
      world_.counters.buffered_events.fetch_add(resident->turn->effects.dispatch.size());
      Dispatch(std::move(resident->turn->effects.dispatch));
      resident->turn->effects.dispatch.clear();
    }
    const auto placed = world_.authority.Await(std::move(submission));
    EVERSTEP_ASSERT(placed.size() == writing.size());
    Measure(before, events);
    for (std::size_t i = 0; i < writing.size(); ++i) {
      if (!Settle(*writing[i], placed[i])) discarded.push_back(writing[i]);
    }
  }
  for (Resident* resident : touched) {
    if (std::ranges::find(discarded, resident) == discarded.end()) Release(*resident);
  }
}

// Handles the outcome of a run's write. Returns false if the decisions are void; the resident is
// then destroyed.
bool Lane::Settle(Resident& resident, const Result<Placed>& placed) {
  if (!placed) {
    Discard(resident, placed.error());
    return false;
  }
  const bool as_decided = !placed->duplicate && placed->seq == Next(resident.durable);
  if (!as_decided) {
    Discard(resident, {ErrorCode::kInvalidTransition,
                       "another writer appended to run " + resident.run->run_id().value(),
                       {}});
    return false;
  }
  resident.durable = resident.run->progress().last_seq;
  return true;
}

// The turn's decisions did not become durable. Rebuilds the run from its log and handles the turn's
// orders again. If the disk is full, callers that wait are refused and other orders are retried
// later; if the store has stopped, all are refused. The final RecoverOrder restores what no order
// repeats: slots, deadlines and the results of immediate tools.
void Lane::Discard(Resident& resident, const Error& error) {
  EVERSTEP_ASSERT(resident.touched && !resident.shed);
  const RunId run_id = resident.run->run_id();
  std::vector<LaneOrder> orders = std::move(resident.orders);
  const bool recovers = std::ranges::any_of(orders, [](const LaneOrder& order) {
    const auto* recover = std::get_if<RecoverOrder>(&order.what);
    return recover != nullptr && !recover->goes_on;
  });
  if (!recovers) orders.push_back({run_id, RecoverOrder{}});
  std::vector<LaneOrder> followers = std::move(resident.followers);
  if (resident.deadline != Timestamp{}) deadlines_.erase({resident.deadline, run_id});
  Forget(resident);
  const std::unique_ptr<Resident> gone = std::move(residents_.extract(run_id).mapped());
  world_.counters.runs_in_memory.fetch_sub(1);
  const bool full = error.code == ErrorCode::kStoreFull;
  const bool stops =
      error.code == ErrorCode::kIndeterminate || error.code == ErrorCode::kStoreStopped;
  if (full || (stops && !store_stopped_)) SetStoreFault(error);
  store_full_ = store_full_ || full;
  if (stops) {
    store_stopped_ = true;
  } else {
    FoldAgain(*gone->run);
  }
  for (LaneOrder& follower : followers) own_.push_back(std::move(follower));
  for (LaneOrder& order : orders) {
    const bool admitted = std::holds_alternative<StartOrder>(order.what) ||
                          std::holds_alternative<ApproveOrder>(order.what);
    if (admitted) world_.host.NotStarted(run_id, 0, true);
    if (std::holds_alternative<SlotOrder>(order.what)) continue;  // the slot is requested again
    if (store_stopped_ || (full && IsAsked(order)) || (!full && ++order.tries > kTriesMax)) {
      Refuse(order, error);
    } else if (full) {
      again_.emplace(now_ + kRetryStoreAfter, std::move(order));
    } else {
      own_.push_back(std::move(order));
    }
  }
}

void Lane::FoldAgain(const Execution& before) {
  const RunId& run_id = before.run_id();
  const auto loaded = Load(run_id);
  if (!loaded) {
    (void)world_.slots.Keep(run_id, {});
    return;
  }
  EVERSTEP_ASSERT(*loaded != nullptr);
  Execution& run = *(*loaded)->run;
  run.TakeOver(before, world_.slots.Keep(run_id, run.RunningIds()));
  Reindex(**loaded);
}

}  // namespace everstep
