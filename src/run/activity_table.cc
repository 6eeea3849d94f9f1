#include "run/activity_table.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/assert.h"
#include "base/json.h"
#include "event/catalogue.h"
#include "flow/operations_done.h"
#include "run/payload_member.h"

namespace everstep {

const Value& LazyValue::value() const {
  if (parsed_) return value_;
  parsed_ = true;
  value_ = Value::Null();
  if (json_.empty()) return value_;
  AddOperations(OperationsOfJson(json_.size()));
  if (auto value = ValueFromJson(json_)) value_ = std::move(*value);
  return value_;
}

std::string PurposeId(std::string_view what, std::string_view activity_id, std::uint32_t attempt) {
  std::string id(what);
  id.append(":").append(activity_id).append(":").append(std::to_string(attempt));
  return id;
}

Purpose PurposeOf(std::string_view id) {
  const std::size_t first = id.find(':');
  const std::size_t last = id.rfind(':');
  Purpose purpose;
  if (first == std::string_view::npos || first == last) return purpose;
  const std::string_view digits = id.substr(last + 1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), purpose.attempt);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return purpose;
  purpose.what = id.substr(0, first);
  purpose.activity_id = id.substr(first + 1, last - first - 1);
  return purpose;
}

ActivityNo ActivityTable::Add(std::string_view id) {
  const ActivityNo known = Find(id);
  if (known != kNoActivity) return known;
  const auto no = static_cast<ActivityNo>(activities_.size());
  EVERSTEP_ASSERT(no != kNoActivity);
  Activity& activity = activities_.emplace_back();
  activity.id = id;
  by_id_.emplace(activity.id, no);
  EVERSTEP_ASSERT(by_id_.size() == activities_.size());
  return no;
}

ActivityNo ActivityTable::Find(std::string_view id) const {
  const auto known = by_id_.find(id);
  return known == by_id_.end() ? kNoActivity : known->second;
}

void ActivityTable::Hold(ActivityNo no) {
  EVERSTEP_ASSERT(activities_[no].failed() && !activities_[no].will_retry);
  activities_[no].held = true;
  held_.insert(no);
}

void ActivityTable::Revive(ActivityNo no) {
  EVERSTEP_ASSERT(activities_[no].failed());
  activities_[no].held = false;
  activities_[no].will_retry = true;
  held_.erase(no);
}

bool ActivityTable::WasDelivered(std::string_view activity_id, std::string_view delivery_id) const {
  const auto delivered = delivered_.find(activity_id);
  return delivered != delivered_.end() && delivered->second.contains(delivery_id);
}

bool ActivityTable::LoseHook(const std::string& hook_id) {
  if (!CloseHook(hook_id)) return false;
  hook_conflicts_.insert(hook_id);
  return true;
}

ActivityChange ActivityTable::Apply(const Event& event) {
  switch (SpecOf(event.type).entity) {
    case EntityKind::kStep:
      return ApplyStep(event);
    case EntityKind::kWait:
      return ApplyWait(event);
    case EntityKind::kHook:
      ApplyHook(event);
      return {};
    case EntityKind::kChild:
      ApplyChild(event);
      return {};
    case EntityKind::kTool:
      ApplyTool(event);
      return {};
    default:
      return {};
  }
}

ActivityChange ActivityTable::ApplyStep(const Event& event) {
  ActivityChange change;
  change.no = Add(event.entity_id);
  Activity& activity = activities_[change.no];
  change.before = activity.status;
  activity.last_seq = event.seq;
  switch (event.type) {
    case EventType::kStepStarted:
      ApplyStarted(change.no, event);
      break;
    case EventType::kStepCompleted:
      ApplyCompleted(change.no, event);
      break;
    case EventType::kStepFailed:
      change.due = ApplyFailed(change.no, event);
      break;
    case EventType::kStepSkipped:
      ApplySkipped(change.no, event);
      break;
    default:
      break;
  }
  return change;
}

void ActivityTable::ApplyStarted(ActivityNo no, const Event& event) {
  Activity& activity = activities_[no];
  const bool redelivered = activity.running();
  activity.status = EntityStatus::kRunning;
  activity.logical_attempt = event.logical_attempt;
  activity.engine_attempt = event.engine_attempt;
  if (activity.started_at == Timestamp{}) activity.started_at = event.emitted_at;
  activity.attempt_at = event.emitted_at;
  if (redelivered) return;  // the attempt's first delivery recorded what it does
  activity.ended_at = {};
  activity.will_retry = false;
  activity.submitted = false;
  activity.error_code.clear();
  activity.error_message.clear();
  activity.inputs = RawMemberOf(event.payload, "input");
  activity.secret_prefix = TextMemberOf(event.payload, "secretPrefix");
  activity.idempotency_key = TextMemberOf(event.payload, "idempotencyKey");
  running_.insert(no);
  if (held_.erase(no) > 0) activity.held = false;
}

void ActivityTable::ApplyCompleted(ActivityNo no, const Event& event) {
  Activity& activity = activities_[no];
  activity.status = EntityStatus::kSuccess;
  activity.ended_at = event.emitted_at;
  activity.result.Set(RawMemberOf(event.payload, "result"));
  activity.inputs.clear();
  running_.erase(no);
  if (!delivered_.empty()) delivered_.erase(activity.id);
}

// True: the next attempt may begin at once.
bool ActivityTable::ApplyFailed(ActivityNo no, const Event& event) {
  Activity& activity = activities_[no];
  activity.status = EntityStatus::kFailed;
  activity.ended_at = event.emitted_at;
  activity.error_code = event.facts.error_code;
  activity.error_message = event.facts.error_message;
  activity.will_retry = event.facts.will_retry;
  activity.inputs.clear();
  running_.erase(no);
  if (!hook_conflicts_.empty()) {
    hook_conflicts_.erase(PurposeId("hook", event.entity_id, activity.logical_attempt));
  }
  if (!activity.will_retry) return false;
  // An order of an operator is not a retry by a rule.
  if (RawMemberOf(event.payload, "byOrder").empty()) {
    const Value rule = ValueMemberOf(event.payload, "retryRule");
    const auto index =
        rule.kind() == Value::Kind::kInt ? static_cast<std::size_t>(rule.int_value()) : 0;
    if (activity.retries.size() <= index) activity.retries.resize(index + 1);
    ++activity.retries[index];
  }
  return event.facts.due_at <= event.emitted_at;
}

void ActivityTable::ApplySkipped(ActivityNo no, const Event& event) {
  Activity& activity = activities_[no];
  activity.status = EntityStatus::kSkipped;
  activity.logical_attempt = event.logical_attempt;
  activity.ended_at = event.emitted_at;
  activity.will_retry = false;
  activity.held = false;
  activity.error_code = TextMemberOf(event.payload, "reasonCode");
  activity.error_message = TextMemberOf(event.payload, "reason");
  held_.erase(no);
  if (!delivered_.empty()) delivered_.erase(activity.id);
}

ActivityChange ActivityTable::ApplyWait(const Event& event) {
  if (event.type == EventType::kWaitCreated) {
    waits_[event.entity_id] = {event.facts.due_at, event.seq};
    return {};
  }
  waits_.erase(event.entity_id);
  const Purpose purpose = PurposeOf(event.entity_id);
  if (purpose.what != "retry") return {};
  const ActivityNo no = Find(purpose.activity_id);
  if (no == kNoActivity) return {};
  const Activity& activity = activities_[no];
  const bool waited =
      activity.failed() && activity.will_retry && activity.logical_attempt + 1 == purpose.attempt;
  return waited ? ActivityChange{no, activity.status, true} : ActivityChange{};
}

void ActivityTable::ApplyHook(const Event& event) {
  switch (event.type) {
    case EventType::kHookCreated: {
      const Value kind = ValueMemberOf(event.payload, "metadata").Get("kind");
      const bool approval = kind.kind() == Value::Kind::kText && kind.text() == "approval";
      return OpenHookAs(event.entity_id, {event.facts.token, event.seq, approval});
    }
    case EventType::kHookConflict:
      hook_conflicts_.insert(event.entity_id);
      return;
    case EventType::kHookReceived: {
      if (event.instance_id.size() <= event.entity_id.size() + 1) return;
      std::string delivery_id = event.instance_id.substr(event.entity_id.size() + 1);
      if (delivery_id == event.event_id) return;  // it had none: the log numbered it
      delivered_[std::string(PurposeOf(event.entity_id).activity_id)].insert(
          std::move(delivery_id));
      return;
    }
    case EventType::kHookDisposed:
      (void)CloseHook(event.entity_id);
      return;
    default:
      return;
  }
}

void ActivityTable::OpenHookAs(const std::string& hook_id, OpenHook hook) {
  (void)CloseHook(hook_id);
  tokens_.emplace(hook.token, hook_id);
  hooks_.emplace(hook_id, std::move(hook));
}

bool ActivityTable::CloseHook(const std::string& hook_id) {
  const auto hook = hooks_.find(hook_id);
  if (hook == hooks_.end()) return false;
  tokens_.erase({hook->second.token, hook_id});
  hooks_.erase(hook);
  return true;
}

const std::string* ActivityTable::HookWith(const std::string& token) const {
  const auto hook = tokens_.lower_bound({token, std::string()});
  return hook == tokens_.end() || hook->first != token ? nullptr : &hook->second;
}

void ActivityTable::ApplyChild(const Event& event) {
  if (event.type == EventType::kChildStarted) {
    children_[event.entity_id] = {event.parent_id, event.seq, ProgramOf(event)};
  } else {
    children_.erase(event.entity_id);
  }
}

// The call of an activity that then waits for its hook.
void ActivityTable::ApplyTool(const Event& event) {
  if (event.type != EventType::kToolProcessed) return;
  const Purpose purpose = PurposeOf(event.entity_id);
  const ActivityNo no = purpose.what == "call" ? Find(purpose.activity_id) : kNoActivity;
  if (no == kNoActivity) return;
  Activity& activity = activities_[no];
  if (activity.running() && activity.logical_attempt == purpose.attempt) activity.submitted = true;
}

// ---- checkpoints

void ActivityTable::Encode(StateEncoder& codec) const {
  std::vector<const Activity*> begun;
  for (const Activity& activity : activities_) {
    if (activity.status != EntityStatus::kAbsent) begun.push_back(&activity);
  }
  // Numbers differ between processes; ids do not.
  std::ranges::sort(begun, {}, &Activity::id);
  codec(static_cast<std::uint64_t>(begun.size()));
  for (const Activity* activity : begun) codec(*activity);
  codec(waits_, hooks_, children_, hook_conflicts_, delivered_);
}

void ActivityTable::Decode(StateDecoder& codec) {
  EVERSTEP_ASSERT(activities_.empty());
  std::uint64_t count = 0;
  codec(count);
  for (std::uint64_t i = 0; i < count && codec.ok(); ++i) {
    Activity activity;
    codec(activity);
    if (!codec.ok() || Find(activity.id) != kNoActivity) return codec.Fail();
    const ActivityNo no = Add(activity.id);
    if (activity.running()) running_.insert(no);
    if (activity.held) held_.insert(no);
    activity.id.swap(activities_[no].id);  // the index refers to that one
    activities_[no] = std::move(activity);
  }
  codec(waits_, hooks_, children_, hook_conflicts_, delivered_);
  for (const auto& [hook_id, hook] : hooks_) tokens_.emplace(hook.token, hook_id);
}

}  // namespace everstep
