#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "run/execution.h"
#include "run/merged_members.h"
#include "run/turn_commands.h"

namespace everstep {
namespace {

using Ending = RunProgress::Ending;

std::string StepOf(const SignalOrder& order) {
  const Value step = order.payload.Get("stepId");
  return step.kind() == Value::Kind::kText ? step.text() : std::string();
}

bool Flag(const SignalOrder& order, std::string_view name) {
  return IsTrue(order.payload.Get(name));
}

OrderRefusal NoSuchStep(const SignalOrder& order) {
  return {ErrorCode::kStepNotFound, "the run has no step " + StepOf(order)};
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

std::optional<OrderRefusal> Execution::Signal(Turn& turn, const SignalOrder& order) {
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
  return OrderRefusal{ErrorCode::kSignalInvalidPayload, "unknown signal \"" + order.type + "\""};
}

void Execution::RecordSignal(Turn& turn, const SignalOrder& order, bool accepted) {
  Event event = NewEvent(turn, accepted ? EventType::kSignalAccepted : EventType::kSignalRejected,
                         order.signal_id);
  event.payload = order.record;
  event.facts.escalation = order.type == "ESCALATE_ALERT";
  Emit(turn, std::move(event));
}

std::optional<OrderRefusal> Execution::Pause(Turn& turn, const SignalOrder& order) {
  if (status() != RunStatus::kRunning) {
    return OrderRefusal{ErrorCode::kInvalidTransition, "the run is " + std::string(Name(status())) +
                                                           "; only a RUNNING run pauses"};
  }
  if (state_.run.ending == Ending::kCancelling) {
    return OrderRefusal{ErrorCode::kInvalidTransition, "the run is being cancelled"};
  }
  RecordSignal(turn, order, true);
  Event event = NewEvent(turn, EventType::kRunPaused, {});
  event.payload = PausePayload(order);
  Emit(turn, std::move(event));
  drain_alerted_ = false;
  // Activities that wait for a slot are no longer about to start.
  for (const ActivityNo no : asked_) {
    turn.effects.freed_slots.push_back(IdOf(no));
    program_->PutBack(no);
  }
  asked_.clear();
  unasked_.clear();
  return std::nullopt;
}

std::optional<OrderRefusal> Execution::Resume(Turn& turn, const SignalOrder& order) {
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
    for (const auto& [wait_id, wait] : state_.activities.waits()) {
      if (wait.due_at <= turn.now) due.push_back(wait_id);
    }
    for (const std::string& wait_id : due) WaitDue(turn, wait_id);
  }
  Recover(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> Execution::Cancel(Turn& turn, const SignalOrder& order) {
  RecordSignal(turn, order, true);
  stops_sent_ = 0;
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> Execution::EmergencyStop(Turn& turn, const SignalOrder& order) {
  RecordSignal(turn, order, true);
  const std::set<ActivityNo> running = state_.activities.running();
  for (const ActivityNo no : running) {
    LetGo(turn, no);
    CancelAttempt(turn, no, "emergency stop", false);
  }
  EVERSTEP_ASSERT(state_.activities.running().empty() && under_way_.empty() && slots_.empty());
  for (const ActivityNo no : asked_) turn.effects.freed_slots.push_back(IdOf(no));
  asked_.clear();
  unasked_.clear();
  Event event = NewEvent(turn, EventType::kRunCancelled, {});
  event.payload = PausePayload(order);
  Emit(turn, std::move(event));
  return std::nullopt;
}

// Ends an attempt by order. `goes_on`: the order itself says what becomes of the activity.
void Execution::CancelAttempt(Turn& turn, ActivityNo no, std::string_view why, bool goes_on) {
  LeaveProcess(turn, no);
  const Activity& activity = at(no);
  Event event = NewEvent(turn, EventType::kStepFailed, activity.id);
  event.logical_attempt = activity.logical_attempt;
  event.engine_attempt = activity.engine_attempt;
  event.facts.will_retry = goes_on;
  event.facts.error_code = "CANCELLED";
  event.facts.error_message = why;
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("errorCode", "CANCELLED");
  json.Member("errorMessage", why);
  json.Member("retryable", false);
  json.Member("willRetry", goes_on);
  if (goes_on) json.Member("byOrder", true);
  json.EndObject();
  Emit(turn, std::move(event));
}

std::optional<OrderRefusal> Execution::RetryStep(Turn& turn, const SignalOrder& order) {
  const ActivityNo no = program_->Named(StepOf(order));
  if (no == kNoActivity) return NoSuchStep(order);
  if (auto refusal = program_->Refusal(no, Program::StepOrder::kRetry)) return refusal;
  if (state_.run.is_ending() && !program_->IsCompensation(no)) {
    return OrderRefusal{ErrorCode::kInvalidTransition, "the run is ending; no step is retried"};
  }
  const bool running = at(no).running();
  const bool scope = program_->WorkOf(no) == Work::kScope;
  if (at(no).status == EntityStatus::kAbsent || (running && (scope || !Flag(order, "force")))) {
    return OrderRefusal{ErrorCode::kStepNotTerminal,
                        "step " + StepOf(order) + " is " +
                            (running ? "RUNNING; with force it is stopped and tried again"
                                     : "not begun; only a step that failed is retried")};
  }
  RecordSignal(turn, order, true);
  if (running) {
    LetGo(turn, no);
    CancelAttempt(turn, no, "retried by an operator", true);
  }
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> Execution::SkipStep(Turn& turn, const SignalOrder& order) {
  const ActivityNo no = program_->Named(StepOf(order));
  if (no == kNoActivity) return NoSuchStep(order);
  if (auto refusal = program_->Refusal(no, Program::StepOrder::kSkip)) return refusal;
  RecordSignal(turn, order, true);
  if (at(no).running()) {
    LetGo(turn, no);
    CancelAttempt(turn, no, "skipped by an operator", true);
  }
  TurnCommands commands(*this, turn);
  program_->Leave(no, commands);
  LeaveProcess(turn, no);
  Skip(turn, no, "OPERATOR_SKIP", order.reason.empty() ? "skipped by an operator" : order.reason);
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> Execution::UpdateParams(Turn& turn, const SignalOrder& order) {
  if (status() == RunStatus::kPending || status() == RunStatus::kApproved) {
    return OrderRefusal{ErrorCode::kRunNotStarted,
                        "the run has not started; start it with other inputs"};
  }
  const Value params = order.payload.Get("params");
  const auto checked = compiled_->CheckInputs(ToJson(MergedMembers(state_.run.inputs, params)));
  if (!checked) return OrderRefusal{ErrorCode::kSignalInvalidPayload, ToString(checked.error())};
  RecordSignal(turn, order, true);
  Event event = NewEvent(turn, EventType::kContextUpdated, "inputs");
  event.payload = R"({"changes":)" + ToJson(params) + "}";
  Emit(turn, std::move(event));
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> Execution::ChangeStep(Turn& turn, const SignalOrder& order) {
  const ActivityNo no = program_->Named(StepOf(order));
  if (no == kNoActivity) return NoSuchStep(order);
  if (auto refusal = program_->Refusal(no, Program::StepOrder::kChange)) return refusal;
  RecordSignal(turn, order, true);
  Advance(turn);
  return std::nullopt;
}

std::optional<OrderRefusal> Execution::EscalateAlert(Turn& turn, const SignalOrder& order) {
  RecordSignal(turn, order, true);
  const Value level = order.payload.Get("level");
  const Value note = order.payload.Get("note");
  turn.effects.alerts.push_back(
      {"ALERT_ESCALATED", ToText(level), state_.run_id.value(), ToText(note)});
  return std::nullopt;
}

}  // namespace everstep
