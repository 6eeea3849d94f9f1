#include "testing/engine_witness.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "flow/value_names.h"
#include "run/execution.h"
#include "run/plan_program.h"

namespace everstep {
namespace {

std::string NameOf(const TaskId& task) {
  return task.run_id.value() + " " + task.step_id + " attempt " +
         std::to_string(task.logical_attempt) + " delivery " + std::to_string(task.engine_attempt);
}

// For folding, which needs no tools.
class NoTools final : public ToolBox {
 public:
  bool Has(std::string_view) const override { return false; }
  bool Immediate(std::string_view) const override { return false; }
  TaskOutcome RunNow(const Task&) override { return {}; }
  void Start(Task, TaskReports&) override {}
  void Cancel(const TaskId&, bool) override {}
  std::uint32_t Slots(std::string_view) const override { return 0; }
  std::vector<std::string> Kinds() const override { return {}; }
};

std::string Difference(const RunView& live, const RunView& folded) {
  if (live.status != folded.status) return "status " + live.status + " and " + folded.status;
  if (live.last_event_seq != folded.last_event_seq) return "last event";
  if (live.inputs != folded.inputs) return "inputs";
  if (live.result != folded.result || live.error_code != folded.error_code ||
      live.error_message != folded.error_message) {
    return "outcome";
  }
  if (live.started_at != folded.started_at || live.completed_at != folded.completed_at)
    return "times";
  for (std::size_t i = 0; i < live.steps.size(); ++i) {
    const StepView& a = live.steps[i];
    const StepView& b = folded.steps[i];
    const bool same = a.status == b.status && a.logical_attempt == b.logical_attempt &&
                      a.engine_attempt == b.engine_attempt && a.started_at == b.started_at &&
                      a.completed_at == b.completed_at && a.wakes_at == b.wakes_at &&
                      a.error_code == b.error_code && a.error_message == b.error_message &&
                      a.skip_code == b.skip_code && a.hook_token == b.hook_token &&
                      a.items_total == b.items_total && a.items_done == b.items_done &&
                      a.items_failed == b.items_failed && a.items_running == b.items_running &&
                      a.child_run_id == b.child_run_id;
    if (!same) return "step " + a.step_id + " (" + a.status + " and " + b.status + ")";
  }
  return {};
}

}  // namespace

void EngineWitness::KnowPlan(const std::string& given, const std::string& real) {
  real_plans_[given] = real;
}

const RunWitness* EngineWitness::Find(const RunId& run_id) const {
  const auto run = runs_.find(run_id);
  return run == runs_.end() ? nullptr : run->second.get();
}

// ---- the log

std::shared_ptr<const Plan> EngineWitness::PlanOf(const Event& queued, StateStore& store) {
  const auto raw = RawMember(queued.payload, "planSha256");
  const std::string hex(raw && raw->size() > 2 ? raw->substr(1, raw->size() - 2) : "");
  const auto known = plans_.find(hex);
  if (known != plans_.end()) return known->second;
  const auto sha256 = DigestFromHex(hex);
  if (!sha256) return nullptr;
  auto document = store.Read()->FindPlan(*sha256);
  if (!document || !*document) return nullptr;
  const auto real = real_plans_.find(**document);
  auto plan = ReadPlan(real == real_plans_.end() ? **document : real->second);
  if (!plan) return nullptr;
  // The inline child plans of this plan, as the engine was given them.
  return plans_[hex] = *plan;
}

void EngineWitness::Committed(std::span<const RunChange* const> changes, StateStore& store,
                              Timestamp now) {
  for (const RunChange* change : changes) {
    for (const Event& event : change->events) Take(change->run_id, event, store, now);
  }
}

void EngineWitness::Take(const RunId& run_id, const Event& event, StateStore& store,
                         Timestamp now) {
  ++events_;
  auto run = runs_.find(run_id);
  if (run == runs_.end()) {
    auto plan = PlanOf(event, store);
    if (plan == nullptr) return Wrong(run_id.value() + " starts but its plan is missing");
    run = runs_.emplace(run_id, std::make_unique<RunWitness>(run_id, plan, tell_)).first;
  }
  RunWitness& witness = *run->second;
  CheckReport(witness, event);
  if (event.type == EventType::kChildFinished) CheckChild(event);
  if (event.type == EventType::kStepCompleted || event.type == EventType::kStepFailed) {
    LeavePlaces(witness, event.entity_id);
    ended_.insert({run_id, event.entity_id, event.logical_attempt, event.engine_attempt});
    if (event.type == EventType::kStepCompleted && event.entity_id.ends_with(":undo")) ++undone_;
  }
  witness.Take(event, now);
}

// Checks that a tool's success or failure was reported by the very delivery that the log names,
// except for failures that the engine itself declares.
void EngineWitness::CheckReport(const RunWitness& run, const Event& event) {
  const bool success = event.type == EventType::kStepCompleted;
  if (!success && event.type != EventType::kStepFailed) return;
  const UnitKey key = UnitNamed(*run.plan(), event.entity_id);
  const RunWitness::Unit* unit = run.Find(event.entity_id);
  if (key.step == kNoStep || unit == nullptr || !run.IsTool(key)) return;
  const TaskId task{run.run_id(), event.entity_id, event.logical_attempt, event.engine_attempt};
  const std::set<std::string>& reports = workers_->ReportsOf(task);
  if (success) {
    const auto result = RawMember(event.payload, "result");
    if (unit->result_given || (result && reports.contains(std::string(*result)))) return;
    return Wrong(NameOf(task) + " completed without a report");
  }
  const std::string& code = event.facts.error_code;
  const bool waited = SimulatedWorkers::IsQueued(run.ActionOf(key).kind) && !taken_.contains(task);
  if (code == "TIMEOUT" && waited)
    Wrong(NameOf(task) + " timed out although no worker had taken it");
  if (reports.contains("!" + code) || code == "TIMEOUT") return;
  if (code == "DELIVERIES_EXHAUSTED" && event.engine_attempt >= engine_attempts_max_) return;
  const bool undo = key.role == UnitKey::Role::kUndo;
  const bool may_stop = run.ending() && !undo && run.ActionOf(key).cancellable;
  const bool by_operator = event.facts.will_retry;  // the record of the operator's order follows
  const bool emergency = event.facts.error_message == "emergency stop";
  if (code == "CANCELLED" && (may_stop || by_operator || emergency)) return;
  Wrong(NameOf(task) + " failed with " + code + " (" + event.facts.error_message +
        ") without a report");
}

void EngineWitness::CheckChild(const Event& event) {
  const RunWitness* child = Find(RunId(event.entity_id));
  if (child != nullptr && !IsTerminal(child->status())) {
    Wrong("child " + event.entity_id + " is recorded as ended but has not ended");
  }
}

std::vector<EngineWitness::Place> EngineWitness::PlacesOf(const RunWitness& run,
                                                          const UnitKey& key) const {
  std::vector<Place> places;
  if (!run.IsTool(key)) return places;
  const Action& action = run.ActionOf(key);
  if (!action.concurrency_key.empty()) {
    const auto text = action.concurrency_key.Render(ValueNames(Value::Map(ValueMap{})));
    if (text) places.emplace_back("key", ToText(*text));
  }
  if (action.queue.empty() && SimulatedWorkers::SlotsOf(action.kind) > 0) {
    places.emplace_back("slots", action.kind);
  }
  return places;
}

std::size_t EngineWitness::Capacity(const Place& place) {
  return place.first == "key" ? 1 : SimulatedWorkers::SlotsOf(place.second);
}

// Counts by the log, as the engine does: a task stopped by force counts until that is recorded.
bool EngineWitness::IsFull(const Place& place) const {
  std::size_t holders = 0;
  for (const auto& [run_id, run] : runs_) {
    for (const std::string& unit_id : run->running()) {
      const RunWitness::Unit& unit = *run->Find(unit_id);
      const TaskId task{run_id, unit_id, unit.logical_attempt, unit.engine_attempt};
      if (!dispatched_here_.contains(task)) continue;
      const std::vector<Place> places = PlacesOf(*run, UnitNamed(*run->plan(), unit_id));
      holders += std::ranges::find(places, place) != places.end() ? 1 : 0;
    }
  }
  return holders >= Capacity(place);
}

void EngineWitness::TakePlaces(const RunWitness& run, const TaskId& task) {
  for (const Place& place : PlacesOf(run, UnitNamed(*run.plan(), task.step_id))) {
    auto& holders = places_[place];
    holders.insert({task.run_id, task.step_id});
    if (holders.size() <= Capacity(place)) continue;
    std::string who;
    for (const auto& [run_id, unit_id] : holders) who += " " + run_id.value() + "/" + unit_id;
    Wrong(place.first + " " + place.second + " is held by" + who);
  }
}

void EngineWitness::LeavePlaces(const RunWitness& run, const std::string& unit_id) {
  const UnitKey key = UnitNamed(*run.plan(), unit_id);
  if (key.step == kNoStep) return;
  for (const Place& place : PlacesOf(run, key)) places_[place].erase({run.run_id(), unit_id});
}

// ---- workers

void EngineWitness::Dispatched(const Task& task) {
  if (task.id.engine_attempt > 1) ++redeliveries_;
  const RunWitness* run = Find(task.id.run_id);
  const RunWitness::Unit* unit = run == nullptr ? nullptr : run->Find(task.id.step_id);
  const bool current = unit != nullptr && unit->status == EntityStatus::kRunning &&
                       unit->logical_attempt == task.id.logical_attempt &&
                       unit->engine_attempt == task.id.engine_attempt;
  if (!current) Wrong(NameOf(task.id) + " is dispatched but does not run according to the log");
  if (!dispatched_.insert(task.id).second) Wrong(NameOf(task.id) + " is dispatched twice");
  dispatched_here_.insert(task.id);
  if (run != nullptr) TakePlaces(*run, task.id);
  const AttemptKey attempt{task.id.run_id, task.id.step_id, task.id.logical_attempt};
  const auto [asked, is_first] =
      asked_.try_emplace(attempt, std::pair(task.idempotency_key, task.inputs));
  if (asked->second.first != task.idempotency_key) {
    Wrong(NameOf(task.id) + " has a different idempotency key than the previous delivery");
  }
  if (asked->second.second != task.inputs) {
    Wrong(NameOf(task.id) + " has different inputs than the previous delivery");
  }
}

void EngineWitness::Reported(const TaskId& task) {
  const RunWitness* run = Find(task.run_id);
  const RunWitness::Unit* unit = run == nullptr ? nullptr : run->Find(task.step_id);
  const bool current = unit != nullptr && unit->logical_attempt == task.logical_attempt &&
                       unit->engine_attempt == task.engine_attempt;
  if (current) LeavePlaces(*run, task.step_id);
}

void EngineWitness::ProcessStarted(std::set<std::string> missing_tools) {
  dispatched_here_.clear();
  places_.clear();
  missing_tools_ = std::move(missing_tools);
}

void EngineWitness::CheckOwed() {
  for (const auto& [run_id, run] : runs_) {
    if (run->status() != RunStatus::kRunning) continue;
    for (const std::string& unit_id : run->running()) {
      const UnitKey key = UnitNamed(*run->plan(), unit_id);
      if (!run->IsTool(key) || missing_tools_.contains(run->ActionOf(key).kind)) continue;
      const RunWitness::Unit& unit = *run->Find(unit_id);
      const TaskId task{run_id, unit_id, unit.logical_attempt, unit.engine_attempt};
      if (dispatched_here_.contains(task)) continue;
      // Like any other unit, it may have to wait for its place.
      const std::vector<Place> places = PlacesOf(*run, key);
      const bool waits =
          std::ranges::any_of(places, [this](const Place& place) { return IsFull(place); });
      if (!waits) Wrong(NameOf(task) + " runs according to the log but was not dispatched");
    }
  }
}

// ---- restarts

void EngineWitness::Survived(StateStore& store) {
  const auto stored = ReadStoredLog(store);
  if (!stored) return Wrong("the log cannot be read: " + ToString(stored.error()));
  for (const auto& [run_id, run] : runs_) {
    const auto there = stored->runs.find(run_id);
    const std::size_t known = run->events().size();
    const std::size_t found = there == stored->runs.end() ? 0 : there->second.events.size();
    if (found < known) {
      Wrong(run_id.value() + " has lost " + std::to_string(known - found) + " events");
      continue;
    }
    const bool same =
        std::equal(run->events().begin(), run->events().end(), there->second.events.begin());
    if (!same) Wrong(run_id.value() + " has different events than before");
  }
  for (const auto& [run_id, run] : stored->runs) {
    const RunWitness* known = Find(run_id);
    const std::size_t from = known == nullptr ? 0 : known->events().size();
    // These were written by the crash's last write, which nobody observed.
    for (std::size_t i = from; i < run.events.size(); ++i) {
      Take(run_id, run.events[i], store, Timestamp::max());
    }
  }
  const auto tell = [this](const Findings& findings) {
    for (const std::string& finding : findings) Wrong(finding);
  };
  tell(CheckContiguous(*stored));
  tell(CheckTimes(*stored));
  tell(CheckTokens(*stored, store));
  tell(CheckVerified(store));
}

// ---- answers

void EngineWitness::AnsweredStart(const std::string& run_id) {
  if (Find(RunId(run_id)) == nullptr)
    Wrong(run_id + " was reported as started but is not in the log");
}

void EngineWitness::AnsweredSignal(const std::string& run_id, const SignalDecision& decision) {
  const RunWitness* run = Find(RunId(decision.new_run_id.empty() ? run_id : decision.new_run_id));
  if (!decision.new_run_id.empty()) {
    if (run == nullptr) Wrong("the new run " + decision.new_run_id + " is not in the log");
    return;
  }
  const bool there = run != nullptr && decision.run_seq > 0 &&
                     decision.run_seq <= run->events().size() &&
                     run->events()[decision.run_seq - 1].entity_id == decision.signal_id;
  if (!there) Wrong("signal " + decision.signal_id + " of " + run_id + " is not in the log");
}

void EngineWitness::AnsweredDelivery(const std::string& run_id, const std::string& delivery_id) {
  const RunWitness* run = Find(RunId(run_id));
  const bool there =
      run != nullptr && std::ranges::any_of(run->deliveries(), [&](const std::string& instance) {
        return instance.ends_with("/" + delivery_id);
      });
  if (!there) Wrong("delivery " + delivery_id + " to " + run_id + " is not in the log");
}

void EngineWitness::AnsweredReport(const TaskId& task, const Status& status) {
  if (status) {
    if (!ended_.contains(task)) Wrong("the report of " + NameOf(task) + " is not in the log");
    return;
  }
  if (status.error().code != ErrorCode::kStepAttemptStale) return;
  const RunWitness* run = Find(task.run_id);
  const RunWitness::Unit* unit = run == nullptr ? nullptr : run->Find(task.step_id);
  const bool runs =
      unit != nullptr && !IsTerminal(run->status()) && unit->status == EntityStatus::kRunning &&
      unit->logical_attempt == task.logical_attempt && unit->engine_attempt == task.engine_attempt;
  if (runs) Wrong("the report of " + NameOf(task) + " is refused although it runs");
}

void EngineWitness::CheckView(const RunView& view) {
  const RunWitness* run = Find(RunId(view.run_id));
  if (run == nullptr) return Wrong(view.run_id + " is shown but is not in the log");
  const NoTools no_tools;
  Execution folded(run->run_id(), std::make_shared<CompiledPlan>(run->plan()), no_tools, {});
  for (const Event& event : run->events()) folded.Apply(event);
  const std::string difference = Difference(view, folded.View());
  if (!difference.empty()) Wrong(view.run_id + " is shown differently from its log: " + difference);
}

void EngineWitness::CheckWhy(const Explanation& why) {
  const RunWitness* run = Find(RunId(why.run_id));
  if (run == nullptr || IsTerminal(run->status())) return;
  const bool named =
      !why.blockers.empty() && std::ranges::all_of(why.blockers, [](const Blocker& blocker) {
        return !blocker.kind.empty() && !blocker.message.empty();
      });
  if (!named) Wrong(why.run_id + " is " + why.status + " and has no named reason: " + why.summary);
}

}  // namespace everstep
