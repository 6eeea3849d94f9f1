#include "testing/run_witness.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/value.h"
#include "event/catalogue.h"
#include "testing/simulated_workers.h"

namespace everstep {
namespace {

Value Member(const std::string& payload, std::string_view key) {
  if (payload.empty()) return {};
  const auto raw = RawMember(payload, key);
  if (!raw) return {};
  auto value = ValueFromJson(*raw);
  return value ? std::move(*value) : Value();
}

std::string Text(const Value& value) {
  return value.kind() == Value::Kind::kText ? value.text() : std::string();
}

}  // namespace

RunWitness::RunWitness(RunId run_id, std::shared_ptr<const Plan> plan, Tell tell)
    : run_id_(std::move(run_id)), plan_(std::move(plan)), tell_(std::move(tell)) {}

void RunWitness::Wrong(const std::string& what) const {
  std::string at = run_id_.value() + " runSeq " + std::to_string(events_.size());
  if (!events_.empty()) {
    at += " " + std::string(SpecOf(events_.back().type).name);
    if (!events_.back().entity_id.empty()) at += "(" + events_.back().entity_id + ")";
  }
  tell_(at + ": " + what);
}

void RunWitness::Take(const Event& event, Timestamp now) {
  events_.push_back(event);
  if (event.seq.value() != events_.size()) Wrong("has runSeq " + std::to_string(event.seq.value()));
  if (IsTerminal(status_) && !event.facts.escalation) Wrong("follows the end of its run");
  switch (SpecOf(event.type).entity) {
    case EntityKind::kRun:
      return TakeRun(event);
    case EntityKind::kStep:
      return TakeStep(event, now);
    case EntityKind::kWait:
      return TakeWait(event, now);
    case EntityKind::kHook:
      return TakeHook(event);
    case EntityKind::kChild:
      return TakeChild(event);
    case EntityKind::kSignal:
      return TakeSignal(event);
    default:
      return;
  }
}

void RunWitness::TakeRun(const Event& event) {
  switch (event.type) {
    case EventType::kRunQueued:
      status_ = RunStatus::kPending;
      return;
    case EventType::kRunApproved:
      status_ = RunStatus::kApproved;
      return;
    case EventType::kRunStarted:
      if (plan_->requires_approval && status_ != RunStatus::kApproved)
        Wrong("starts without approval");
      if (status_ == RunStatus::kRunning) Wrong("starts for the second time");
      status_ = RunStatus::kRunning;
      return;
    case EventType::kRunPaused:
      status_ = RunStatus::kPaused;
      return;
    case EventType::kRunResumed:
      status_ = RunStatus::kRunning;
      return;
    default:
      CheckEnd(event);
      status_ = event.type == EventType::kRunCompleted ? RunStatus::kCompleted
                : event.type == EventType::kRunFailed  ? RunStatus::kFailed
                                                       : RunStatus::kCancelled;
  }
}

void RunWitness::CheckEnd(const Event& event) {
  if (!running_.empty()) Wrong("ends the run while " + *running_.begin() + " runs");
  if (event.type == EventType::kRunCompleted) {
    if (ending()) Wrong("completes a run that was failing or being cancelled");
    for (StepIndex step = 0; step < plan_->steps.size(); ++step) {
      const StepEnd end = EndOf(step);
      if (end == StepEnd::kNone || end == StepEnd::kFailed) {
        Wrong("completes a run whose step " + plan_->steps[step].step_id + " did not succeed");
      }
    }
    return;
  }
  if (event.type == EventType::kRunFailed && !failing_)
    Wrong("fails a run that has no reason to fail");
  if (event.type == EventType::kRunCancelled && !cancelling_ && !emergency_) {
    Wrong("cancels a run although nobody requested it");
  }
  if (emergency_) return;
  for (const StepIndex step : succeeded_) {
    if (!UndoIsOver(step))
      Wrong("ends the run although " + plan_->steps[step].step_id + " is not undone");
  }
}

// ---- steps

bool RunWitness::IsLoop(const UnitKey& key) const {
  return key.role == UnitKey::Role::kStep && plan_->steps[key.step].foreach.has_value();
}

bool RunWitness::IsTool(const UnitKey& key) const {
  const PlanStep& step = plan_->steps[key.step];
  if (key.role == UnitKey::Role::kUndo) return true;
  return !step.wait_for && !step.child && !IsLoop(key);
}

const Action& RunWitness::ActionOf(const UnitKey& key) const {
  const PlanStep& step = plan_->steps[key.step];
  return key.role == UnitKey::Role::kUndo ? *step.compensate : step.action;
}

const RunWitness::Unit* RunWitness::Find(std::string_view unit_id) const {
  const auto unit = units_.find(unit_id);
  return unit == units_.end() ? nullptr : &unit->second;
}

bool RunWitness::UndoIsOver(StepIndex step) const {
  const Unit* undo = Find(UnitId(*plan_, {step, UnitKey::Role::kUndo, 0}));
  if (undo == nullptr) return false;
  return undo->status == EntityStatus::kSuccess || undo->status == EntityStatus::kSkipped ||
         (undo->status == EntityStatus::kFailed && !undo->will_retry);
}

RunWitness::StepEnd RunWitness::EndOf(StepIndex step) const {
  const PlanStep& spec = plan_->steps[step];
  const Unit* unit = Find(spec.step_id);
  if (unit == nullptr) return StepEnd::kNone;
  if (unit->status == EntityStatus::kSuccess) return StepEnd::kSucceeded;
  if (unit->status == EntityStatus::kSkipped) {
    return unit->code == "DEPENDENCY_FAILED" ? StepEnd::kFailed : StepEnd::kSkipped;
  }
  if (unit->status != EntityStatus::kFailed || unit->will_retry) return StepEnd::kNone;
  if (unit->was_ending) return StepEnd::kFailed;
  switch (spec.on_failure) {
    case PlanStep::OnFailure::kContinue:
      return StepEnd::kSucceeded;
    case PlanStep::OnFailure::kFallback:
      return EndOf(spec.fallback);
    case PlanStep::OnFailure::kHold:
      return unit->items > 0 ? StepEnd::kFailed : StepEnd::kNone;
    case PlanStep::OnFailure::kFail:
      break;
  }
  return StepEnd::kFailed;
}

void RunWitness::TakeStep(const Event& event, Timestamp now) {
  const UnitKey key = UnitNamed(*plan_, event.entity_id);
  if (key.step == kNoStep) return Wrong("names a step that is not in the plan");
  Unit& unit = units_[event.entity_id];
  switch (event.type) {
    case EventType::kStepStarted:
      return TakeStarted(key, unit, event);
    case EventType::kStepCompleted:
      return TakeCompleted(key, unit, event);
    case EventType::kStepFailed:
      return TakeFailed(key, unit, event, now);
    case EventType::kStepSkipped:
      return TakeSkipped(key, unit, event);
    default:
      return Wrong("is an event that does not occur in plans");
  }
}

void RunWitness::TakeStarted(const UnitKey& key, Unit& unit, const Event& event) {
  const bool again = event.engine_attempt > 1;
  // A step that must not be interrupted is delivered again even if the run was paused when it was
  // cancelled.
  const bool goes_on = again && ending() && status_ == RunStatus::kPaused;
  if (status_ != RunStatus::kRunning && !goes_on) {
    Wrong("starts while the run is " + std::string(Name(status_)));
  }
  if (again) {
    const bool follows = unit.status == EntityStatus::kRunning &&
                         event.logical_attempt == unit.logical_attempt &&
                         event.engine_attempt == unit.engine_attempt + 1;
    if (!follows) Wrong("is redelivered out of order");
  } else {
    CheckFirstDelivery(key, unit, event);
    if (key.role == UnitKey::Role::kItem) {
      Unit& loop = units_[plan_->steps[key.step].step_id];
      ++loop.items_running;
      loop.items_begun = std::max(loop.items_begun, key.item + 1);
    }
    if (IsLoop(key) && unit.items == 0) {
      const Value items = Member(event.payload, "input").Get("items");
      if (items.kind() == Value::Kind::kList) unit.items = items.list().size();
    }
    unit.result_given = std::exchange(unit.result_ordered, false);
    unit.answered = false;
    unit.answered_with.clear();
  }
  unit.status = EntityStatus::kRunning;
  unit.logical_attempt = event.logical_attempt;
  unit.engine_attempt = event.engine_attempt;
  unit.delivered_at = event.emitted_at;
  unit.will_retry = unit.retry_due = unit.attempt_ordered = false;
  running_.insert(event.entity_id);
}

void RunWitness::CheckFirstDelivery(const UnitKey& key, const Unit& unit, const Event& event) {
  if (unit.status == EntityStatus::kRunning || unit.status == EntityStatus::kSuccess ||
      unit.status == EntityStatus::kSkipped) {
    Wrong("starts although it is " + std::string(Name(unit.status)));
  }
  if (event.logical_attempt != unit.logical_attempt + 1) {
    Wrong("is attempt " + std::to_string(event.logical_attempt) + " after " +
          std::to_string(unit.logical_attempt));
  }
  const std::uint32_t most = IsLoop(key) ? 1 : ActionOf(key).attempts_max;
  if (event.logical_attempt > most + unit.attempts_ordered) {
    Wrong("is attempt " + std::to_string(event.logical_attempt) + " of at most " +
          std::to_string(most));
  }
  if (unit.status == EntityStatus::kFailed && !unit.attempt_ordered) {
    if (!unit.will_retry) Wrong("is retried although it had failed permanently");
    if (!unit.retry_due) Wrong("is retried before its backoff is over");
  }
  switch (key.role) {
    case UnitKey::Role::kStep:
      return CheckOrder(key.step);
    case UnitKey::Role::kItem:
      return CheckItem(key, unit);
    case UnitKey::Role::kUndo:
      return CheckUndo(key);
  }
}

void RunWitness::CheckOrder(StepIndex step) {
  const PlanStep& spec = plan_->steps[step];
  if (ending()) Wrong("starts while the run is ending");
  bool through = spec.depends_on.empty();
  for (const StepIndex dependency : spec.depends_on) {
    const StepEnd end = EndOf(dependency);
    const std::string& id = plan_->steps[dependency].step_id;
    if (end == StepEnd::kNone) Wrong("starts before " + id + " has ended");
    if (end == StepEnd::kFailed) Wrong("starts although " + id + " failed");
    through = through || end == StepEnd::kSucceeded;
  }
  if (!through) Wrong("starts although all its dependencies were skipped");
  if (spec.fallback_of == kNoStep) return;
  const Unit* failed = Find(plan_->steps[spec.fallback_of].step_id);
  const bool needed = failed != nullptr &&
                      (failed->status == EntityStatus::kFailed || failed->attempts_ordered > 0);
  if (!needed) Wrong("starts although the step it replaces did not fail");
}

void RunWitness::CheckItem(const UnitKey& key, const Unit& unit) {
  const PlanStep& spec = plan_->steps[key.step];
  const Unit& loop = units_[spec.step_id];
  if (ending()) Wrong("starts while the run is ending");
  if (loop.status != EntityStatus::kRunning) Wrong("starts although its loop is not running");
  if (key.item >= loop.items) Wrong("exceeds the items of its loop");
  if (loop.items_running >= spec.foreach->in_flight_max) {
    Wrong("exceeds the " + std::to_string(spec.foreach->in_flight_max) +
          " items that may be in flight");
  }
  if (unit.logical_attempt == 0 && key.item > loop.items_begun) Wrong("starts out of turn");
}

void RunWitness::CheckUndo(const UnitKey& key) {
  if (!ending()) Wrong("undoes a step of a run that is not ending");
  const auto place = std::ranges::find(succeeded_, key.step);
  if (place == succeeded_.end()) return Wrong("undoes a step that did not succeed");
  if (!running_.empty()) Wrong("undoes a step while " + *running_.begin() + " runs");
  for (auto later = place + 1; later != succeeded_.end(); ++later) {
    if (!UndoIsOver(*later)) Wrong("comes before " + plan_->steps[*later].step_id + " is undone");
  }
}

void RunWitness::TakeCompleted(const UnitKey& key, Unit& unit, const Event& event) {
  const bool current = unit.status == EntityStatus::kRunning &&
                       unit.logical_attempt == event.logical_attempt &&
                       unit.engine_attempt == event.engine_attempt;
  if (!current) Wrong("completes a delivery that is not in flight");
  if (IsLoop(key)) {
    if (unit.items_running > 0) Wrong("completes a loop whose items are still running");
    for (std::uint32_t item = 0; item < unit.items; ++item) {
      const Unit* of = Find(UnitId(*plan_, {key.step, UnitKey::Role::kItem, item}));
      const bool over = of != nullptr && of->status != EntityStatus::kRunning && !of->will_retry;
      if (!over) Wrong("completes a loop whose item " + std::to_string(item) + " has not ended");
    }
  } else if (!IsTool(key) && !unit.answered && !unit.result_given) {
    Wrong("completes before what it waits for has happened");
  } else if (!unit.answered_with.empty()) {
    Wrong("completes although its hook received the failure " + unit.answered_with);
  }
  unit.status = EntityStatus::kSuccess;
  running_.erase(event.entity_id);
  if (key.role == UnitKey::Role::kItem) --units_[plan_->steps[key.step].step_id].items_running;
  if (key.role == UnitKey::Role::kStep && plan_->steps[key.step].compensate) {
    succeeded_.push_back(key.step);
  }
}

// Whether an operator skipped the fallback before it was needed.
bool RunWitness::FallbackIsGone(const UnitKey& key) const {
  const PlanStep& spec = plan_->steps[key.step];
  if (key.role != UnitKey::Role::kStep || spec.fallback == kNoStep) return false;
  const Unit* fallback = Find(plan_->steps[spec.fallback].step_id);
  return fallback != nullptr && fallback->status == EntityStatus::kSkipped;
}

void RunWitness::TakeFailed(const UnitKey& key, Unit& unit, const Event& event, Timestamp now) {
  const bool current = unit.status == EntityStatus::kRunning &&
                       unit.logical_attempt == event.logical_attempt &&
                       unit.engine_attempt == event.engine_attempt;
  if (!current) Wrong("fails a delivery that is not in flight");
  CheckCause(key, unit, event, now);
  unit.status = EntityStatus::kFailed;
  unit.will_retry = event.facts.will_retry;
  unit.retry_due = event.facts.due_at == Timestamp{};
  unit.code = event.facts.error_code;
  unit.was_ending = ending() || FallbackIsGone(key);
  running_.erase(event.entity_id);
  if (key.role == UnitKey::Role::kItem) --units_[plan_->steps[key.step].step_id].items_running;
  const PlanStep& spec = plan_->steps[key.step];
  const bool fatal = key.role == UnitKey::Role::kStep && !unit.will_retry &&
                     (spec.on_failure == PlanStep::OnFailure::kFail || FallbackIsGone(key) ||
                      (spec.on_failure == PlanStep::OnFailure::kHold && unit.items > 0));
  if (fatal) failing_ = true;
  // If a fallback fails, the step it replaces fails with it.
  if (key.role != UnitKey::Role::kStep || unit.will_retry) return;
  if (spec.fallback_of != kNoStep && EndOf(spec.fallback_of) == StepEnd::kFailed) failing_ = true;
}

// Checks the conditions of failures that the engine itself declares.
void RunWitness::CheckCause(const UnitKey& key, const Unit& unit, const Event& event,
                            Timestamp now) {
  const Action& action = ActionOf(key);
  const std::string& code = event.facts.error_code;
  if (code == "TIMEOUT" && IsTool(key)) {
    // For tasks that wait for a worker, the time at which they were taken is not known here.
    const bool queued = SimulatedWorkers::IsQueued(action.kind);
    const bool over = action.timeout && (queued || now >= unit.delivered_at + *action.timeout);
    if (!over) Wrong("times out too early");
  }
  if (!unit.answered_with.empty() && code != unit.answered_with) {
    Wrong("fails with " + code + " although its hook received " + unit.answered_with);
  }
  if (event.facts.will_retry && ending() && key.role != UnitKey::Role::kUndo &&
      code != "CANCELLED") {
    Wrong("promises another attempt while the run is ending");
  }
}

void RunWitness::TakeSkipped(const UnitKey& key, Unit& unit, const Event& event) {
  const std::string code = Text(Member(event.payload, "reasonCode"));
  if (unit.status == EntityStatus::kRunning || unit.status == EntityStatus::kSuccess ||
      unit.status == EntityStatus::kSkipped) {
    Wrong("skips a step that is " + std::string(Name(unit.status)));
  }
  if (code == "OPERATOR_SKIP" && !unit.skip_ordered && unit.status != EntityStatus::kAbsent) {
    Wrong("was not requested");
  }
  if (key.role == UnitKey::Role::kStep && !unit.skip_ordered) {
    for (const StepIndex dependency : plan_->steps[key.step].depends_on) {
      if (EndOf(dependency) == StepEnd::kNone) {
        Wrong("skips before " + plan_->steps[dependency].step_id + " has ended");
      }
    }
  }
  if (key.role == UnitKey::Role::kItem) {
    Unit& loop = units_[plan_->steps[key.step].step_id];
    loop.items_begun = std::max(loop.items_begun, key.item + 1);
  }
  unit.status = EntityStatus::kSkipped;
  unit.will_retry = false;
  unit.code = code;
}

}  // namespace everstep
