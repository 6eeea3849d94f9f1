// The contract's envelope, in two strictnesses: native takes every event and lets the authority
// fill in what is missing; contract takes the contract's events and asks for what the contract asks
// for.

#include <array>
#include <limits>

#include "event/catalogue.h"
#include "event/dialects.h"
#include "event/payload_rule.h"

namespace everstep {
namespace {

using namespace field;  // NOLINT(google-build-using-namespace): the words of the tables below

constexpr std::int64_t kAttemptMax = std::numeric_limits<std::uint32_t>::max();
// An entity, a slash and the id of an event fit in.
constexpr std::size_t kInstanceMax = kNameCharactersMax + 1 + kIdentifierCharactersMax;
constexpr std::string_view kAssigned = "is assigned by the append authority; leave it out";
constexpr std::string_view kNoName[] = {""};

constexpr auto Envelope(bool strict) {
  const auto asked = [strict](FieldRule rule) { return strict ? Required(rule) : rule; };
  return std::array{
      EnvelopeRow{Means(Identifier("eventId", Slot::kEventId),
                        "Made by the append authority when left out.")},
      EnvelopeRow{Required(Word("eventType", kNoName, Slot::kEventType))},
      EnvelopeRow{Required(Means(Identifier("runId", Slot::kRunId), "The run."))},
      EnvelopeRow{Integer("runSeq", 1, kIntegerMax, Slot::kRunSeq), kOfAll, kAssigned},
      EnvelopeRow{Required(Means(Name("stepId", Slot::kEntityId), "The step.")), kOfStep},
      EnvelopeRow{Name("stepId"), kOfRun | kOfSignal | kOfOthers,
                  "belongs to events of steps; leave it out"},
      EnvelopeRow{Means(Name("correlationId", Slot::kEntityId),
                        "The signal; must equal signalId of the payload."),
                  kOfSignal},
      EnvelopeRow{Required(Means(Name("correlationId", Slot::kEntityId),
                                 "The hook, wait, tool … that the event is about.")),
                  kOfOthers},
      EnvelopeRow{Means(Name("parentId", Slot::kParentId), "What the entity belongs to.")},
      EnvelopeRow{Means(Name("instanceId", Slot::kInstanceId, kInstanceMax),
                        "Takes the entity's place in the idempotency key where it repeats.")},
      EnvelopeRow{asked(Identifier("tenantId", Slot::kTenantId))},
      EnvelopeRow{asked(Identifier("projectId", Slot::kProjectId))},
      EnvelopeRow{asked(Identifier("environmentId", Slot::kEnvironmentId))},
      EnvelopeRow{asked(Name("planId", Slot::kPlanId))},
      EnvelopeRow{asked(Name("planVersion", Slot::kPlanVersion))},
      EnvelopeRow{asked(Means(Integer("engineAttemptId", 1, kAttemptMax, Slot::kEngineAttempt),
                              "Counts re-deliveries; not part of the key."))},
      EnvelopeRow{asked(Means(Integer("logicalAttemptId", 1, kAttemptMax, Slot::kLogicalAttempt),
                              "Counts retries by policy or operator; part of the key."))},
      EnvelopeRow{Means(Sha256Hex("idempotencyKey", Slot::kKey),
                        "Computed by the append authority; compared when given.")},
      EnvelopeRow{Means(Integer("keyVersion", 1, 2, Slot::kKeyVersion),
                        "The key's formula; fixed by the first event of a run.")},
      EnvelopeRow{asked(Means(Time("emittedAt", Slot::kEmittedAt), "The writer's clock."))},
      EnvelopeRow{Time("persistedAt", Slot::kPersistedAt), kOfAll, kAssigned},
      EnvelopeRow{SomeText("emittedBy", 256, Slot::kEmittedBy)},
      EnvelopeRow{Record("payload", Slot::kPayload)},
      EnvelopeRow{Means(Record("attributes", Slot::kAttributes),
                        "What the writer wants to keep beside the payload.")},
  };
}
constexpr auto kNativeEnvelope = Envelope(false);
constexpr auto kContractEnvelope = Envelope(true);

std::vector<EventRow> Rows(bool contract_only) {
  std::vector<EventRow> rows;
  for (const EventSpec& spec : Catalogue()) {
    if (contract_only && !spec.in_contract) continue;
    rows.push_back({spec.name, spec.type, &PayloadRule(spec.type)});
  }
  return rows;
}

struct Agreement {
  Slot slot;
  std::string RunScope::*member;
  std::string_view pointer;
};
constexpr Agreement kAgreements[] = {
    {Slot::kContextTenantId, &RunScope::tenant_id, "/context/tenantId"},
    {Slot::kContextProjectId, &RunScope::project_id, "/context/projectId"},
    {Slot::kContextEnvironmentId, &RunScope::environment_id, "/context/environmentId"},
    {Slot::kContextPlanId, &RunScope::plan_id, "/planRef/planId"},
    {Slot::kContextPlanVersion, &RunScope::plan_version, "/planRef/planVersion"},
};

// What is said twice has to be the same.
void CheckAgreement(const EventRow& row, const Findings& findings, EventWrite& write,
                    std::vector<Fault>& faults) {
  if (row.type != EventType::kRunStarted && SubjectOf(row.type) != kOfSignal) return;
  bool has_payload = false;
  for (const FoundField& found : findings.found) has_payload |= found.rule->slot == Slot::kPayload;
  for (const FoundField& found : findings.found) {
    std::string_view text;
    if (found.value.get(text)) continue;
    if (found.rule->slot == Slot::kSignalId && text != write.entity_id) {
      faults.push_back({"/correlationId", "must equal signalId of the payload"});
    }
    for (const Agreement& agreement : kAgreements) {
      if (found.rule->slot != agreement.slot || text == write.scope.*agreement.member) continue;
      faults.push_back({(has_payload ? "/payload" : "") + std::string(agreement.pointer),
                        "must equal " + std::string(found.rule->name) + " of the envelope"});
    }
  }
}

}  // namespace

const Vocabulary& NativeVocabulary() {
  static const std::vector<EventRow> rows = Rows(false);
  static const Vocabulary vocabulary(
      DialectTable{Dialect::kNative, "eventType", kNativeEnvelope, rows}, CheckAgreement);
  return vocabulary;
}

const Vocabulary& ContractVocabulary() {
  static const std::vector<EventRow> rows = Rows(true);
  static const Vocabulary vocabulary(
      DialectTable{Dialect::kContract, "eventType", kContractEnvelope, rows,
                   FlatForm{"RunStarted", RunStartedFlatMembers()}},
      CheckAgreement);
  return vocabulary;
}

}  // namespace everstep
