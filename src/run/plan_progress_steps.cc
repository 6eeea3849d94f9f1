// How the events of steps, items of loops and compensations change a run's progress.

#include <utility>

#include "base/assert.h"
#include "run/payload_member.h"
#include "run/plan_progress.h"

namespace everstep {

void PlanProgress::Loop::SkipBegun() {
  while (next < units.size() && units[next].status != EntityStatus::kAbsent) ++next;
}

void PlanProgress::ApplyStepEvent(const Event& event) {
  const UnitKey key = UnitNamed(*plan, event.entity_id);
  if (key.step == kNoStep) return;
  if (key.role == UnitKey::Role::kUndo) undo.try_emplace(key);
  Unit* unit = Find(key);
  if (unit == nullptr) return;
  unit->last_seq = event.seq;
  if (plan->steps[key.step].foreach) loops_changed.insert(key.step);
  switch (event.type) {
    case EventType::kStepStarted:
      return ApplyStarted(key, *unit, event);
    case EventType::kStepCompleted:
      return ApplyCompleted(key, *unit, event);
    case EventType::kStepFailed:
      return ApplyFailed(key, *unit, event);
    case EventType::kStepSkipped:
      return ApplySkipped(key, *unit, event);
    default:
      return;
  }
}

void PlanProgress::ApplyStarted(const UnitKey& key, Unit& unit, const Event& event) {
  const bool again = unit.status == EntityStatus::kRunning;
  const bool first = unit.status == EntityStatus::kAbsent;
  unit.status = EntityStatus::kRunning;
  unit.logical_attempt = event.logical_attempt;
  unit.engine_attempt = event.engine_attempt;
  if (unit.started_at == Timestamp{}) unit.started_at = event.emitted_at;
  unit.attempt_at = event.emitted_at;
  if (again) return;  // delivered again: what it is asked to do was recorded before
  unit.ended_at = {};
  unit.will_retry = false;
  unit.error_code.clear();
  unit.error_message.clear();
  unit.inputs = RawMemberOf(event.payload, "input");
  unit.secret_prefix = TextMemberOf(event.payload, "secretPrefix");
  unit.idempotency_key = TextMemberOf(event.payload, "idempotencyKey");
  running.insert(key);
  SetAside(key);
  if (held.erase(key) > 0) unit.held = false;
  if (!overrides.empty()) overrides.erase(event.entity_id);
  if (key.role == UnitKey::Role::kItem) {
    Loop& loop = loops.at(key.step);
    if (first) ++loop.unsettled;
    loop.SkipBegun();
    ++loop.running;
  } else if (key.role == UnitKey::Role::kStep && plan->steps[key.step].foreach) {
    ApplyLoopStarted(key.step, event);
  }
}

void PlanProgress::ApplyLoopStarted(StepIndex step, const Event& event) {
  Loop& loop = loops[step];
  const Value items = ValueMemberOf(event.payload, "input").Get("items");
  if (items.kind() == Value::Kind::kList) loop.items = items.list();
  loop.units.resize(loop.items.size());
  loops_open.insert(step);
  steps[step].inputs.clear();
}

void PlanProgress::ApplyCompleted(const UnitKey& key, Unit& unit, const Event& event) {
  unit.status = EntityStatus::kSuccess;
  unit.ended_at = event.emitted_at;
  unit.result = RawMemberOf(event.payload, "result");
  unit.inputs.clear();
  running.erase(key);
  if (key.role == UnitKey::Role::kUndo) return;
  const PlanStep& spec = plan->steps[key.step];
  const bool item = key.role == UnitKey::Role::kItem;
  if (spec.compensate && item == spec.foreach.has_value()) succeeded.push_back(key);
  if (item) return EndItem(key, unit, true);
  loops_open.erase(key.step);
  Settle(key.step, Came::kThrough, {});
}

// The item has come to its end for good while it ran.
void PlanProgress::EndItem(const UnitKey& key, Unit& unit, bool success) {
  Loop& loop = loops.at(key.step);
  unit.settled = true;
  --loop.running;
  --loop.unsettled;
  ++loop.done;
  if (success) return;
  ++loop.failed;
  if (plan->steps[key.step].on_failure != PlanStep::OnFailure::kContinue) loop.stopped = true;
}

void PlanProgress::ApplyFailed(const UnitKey& key, Unit& unit, const Event& event) {
  unit.status = EntityStatus::kFailed;
  unit.ended_at = event.emitted_at;
  unit.error_code = event.facts.error_code;
  unit.error_message = event.facts.error_message;
  unit.will_retry = event.facts.will_retry;
  unit.inputs.clear();
  running.erase(key);
  if (!hook_conflicts.empty()) {
    hook_conflicts.erase(PurposeId("hook", event.entity_id, unit.logical_attempt));
  }
  const bool item = key.role == UnitKey::Role::kItem;
  if (unit.will_retry) {
    if (item) --loops.at(key.step).running;
    const bool at_once = event.facts.due_at <= event.emitted_at;
    if (at_once) AskForRetry(key);
    return;
  }
  if (!item) loops_open.erase(key.step);
  const bool hold = plan->steps[key.step].on_failure == PlanStep::OnFailure::kHold &&
                    ending == Ending::kNone && key.role != UnitKey::Role::kUndo;
  if (hold) {
    unit.held = true;
    held.insert(key);
    if (item) --loops.at(key.step).running;
    return;
  }
  if (item) return EndItem(key, unit, false);
  if (key.role == UnitKey::Role::kUndo) {
    undo_failed.push_back(UnitId(*plan, key));
    return;
  }
  ApplyStepFailedForGood(key.step, unit, event);
}

void PlanProgress::ApplyStepFailedForGood(StepIndex step, Unit& unit, const Event& event) {
  const PlanStep& spec = plan->steps[step];
  if (ending == Ending::kNone) {
    switch (spec.on_failure) {
      case PlanStep::OnFailure::kContinue:
        return Settle(step, Came::kThrough, {});
      case PlanStep::OnFailure::kFallback:
        if (steps[spec.fallback].settled) break;  // an operator skipped it before
        fallback_needed[spec.fallback] = true;
        ready.insert(PlaceOf(spec.fallback));
        return;
      case PlanStep::OnFailure::kHold:
      case PlanStep::OnFailure::kFail:
        break;
    }
    ending_step = spec.step_id;
    BeginEnding(Ending::kFailing, event, unit.error_code,
                "step " + spec.step_id + ": " + unit.error_message);
  }
  Settle(step, Came::kFailed, {});
}

void PlanProgress::ApplySkipped(const UnitKey& key, Unit& unit, const Event& event) {
  const bool begun = unit.status != EntityStatus::kAbsent;
  unit.status = EntityStatus::kSkipped;
  unit.logical_attempt = event.logical_attempt;
  unit.ended_at = event.emitted_at;
  unit.will_retry = false;
  unit.held = false;
  unit.error_code = TextMemberOf(event.payload, "reasonCode");
  unit.error_message = TextMemberOf(event.payload, "reason");
  held.erase(key);
  SetAside(key);
  if (key.role == UnitKey::Role::kUndo) return;
  if (key.role == UnitKey::Role::kItem) {
    Loop& loop = loops.at(key.step);
    unit.settled = true;
    loop.SkipBegun();
    if (begun) --loop.unsettled;
    ++loop.done;
    return;
  }
  loops_open.erase(key.step);
  doomed.erase(key.step);
  Settle(key.step, unit.error_code == "DEPENDENCY_FAILED" ? Came::kFailed : Came::kSkipped,
         unit.error_code);
}

void PlanProgress::Settle(StepIndex step, Came came, const std::string& code) {
  Unit& unit = steps[step];
  if (unit.settled) return;
  unit.settled = true;
  --open_steps;
  for (const StepIndex dependant : plan->steps[step].dependants) {
    Dependencies& waiting = dependencies[dependant];
    EVERSTEP_ASSERT(waiting.open > 0);
    --waiting.open;
    if (came == Came::kThrough) ++waiting.through;
    if (came == Came::kFailed) waiting.failed = true;
    if (came == Came::kSkipped) waiting.skip_code = code;
    if (waiting.open > 0 || steps[dependant].status != EntityStatus::kAbsent) continue;
    if (waiting.failed) {
      doomed.insert(dependant);
    } else {
      ready.insert(PlaceOf(dependant));
    }
  }
  SettleFallbacks(step, came);
}

// A fallback's end stands for the end of the step that it replaces; one that is not needed goes.
void PlanProgress::SettleFallbacks(StepIndex step, Came came) {
  const PlanStep& spec = plan->steps[step];
  const bool unused = spec.fallback != kNoStep && !fallback_needed[spec.fallback];
  if (unused && !steps[spec.fallback].settled) ready.insert(PlaceOf(spec.fallback));
  if (spec.fallback_of != kNoStep && fallback_needed[step]) {
    Settle(spec.fallback_of, came, steps[step].error_code);
  }
}

}  // namespace everstep
