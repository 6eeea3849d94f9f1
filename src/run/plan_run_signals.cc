#include <algorithm>
#include <utility>

#include "base/json.h"
#include "run/plan_run.h"

namespace everstep {
namespace {

using Ending = PlanProgress::Ending;

std::string StepOf(const SignalOrder& order) {
  const Value step = order.payload.Get("stepId");
  return step.kind() == Value::Kind::kText ? step.text() : std::string();
}

bool Flag(const SignalOrder& order, std::string_view name) {
  return IsTrue(order.payload.Get(name));
}

std::string PausePayload(const SignalOrder& order) {
  std::string payload;
  JsonWriter json(payload);
  json.BeginObject();
  json.Member("signalId", order.signal_id);
  if (!order.reason.empty()) json.Member("reason", order.reason);
  json.EndObject();
  return payload;
}

}  // namespace

std::optional<OrderRefusal> PlanRun::Signal(Turn& turn, const SignalOrder& order) {
  const bool escalation = order.type == "ESCALATE_ALERT";
  if (IsTerminal(status()) && !escalation) {
    return OrderRefusal{ErrorCode::kRunTerminal, "the run is " + std::string(Name(status()))};
  }
  if (order.type == "PAUSE") return Pause(turn, order);
  if (order.type == "RESUME") return Resume(turn, order);
  if (order.type == "CANCEL") return Cancel(turn, order);
  if (order.type == "EMERGENCY_STOP") return EmergencyStop(turn, order);
  if (order.type == "RETRY_STEP") return RetryStep(turn, order);
  if (order.type == "SKIP_STEP") return SkipStep(turn, order);
  if (order.type == "UPDATE_PARAMS") return UpdateParams(turn, order);
  if (order.type == "INJECT_OVERRIDE" || order.type == "UPDATE_TARGET") {
    return ChangeStep(turn, order);
  }
  if (escalation) return EscalateAlert(turn, order);
  if (order.type == "RETRY_RUN") {
    if (!Flag(order, "force")) {
      return OrderRefusal{ErrorCode::kInvalidTransition,
                          "the run is " + std::string(Name(status())) +
                              "; it is run again when it has ended, or with force"};
    }
    RecordSignal(turn, order, true);
    return std::nullopt;
  }
  return OrderRefusal{ErrorCode::kSignalInvalidPayload, "there is no signal " + order.type};
}

void PlanRun::RecordSignal(Turn& turn, const SignalOrder& order, bool accepted) {
  Event event = NewEvent(turn, accepted ? EventType::kSignalAccepted : EventType::kSignalRejected,
                         order.signal_id);
  event.payload = order.record;
  event.facts.escalation = order.type == "ESCALATE_ALERT";
  Emit(turn, std::move(event));
}

std::optional<OrderRefusal> PlanRun::Pause(Turn& turn, const SignalOrder& order) {
  if (status() != RunStatus::kRunning) {
    return OrderRefusal{ErrorCode::kInvalidTransition, "the run is " + std::string(Name(status())) +
                                                           "; only a RUNNING run pauses"};
  }
  if (progress_.ending == Ending::kCancelling) {
    return OrderRefusal{ErrorCode::kInvalidTransition, "the run is being cancelled"};
  }
  RecordSignal(turn, order, true);
  Event event = NewEvent(turn, EventType::kRunPaused, {});
  event.payload = PausePayload(order);
  Emit(turn, std::move(event));
  drain_alerted_ = false;
  // Steps that wait for a slot are no longer about to start.
  for (const UnitKey& key : asked_) {
    turn.effects.freed_slots.push_back(key);
    progress_.PutBack(key);
  }
  asked_.clear();
  return std::nullopt;
}

std::optional<OrderRefusal> PlanRun::Resume(Turn& turn, const SignalOrder& order) {
  if (status() != RunStatus::kPaused) {
    return OrderRefusal{ErrorCode::kInvalidTransition, "the run is " + std::string(Name(status())) +
                                                           "; only a PAUSED run resumes"};
  }
  RecordSignal(turn, order, true);
  Event event = NewEvent(turn, EventType::kRunResumed, {});
  event.payload = PausePayload(order);
  Emit(turn, std::move(event));
  if (turn.may_start) {
    // What came due meanwhile fires now, and what another process left in flight is delivered
    // again.
    std::vector<std::string> due;
    for (const auto& [wait_id, wait] : progress_.waits) {
      if (wait.due_at <= turn.now) due.push_back(wait_id);
    }
    for (const std::string& wait_id : due) WaitDue(turn, wait_id);
  }
  Recover(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> PlanRun::Cancel(Turn& turn, const SignalOrder& order) {
  RecordSignal(turn, order, true);
  stops_sent_ = 0;
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> PlanRun::EmergencyStop(Turn& turn, const SignalOrder& order) {
  RecordSignal(turn, order, true);
  const std::set<UnitKey> running = progress_.running;
  for (const UnitKey& key : running) {
    LetGo(turn, key);
    CancelAttempt(turn, key, "emergency stop", false);
  }
  for (const UnitKey& key : asked_) turn.effects.freed_slots.push_back(key);
  asked_.clear();
  Event event = NewEvent(turn, EventType::kRunCancelled, {});
  event.payload = PausePayload(order);
  Emit(turn, std::move(event));
  return std::nullopt;
}

// Ends an attempt by order. `goes_on`: the order itself says what becomes of the unit.
void PlanRun::CancelAttempt(Turn& turn, const UnitKey& key, std::string_view why, bool goes_on) {
  LeaveProcess(turn, key);
  const Unit& unit = *progress_.Find(key);
  Event event = NewEvent(turn, EventType::kStepFailed, IdOf(key));
  event.logical_attempt = unit.logical_attempt;
  event.engine_attempt = unit.engine_attempt;
  event.facts.will_retry = goes_on;
  event.facts.error_code = "CANCELLED";
  event.facts.error_message = why;
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("errorCode", "CANCELLED");
  json.Member("errorMessage", why);
  json.Member("retryable", false);
  json.Member("willRetry", goes_on);
  json.EndObject();
  Emit(turn, std::move(event));
}

std::optional<OrderRefusal> PlanRun::RefuseIfOver(const UnitKey& key, const Unit& unit) const {
  const bool undo_failed =
      key.role == UnitKey::Role::kUndo && unit.status == EntityStatus::kFailed && !unit.will_retry;
  const bool over = unit.settled || undo_failed || unit.status == EntityStatus::kSuccess ||
                    unit.status == EntityStatus::kSkipped;
  if (over)
    return OrderRefusal{ErrorCode::kStepTerminal, "step " + IdOf(key) + " has come to its end"};
  if (key.role == UnitKey::Role::kStep && progress_.FellBack(key.step)) {
    const StepIndex fallback = progress_.plan->steps[key.step].fallback;
    return OrderRefusal{ErrorCode::kStepTerminal, "step " + IdOf(key) + " has failed and " +
                                                      IdOf({fallback}) + " stands in for it"};
  }
  return std::nullopt;
}

std::optional<OrderRefusal> PlanRun::RetryStep(Turn& turn, const SignalOrder& order) {
  const UnitKey key = UnitNamed(*progress_.plan, StepOf(order));
  const Unit* unit = progress_.Find(key);
  if (unit == nullptr) {
    return OrderRefusal{ErrorCode::kStepNotFound, "the run has no step " + StepOf(order)};
  }
  if (auto over = RefuseIfOver(key, *unit)) return over;
  if (progress_.ending != Ending::kNone && key.role != UnitKey::Role::kUndo) {
    return OrderRefusal{ErrorCode::kInvalidTransition, "the run is ending; no step is retried"};
  }
  const bool running = unit->status == EntityStatus::kRunning;
  const bool loop = key.role == UnitKey::Role::kStep && progress_.loops.contains(key.step);
  if (unit->status == EntityStatus::kAbsent || (running && (loop || !Flag(order, "force")))) {
    return OrderRefusal{ErrorCode::kStepNotTerminal,
                        "step " + StepOf(order) + " is " +
                            (running ? "RUNNING; with force it is stopped and tried again"
                                     : "not begun; only a step that failed is retried")};
  }
  RecordSignal(turn, order, true);
  if (running) {
    LetGo(turn, key);
    CancelAttempt(turn, key, "retried by an operator", true);
  }
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> PlanRun::SkipStep(Turn& turn, const SignalOrder& order) {
  const UnitKey key = UnitNamed(*progress_.plan, StepOf(order));
  const Unit* unit = progress_.Find(key);
  if (unit == nullptr) {
    return OrderRefusal{ErrorCode::kStepNotFound, "the run has no step " + StepOf(order)};
  }
  if (auto over = RefuseIfOver(key, *unit)) return over;
  const bool loop = key.role == UnitKey::Role::kStep && progress_.loops.contains(key.step);
  if (loop && progress_.loops.at(key.step).unsettled > 0) {
    return OrderRefusal{ErrorCode::kStepNotTerminal,
                        "step " + StepOf(order) + " is a loop under way; skip its items"};
  }
  RecordSignal(turn, order, true);
  if (unit->status == EntityStatus::kRunning) {
    LetGo(turn, key);
    CancelAttempt(turn, key, "skipped by an operator", true);
  }
  if (loop) WithdrawItems(turn, key.step);
  LeaveProcess(turn, key);
  Skip(turn, key, "OPERATOR_SKIP", order.reason.empty() ? "skipped by an operator" : order.reason);
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> PlanRun::UpdateParams(Turn& turn, const SignalOrder& order) {
  if (status() == RunStatus::kPending || status() == RunStatus::kApproved) {
    return OrderRefusal{ErrorCode::kRunNotStarted,
                        "the run has not started; start it with other inputs"};
  }
  const Value params = order.payload.Get("params");
  ValueMap merged = progress_.inputs.members();
  for (const ValueMember& param : params.members()) {
    const auto known = std::ranges::find(merged, param.first, &ValueMember::first);
    if (known == merged.end()) {
      merged.push_back(param);
    } else {
      known->second = param.second;
    }
  }
  const auto checked = CheckInputs(*progress_.plan, ToJson(Value::Map(std::move(merged))));
  if (!checked) return OrderRefusal{ErrorCode::kSignalInvalidPayload, ToString(checked.error())};
  RecordSignal(turn, order, true);
  Event event = NewEvent(turn, EventType::kContextUpdated, "inputs");
  event.payload = R"({"changes":)" + ToJson(params) + "}";
  Emit(turn, std::move(event));
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> PlanRun::ChangeStep(Turn& turn, const SignalOrder& order) {
  const UnitKey key = UnitNamed(*progress_.plan, StepOf(order));
  const Unit* unit = progress_.Find(key);
  if (unit == nullptr) {
    return OrderRefusal{ErrorCode::kStepNotFound, "the run has no step " + StepOf(order)};
  }
  if (auto over = RefuseIfOver(key, *unit)) return over;
  RecordSignal(turn, order, true);
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> PlanRun::EscalateAlert(Turn& turn, const SignalOrder& order) {
  RecordSignal(turn, order, true);
  const Value level = order.payload.Get("level");
  const Value note = order.payload.Get("note");
  turn.effects.alerts.push_back({"ALERT_ESCALATED", ToText(level), run_id_.value(), ToText(note)});
  return std::nullopt;
}

}  // namespace everstep
