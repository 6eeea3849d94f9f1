#include "event/slot_fill.h"

#include "base/assert.h"
#include "base/json.h"
#include "base/utf8.h"
#include "event/catalogue.h"
#include "event/identifier.h"
#include "event/json_document.h"

namespace everstep {
namespace {

constexpr std::size_t kErrorMessageBytesMax = 32768;

std::string_view TextOf(const FoundField& found) {
  std::string_view text;
  EVERSTEP_ASSERT(!found.value.get(text));
  return text;
}

bool FlagOf(const FoundField& found) {
  bool flag = false;
  EVERSTEP_ASSERT(!found.value.get(flag));
  return flag;
}

std::uint32_t CountOf(const FoundField& found) { return static_cast<std::uint32_t>(found.number); }

Timestamp TimeOf(const FoundField& found) { return FromMicros(found.number); }

void FillIfEmpty(std::string& target, std::string_view value) {
  if (target.empty()) target = value;
}

// An error is a message or an object. Anything that is not a valid code or message is kept in the
// payload only.
void FillError(const FoundField& found, EventFacts& facts) {
  std::string_view text;
  if (!found.value.get(text)) {
    FillIfEmpty(facts.error_message, CutAtCharacter(text, kErrorMessageBytesMax));
    return;
  }
  simdjson::dom::object error;
  if (found.value.get(error)) return;
  if (!error["message"].get(text)) {
    FillIfEmpty(facts.error_message, CutAtCharacter(text, kErrorMessageBytesMax));
  }
  if (!error["code"].get(text) && IsName(text)) FillIfEmpty(facts.error_code, text);
}

void AddAttribute(const FoundField& found, EventWrite& write) {
  AddMember(write.attributes, found.rule->name, simdjson::minify(found.value));
}

void FillScope(const FoundField& found, RunScope& scope) {
  switch (found.rule->slot) {
    case Slot::kTenantId:
      scope.tenant_id = TextOf(found);
      return;
    case Slot::kProjectId:
      scope.project_id = TextOf(found);
      return;
    case Slot::kEnvironmentId:
      scope.environment_id = TextOf(found);
      return;
    case Slot::kPlanId:
      scope.plan_id = TextOf(found);
      return;
    case Slot::kPlanVersion:
      scope.plan_version = TextOf(found);
      return;
    case Slot::kContextTenantId:
      FillIfEmpty(scope.tenant_id, TextOf(found));
      return;
    case Slot::kContextProjectId:
      FillIfEmpty(scope.project_id, TextOf(found));
      return;
    case Slot::kContextEnvironmentId:
      FillIfEmpty(scope.environment_id, TextOf(found));
      return;
    case Slot::kContextPlanId:
      FillIfEmpty(scope.plan_id, TextOf(found));
      return;
    case Slot::kContextPlanVersion:
      FillIfEmpty(scope.plan_version, TextOf(found));
      return;
    default:
      return;
  }
}

void FillFacts(const FoundField& found, EventWrite& write) {
  EventFacts& facts = write.facts;
  switch (found.rule->slot) {
    case Slot::kWillRetry:
      facts.will_retry = FlagOf(found);
      return;
    case Slot::kRetryable:
      facts.retryable = FlagOf(found);
      return;
    case Slot::kDueAt:
      facts.due_at = TimeOf(found);
      return;
    case Slot::kStartedAt:
      facts.started_at = TimeOf(found);
      return;
    case Slot::kToken:
      facts.token = TextOf(found);
      return;
    case Slot::kErrorCode:
      facts.error_code = TextOf(found);
      return;
    case Slot::kErrorMessage:
      facts.error_message = TextOf(found);
      return;
    case Slot::kError:
    case Slot::kErrorAlias:
      FillError(found, facts);
      return;
    case Slot::kEngineRunRef:
      facts.engine_run_ref = TextOf(found);
      return;
    case Slot::kArtifacts:
      facts.artifacts = simdjson::minify(found.value);
      return;
    case Slot::kSignalId:
      FillIfEmpty(write.entity_id, TextOf(found));
      return;
    case Slot::kSignalType:
      facts.escalation =
          write.type == EventType::kSignalAccepted && TextOf(found) == "ESCALATE_ALERT";
      return;
    default:
      FillScope(found, write.scope);
      return;
  }
}

}  // namespace

void AddMember(std::string& object, std::string_view name, std::string_view json) {
  if (object.empty()) {
    object.push_back('{');
  } else {
    object.back() = ',';
  }
  object.append(JsonQuote(name)).append(":").append(json).append("}");
}

void Fill(const FoundField& found, EventWrite& write) {
  switch (found.rule->slot) {
    case Slot::kRunId:
      write.run_id = RunId(std::string(TextOf(found)));
      return;
    case Slot::kEventId:
      write.event_id = TextOf(found);
      return;
    case Slot::kEntityId:
      write.entity_id = TextOf(found);
      return;
    case Slot::kInstanceId:
      write.instance_id = TextOf(found);
      return;
    case Slot::kParentId:
      write.parent_id = TextOf(found);
      return;
    case Slot::kEngineAttempt:
      write.engine_attempt = CountOf(found);
      return;
    case Slot::kLogicalAttempt:
      write.logical_attempt = CountOf(found);
      return;
    case Slot::kKey:
      write.key = DigestFromHex(TextOf(found));
      return;
    case Slot::kKeyVersion:
      write.key_version = static_cast<KeyVersion>(CountOf(found));
      return;
    case Slot::kEmittedAt:
      write.emitted_at = TimeOf(found);
      return;
    case Slot::kEmittedBy:
      write.emitted_by = TextOf(found);
      return;
    case Slot::kPayload:
      write.payload = ObjectText(found.rule->name);
      return;
    case Slot::kAttributes:
      write.attributes = ObjectText(found.rule->name);
      return;
    case Slot::kEntityLabel:
      write.entity_id = TextOf(found);
      return;
    case Slot::kAttribute:
    case Slot::kSequence:
    case Slot::kAlias:
    case Slot::kRunLabel:
    case Slot::kStepRunId:
    case Slot::kStatus:
    case Slot::kCreatedAt:
      AddAttribute(found, write);
      return;
    case Slot::kEventType:
    case Slot::kEntityType:
      return;
    default:
      FillFacts(found, write);
      return;
  }
}

}  // namespace everstep
