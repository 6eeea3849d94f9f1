// What reaches a run from outside its steps: timers, hook answers, child runs, signals.

#include <utility>

#include "base/json.h"
#include "base/value.h"
#include "run/activity_table.h"
#include "testing/run_witness.h"

namespace everstep {
namespace {

Value Member(const std::string& payload, std::string_view key) {
  const auto raw = payload.empty() ? std::nullopt : RawMember(payload, key);
  if (!raw) return {};
  auto value = ValueFromJson(*raw);
  return value ? std::move(*value) : Value();
}

std::string Text(const Value& value) {
  return value.kind() == Value::Kind::kText ? value.text() : std::string();
}

}  // namespace

void RunWitness::TakeWait(const Event& event, Timestamp now) {
  if (event.type == EventType::kWaitCreated) {
    waits_[event.entity_id] = event.facts.due_at;
    return;
  }
  const auto wait = waits_.find(event.entity_id);
  if (wait == waits_.end()) return Wrong("ends a wait that does not exist");
  if (now < wait->second) Wrong("fires before " + FormatTimestamp(wait->second));
  if (status_ == RunStatus::kPaused) Wrong("fires while the run is paused");
  waits_.erase(wait);
  if (event.entity_id == "run-timeout") {
    if (!ending()) failing_ = true;
    return;
  }
  const Purpose purpose = PurposeOf(event.entity_id);
  const auto unit = units_.find(purpose.activity_id);
  if (unit == units_.end()) return;
  if (purpose.what == "wait") unit->second.answered = true;
  if (purpose.what == "retry" && purpose.attempt == unit->second.logical_attempt + 1) {
    unit->second.retry_due = true;
  }
}

void RunWitness::TakeHook(const Event& event) {
  if (event.type == EventType::kHookCreated) {
    hooks_[event.entity_id] = event.facts.token;
    return;
  }
  if (event.type == EventType::kHookConflict) return;
  if (!hooks_.contains(event.entity_id)) return Wrong("names a hook that is not active");
  if (event.type == EventType::kHookReceived) {
    const std::string unit_id(PurposeOf(event.entity_id).activity_id);
    Unit& unit = units_[unit_id];
    unit.answered = true;
    unit.answered_with = Text(Member(event.payload, "error").Get("code"));
    const std::string delivery_id = event.instance_id.substr(event.entity_id.size());
    if (!delivered_.insert(unit_id + delivery_id).second) Wrong("takes a delivery twice");
    deliveries_.insert(event.instance_id);
  } else {
    hooks_.erase(event.entity_id);
  }
}

void RunWitness::TakeChild(const Event& event) {
  if (event.type == EventType::kChildStarted) {
    children_[event.entity_id] = event.parent_id;
    return;
  }
  const auto child = children_.find(event.entity_id);
  if (child == children_.end()) return Wrong("ends a child that does not exist");
  units_[child->second].answered = true;
  children_.erase(child);
}

void RunWitness::TakeSignal(const Event& event) {
  if (event.type != EventType::kSignalAccepted) return;
  const std::string type = Text(Member(event.payload, "signalType"));
  const Value payload = Member(event.payload, "signalPayload");
  const std::string unit_id = Text(payload.Get("stepId"));
  if (type == "CANCEL" && !failing_) cancelling_ = true;
  if (type == "EMERGENCY_STOP") emergency_ = cancelling_ = true;
  if (type == "SKIP_STEP") units_[unit_id].skip_ordered = true;
  if (type == "INJECT_OVERRIDE" && !payload.Get("override").Get("result").undefined()) {
    units_[unit_id].result_ordered = true;
  }
  if (type != "RETRY_STEP" && type != "INJECT_OVERRIDE") return;
  Unit& unit = units_[unit_id];
  if (type == "INJECT_OVERRIDE" && unit.status != EntityStatus::kFailed) return;
  unit.attempt_ordered = true;
  ++unit.attempts_ordered;
}

std::vector<std::string> RunWitness::Held() const {
  std::vector<std::string> held;
  if (ending() || IsTerminal(status_)) return held;
  for (const auto& [unit_id, unit] : units_) {
    const UnitKey key = UnitNamed(*plan_, unit_id);
    const bool failed = unit.status == EntityStatus::kFailed && !unit.will_retry;
    if (key.step == kNoStep || !failed || unit.attempt_ordered) continue;
    if (plan_->steps[key.step].on_failure == PlanStep::OnFailure::kHold) held.push_back(unit_id);
  }
  return held;
}

std::vector<std::string> RunWitness::Tokens() const {
  std::vector<std::string> tokens;
  for (const auto& [hook_id, token] : hooks_) tokens.push_back(token);
  return tokens;
}

}  // namespace everstep
