#include "run/plan_progress.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "event/catalogue.h"
#include "run/payload_member.h"

namespace everstep {
namespace {

constexpr std::string_view kRunTimeout = "run-timeout";
constexpr std::string_view kOutputs = "outputs";  // as the source of an error

Value Merged(const Value& base, const Value& changes) {
  ValueMap members = base.kind() == Value::Kind::kMap ? base.members() : ValueMap();
  for (ValueMember& change : changes.members()) {
    const auto known = std::ranges::find(members, change.first, &ValueMember::first);
    if (known == members.end()) {
      members.push_back(std::move(change));
    } else {
      known->second = std::move(change.second);
    }
  }
  return Value::Map(std::move(members));
}

}  // namespace

Sha256Digest SignalBody(std::string_view type, const Value& payload) {
  const std::string json = payload.undefined() ? "{}" : ToJson(payload);
  const auto canonical = CanonicalJson(json);
  return Sha256(std::string(type) + "|" + (canonical ? *canonical : json));
}

PlanProgress::PlanProgress(std::shared_ptr<const Plan> of)
    : plan(std::move(of)),
      inputs(Value::Map(ValueMap{})),
      steps(plan->steps.size()),
      dependencies(plan->steps.size()),
      open_steps(static_cast<std::uint32_t>(plan->steps.size())),
      fallback_needed(plan->steps.size()) {
  for (StepIndex step = 0; step < plan->steps.size(); ++step) {
    const PlanStep& spec = plan->steps[step];
    dependencies[step].open = static_cast<std::uint32_t>(spec.depends_on.size());
    if (spec.depends_on.empty() && spec.fallback_of == kNoStep) ready.insert(PlaceOf(step));
  }
}

void PlanProgress::SetAside(const UnitKey& key) {
  if (key.role == UnitKey::Role::kStep) ready.erase(PlaceOf(key.step));
  if (key.role == UnitKey::Role::kItem) loops.at(key.step).again.erase(key.item);
  retry_ready.erase(key);
}

void PlanProgress::PutBack(const UnitKey& key) {
  const Unit* unit = Find(key);
  if (unit != nullptr && unit->status == EntityStatus::kFailed) return AskForRetry(key);
  const bool begun = unit != nullptr && unit->status != EntityStatus::kAbsent;
  if (key.role == UnitKey::Role::kStep && !begun) ready.insert(PlaceOf(key.step));
}

bool PlanProgress::FellBack(StepIndex step) const {
  const StepIndex fallback = plan->steps[step].fallback;
  return fallback != kNoStep && fallback_needed[fallback];
}

Unit* PlanProgress::Find(const UnitKey& key) {
  return const_cast<Unit*>(std::as_const(*this).Find(key));
}

const Unit* PlanProgress::Find(const UnitKey& key) const {
  if (key.step >= steps.size()) return nullptr;
  switch (key.role) {
    case UnitKey::Role::kStep:
      return &steps[key.step];
    case UnitKey::Role::kItem: {
      const auto loop = loops.find(key.step);
      if (loop == loops.end() || key.item >= loop->second.units.size()) return nullptr;
      return &loop->second.units[key.item];
    }
    case UnitKey::Role::kUndo: {
      const auto unit = undo.find(key);
      return unit == undo.end() ? nullptr : &unit->second;
    }
  }
  return nullptr;
}

void PlanProgress::Apply(const Event& event) {
  last_seq = event.seq;
  if (!IsKnown(event.type)) return;
  switch (SpecOf(event.type).entity) {
    case EntityKind::kRun:
      return ApplyRunEvent(event);
    case EntityKind::kStep:
      return ApplyStepEvent(event);
    case EntityKind::kWait:
      return ApplyWaitEvent(event);
    case EntityKind::kHook:
      return ApplyHookEvent(event);
    case EntityKind::kChild:
      return ApplyChildEvent(event);
    case EntityKind::kSignal:
      return ApplySignal(event);
    case EntityKind::kError:
      return ApplyError(event);
    case EntityKind::kContext:
      inputs = Merged(inputs, ValueMemberOf(event.payload, "changes"));
      return;
    default:
      return;
  }
}

void PlanProgress::ApplyRunEvent(const Event& event) {
  status_seq = event.seq;
  switch (event.type) {
    case EventType::kRunQueued:
      status = RunStatus::kPending;
      return ApplyQueued(event);
    case EventType::kRunApproved:
      status = RunStatus::kApproved;
      origin.queued_at =
          ParseTimestamp(TextMemberOf(event.payload, "queuedAt")).value_or(Timestamp{});
      return;
    case EventType::kRunStarted:
      status = RunStatus::kRunning;
      started_at = event.emitted_at;
      started_seq = event.seq;
      return;
    case EventType::kRunPaused:
      status = RunStatus::kPaused;
      paused_at = event.emitted_at;
      pause_reason = TextMemberOf(event.payload, "reason");
      return;
    case EventType::kRunResumed:
      status = RunStatus::kRunning;
      return;
    case EventType::kRunCompleted:
      status = RunStatus::kCompleted;
      result = RawMemberOf(event.payload, "result");
      break;
    case EventType::kRunFailed:
      status = RunStatus::kFailed;
      error_code = event.facts.error_code;
      error_message = event.facts.error_message;
      break;
    case EventType::kRunCancelled:
      status = RunStatus::kCancelled;
      error_message = TextMemberOf(event.payload, "reason");
      break;
    default:
      break;
  }
  completed_at = event.emitted_at;
}

void PlanProgress::ApplyQueued(const Event& event) {
  created_at = event.emitted_at;
  const std::string& payload = event.payload;
  origin.inputs = RawMemberOf(payload, "input");
  const Value given = ValueMemberOf(payload, "input");
  if (given.kind() == Value::Kind::kMap) inputs = given;
  origin.request_id = TextMemberOf(payload, "runRequestId");
  origin.uri = TextMemberOf(payload, "planUri");
  origin.triggered_by = TextMemberOf(payload, "triggeredBy");
  origin.trigger_source = TextMemberOf(payload, "triggerSource");
  origin.traceparent = TextMemberOf(payload, "traceparent");
  origin.tracestate = TextMemberOf(payload, "tracestate");
  origin.concurrency_key = TextMemberOf(payload, "concurrencyKey");
  origin.parent = RunId(TextMemberOf(payload, "parentRunId"));
  origin.parent_step = TextMemberOf(payload, "parentStepId");
  origin.original = RunId(TextMemberOf(payload, "originalRunId"));
  origin.queued_at = ParseTimestamp(TextMemberOf(payload, "queuedAt")).value_or(Timestamp{});
  origin.start_at = ParseTimestamp(TextMemberOf(payload, "startAt")).value_or(Timestamp{});
  const Value priority = ValueMemberOf(payload, "priority");
  if (priority.kind() == Value::Kind::kInt) {
    origin.priority = static_cast<std::int32_t>(priority.int_value());
  }
  const Value plans = ValueMemberOf(payload, "children");
  if (plans.kind() != Value::Kind::kMap) return;
  for (const ValueMember& child : plans.members()) {
    if (child.second.kind() == Value::Kind::kText) {
      origin.children.emplace(child.first, child.second.text());
    }
  }
}

void PlanProgress::ApplyWaitEvent(const Event& event) {
  if (event.type == EventType::kWaitCreated) {
    waits[event.entity_id] = {event.facts.due_at, event.seq};
    return;
  }
  waits.erase(event.entity_id);
  if (event.entity_id == kRunTimeout && ending == Ending::kNone && !IsTerminal(status)) {
    BeginEnding(Ending::kFailing, event, "RUN_TIMEOUT", "the run took longer than its timeout");
    return;
  }
  const Purpose purpose = PurposeOf(event.entity_id);
  if (purpose.what != "retry") return;
  const UnitKey key = UnitNamed(*plan, purpose.unit_id);
  const Unit* unit = Find(key);
  if (unit == nullptr || unit->status != EntityStatus::kFailed || !unit->will_retry) return;
  if (unit->logical_attempt + 1 == purpose.attempt) AskForRetry(key);
}

void PlanProgress::AskForRetry(const UnitKey& key) {
  if (key.role == UnitKey::Role::kItem) {
    loops.at(key.step).again.insert(key.item);
    loops_changed.insert(key.step);
  } else {
    retry_ready.insert(key);
  }
}

void PlanProgress::ApplyHookEvent(const Event& event) {
  switch (event.type) {
    case EventType::kHookCreated:
      hooks[event.entity_id] = {event.facts.token, event.seq};
      return;
    case EventType::kHookConflict:
      hook_conflicts.insert(event.entity_id);
      return;
    case EventType::kHookDisposed:
      hooks.erase(event.entity_id);
      return;
    default:
      return;
  }
}

void PlanProgress::ApplyChildEvent(const Event& event) {
  if (event.type == EventType::kChildStarted) {
    children[event.entity_id] = {event.parent_id, event.seq};
  } else {
    children.erase(event.entity_id);
  }
}

void PlanProgress::ApplySignal(const Event& event) {
  const std::string type = TextMemberOf(event.payload, "signalType");
  const Value payload = ValueMemberOf(event.payload, "signalPayload");
  Decided& decided = signals[event.entity_id];
  decided.body = SignalBody(type, payload);
  decided.accepted = event.type == EventType::kSignalAccepted;
  decided.seq = event.seq;
  decided.decision = TextMemberOf(event.payload, "decision");
  decided.reason = TextMemberOf(event.payload, "reason");
  const Value code = ValueMemberOf(event.payload, "engineResult").Get("errorCode");
  if (code.kind() == Value::Kind::kText) decided.code = code.text();
  if (!decided.accepted) return;
  const Value step = payload.Get("stepId");
  const std::string unit_id = step.kind() == Value::Kind::kText ? step.text() : std::string();
  if (type == "CANCEL") {
    ending_signal = event.entity_id;
    const Value reason = payload.Get("reason");
    BeginEnding(Ending::kCancelling, event, "CANCELLED",
                reason.kind() == Value::Kind::kText ? reason.text() : std::string());
  } else if (type == "INJECT_OVERRIDE") {
    overrides[unit_id] = payload.Get("override");
  } else if (type == "UPDATE_TARGET") {
    targets[unit_id] = payload.Get("newTarget");
  }
  if (type != "RETRY_STEP" && type != "INJECT_OVERRIDE") return;
  const UnitKey key = UnitNamed(*plan, unit_id);
  Unit* unit = Find(key);
  if (unit == nullptr || unit->status != EntityStatus::kFailed || unit->settled) return;
  if (key.role == UnitKey::Role::kStep && FellBack(key.step)) return;
  held.erase(key);
  unit->held = false;
  unit->will_retry = true;
  AskForRetry(key);
}

// Errors are recorded by others too; this one says that the run has no result.
void PlanProgress::ApplyError(const Event& event) {
  if (event.type != EventType::kErrorRecorded || IsTerminal(status)) return;
  const Value source = ValueMemberOf(event.payload, "details").Get("source");
  if (source.kind() != Value::Kind::kText || source.text() != kOutputs) return;
  BeginEnding(Ending::kFailing, event, event.entity_id, TextMemberOf(event.payload, "message"));
}

Result<const PlanProgress::Decided*> PlanProgress::FindSignal(const std::string& signal_id,
                                                              std::string_view type,
                                                              const Value& payload) const {
  const auto known = signals.find(signal_id);
  if (known == signals.end()) return nullptr;
  if (known->second.body == SignalBody(type, payload)) return &known->second;
  return Error{ErrorCode::kSignalDuplicate,
               "signal " + signal_id + " was decided before with another content",
               {}};
}

void PlanProgress::BeginEnding(Ending how, const Event& event, std::string code,
                               std::string message) {
  // What was under way as a failure goes on as one; a cancellation only hastens it.
  if (ending == Ending::kNone) {
    ending = how;
    ending_code = std::move(code);
    ending_message = std::move(message);
  }
  ending_seq = event.seq;
}

}  // namespace everstep
