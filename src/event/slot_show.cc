#include "event/slot_show.h"

#include "event/field_check.h"
#include "event/idempotency_key.h"

namespace everstep {
namespace {

void ShowText(const FieldRule& rule, std::string_view value, JsonWriter& writer) {
  if (!value.empty()) writer.Member(rule.name, value);
}

void ShowJson(const FieldRule& rule, std::string_view json, JsonWriter& writer) {
  if (!json.empty()) writer.RawMember(rule.name, json);
}

void ShowTime(const FieldRule& rule, Timestamp time, JsonWriter& writer) {
  if (time != Timestamp{}) writer.Member(rule.name, FormatTimestamp(time));
}

void ShowAttribute(const FieldRule& rule, const View& view, std::string_view otherwise,
                   JsonWriter& writer) {
  const std::string_view attribute = AttributeOf(view.event, rule);
  ShowJson(rule, attribute.empty() ? otherwise : attribute, writer);
}

std::string Quoted(std::string_view text) { return text.empty() ? std::string() : JsonQuote(text); }

std::string Quoted(Timestamp time) {
  return time == Timestamp{} ? std::string() : JsonQuote(FormatTimestamp(time));
}

// If the entity is a run of the step, the step's name is in the attributes.
void ShowEntityLabel(const FieldRule& rule, const View& view, JsonWriter& writer) {
  const std::string entity = Quoted(view.event.entity_id);
  const auto step_run = RawMember(view.event.attributes, "step_run_id");
  if (step_run && *step_run == entity) return ShowAttribute(rule, view, entity, writer);
  ShowJson(rule, entity, writer);
}

// The fact in the rule's slot as JSON text; empty if there is none.
std::string FactJson(const FieldRule& rule, const View& view) {
  const EventFacts& facts = view.event.facts;
  switch (rule.slot) {
    case Slot::kWillRetry:
      return facts.will_retry ? "true" : "";
    case Slot::kRetryable:
      return facts.retryable ? "true" : "";
    case Slot::kDueAt:
      return Quoted(facts.due_at);
    case Slot::kStartedAt:
      return Quoted(facts.started_at);
    case Slot::kToken:
      return Quoted(facts.token);
    case Slot::kErrorCode:
      return Quoted(facts.error_code);
    case Slot::kErrorMessage:
      return Quoted(facts.error_message);
    case Slot::kError:
      return ErrorObject(facts);
    case Slot::kEngineRunRef:
      return Quoted(facts.engine_run_ref);
    case Slot::kArtifacts:
      return facts.artifacts;
    // The scope is in the envelope; a payload repeats it only if the rule requires it.
    case Slot::kPlanId:
      return rule.required ? Quoted(view.run.scope.plan_id) : "";
    case Slot::kPlanVersion:
      return rule.required ? Quoted(view.run.scope.plan_version) : "";
    default:
      return {};
  }
}

void ShowScope(const FieldRule& rule, const RunScope& scope, JsonWriter& writer) {
  switch (rule.slot) {
    case Slot::kTenantId:
      return ShowText(rule, scope.tenant_id, writer);
    case Slot::kProjectId:
      return ShowText(rule, scope.project_id, writer);
    case Slot::kEnvironmentId:
      return ShowText(rule, scope.environment_id, writer);
    case Slot::kPlanId:
      return ShowText(rule, scope.plan_id, writer);
    case Slot::kPlanVersion:
      return ShowText(rule, scope.plan_version, writer);
    default:
      return;
  }
}

}  // namespace

std::string_view AttributeOf(const Event& event, const FieldRule& rule) {
  if (event.attributes.empty()) return {};
  const auto value = RawMember(event.attributes, rule.name);
  return value && Fits(rule, *value) ? *value : std::string_view();
}

std::string WrittenName(const Event& event) {
  const std::string_view quoted = AttributeOf(event, field::Name(kWrittenNameAttribute));
  return quoted.size() < 2 ? std::string() : std::string(quoted.substr(1, quoted.size() - 2));
}

std::string ErrorObject(const EventFacts& facts) {
  std::string json;
  if (facts.error_code.empty() && facts.error_message.empty()) return json;
  JsonWriter writer(json);
  writer.BeginObject();
  if (!facts.error_code.empty()) writer.Member("code", facts.error_code);
  if (!facts.error_message.empty()) writer.Member("message", facts.error_message);
  writer.EndObject();
  return json;
}

std::string ShownPayload(const View& view) {
  const std::string& payload = view.event.payload;
  std::string additions;
  JsonWriter writer(additions);
  if (view.row.payload != nullptr) {
    for (const FieldRule& rule : view.row.payload->fields) {
      const std::string fact = FactJson(rule, view);
      if (fact.empty() || RawMember(payload, rule.name)) continue;
      writer.RawMember(rule.name, fact);
    }
  }
  if (additions.empty()) return payload;
  // The payload is the writer's unmodified text, so insert the additions before its last brace.
  const std::size_t end = payload.rfind('}');
  if (end == std::string::npos) return "{" + additions + "}";
  const bool has_members = payload.find('"') != std::string::npos;
  return payload.substr(0, end) + (has_members ? "," : "") + additions + "}";
}

void ShowMember(const FieldRule& rule, const View& view, JsonWriter& writer) {
  const Event& event = view.event;
  const Timestamp emitted = event.emitted_at == Timestamp{} ? event.persisted_at : event.emitted_at;
  switch (rule.slot) {
    case Slot::kEventType:
      return ShowText(rule, view.row.name, writer);
    case Slot::kRunId:
      return ShowText(rule, view.run.run_id.value(), writer);
    case Slot::kRunSeq:
      return writer.Member(rule.name, event.seq.value());
    case Slot::kEventId:
      return ShowText(rule, view.event_id, writer);
    case Slot::kEntityId:
      return ShowText(rule, event.entity_id, writer);
    case Slot::kEntityLabel:
      return ShowEntityLabel(rule, view, writer);
    case Slot::kInstanceId:
      return ShowText(rule, event.instance_id, writer);
    case Slot::kParentId:
      return ShowText(rule, event.parent_id, writer);
    case Slot::kEngineAttempt:
      return writer.Member(rule.name, std::uint64_t{event.engine_attempt});
    case Slot::kLogicalAttempt:
      return writer.Member(rule.name, std::uint64_t{event.logical_attempt});
    case Slot::kKey:
      return ShowText(
          rule, ToHex(IdempotencyKey(view.run.key_version, view.run.run_id, view.run.scope, event)),
          writer);
    case Slot::kKeyVersion:
      return writer.Member(rule.name, static_cast<std::uint64_t>(view.run.key_version));
    case Slot::kEmittedAt:
      return ShowTime(rule, emitted, writer);
    case Slot::kPersistedAt:
      return ShowTime(rule, event.persisted_at, writer);
    case Slot::kEmittedBy:
      return ShowText(rule, event.emitted_by, writer);
    case Slot::kPayload:
      return ShowJson(rule, ShownPayload(view), writer);
    case Slot::kAttributes:
      return ShowJson(rule, event.attributes, writer);
    case Slot::kAttribute:
    case Slot::kStepRunId:
      return ShowAttribute(rule, view, {}, writer);
    case Slot::kCreatedAt:
      return ShowAttribute(rule, view, Quoted(event.persisted_at), writer);
    case Slot::kSequence:
      return ShowAttribute(rule, view, std::to_string(event.seq.value()), writer);
    case Slot::kAlias:
      if (!view.is_original) return ShowText(rule, view.row.alias, writer);
      return ShowAttribute(rule, view, Quoted(view.row.alias), writer);
    case Slot::kRunLabel:
      if (view.is_original) ShowAttribute(rule, view, {}, writer);
      return;
    case Slot::kEntityType:
      return ShowText(rule, view.row.entity_type, writer);
    case Slot::kStatus:
      if (!view.row.status.empty()) return ShowText(rule, view.row.status, writer);
      return ShowAttribute(rule, view, {}, writer);
    default:
      return ShowScope(rule, view.run.scope, writer);
  }
}

}  // namespace everstep
