// The events of the Workflow DevKit: {runId, eventType, correlationId, eventData}.

#include <array>

#include "event/dialects.h"

namespace everstep {
namespace {

using namespace field;  // NOLINT(google-build-using-namespace): the words of the tables below

constexpr std::size_t kLine = 256;
constexpr std::size_t kStack = 262144;
constexpr std::string_view kNoName[] = {""};

constexpr EnvelopeRow kEnvelope[] = {
    {Means(Identifier("eventId", Slot::kEventId), "Made by Everstep when left out.")},
    {Required(Means(Identifier("runId", Slot::kRunId), "The run."))},
    {Required(Word("eventType", kNoName, Slot::kEventType))},
    {Required(Means(Name("correlationId", Slot::kEntityId), "The step, hook, wait or attribute.")),
     kOfStep | kOfOthers},
    {Name("correlationId"), kOfRun, "belongs to events of steps, hooks and waits; leave it out"},
    {Integer("specVersion", 1, kIntegerMax, Slot::kAttribute)},
    {Means(Time("createdAt", Slot::kCreatedAt), "Shown: when Everstep made the event durable.")},
    {Means(Time("occurredAt", Slot::kEmittedAt), "The writer's clock.")},
    {Record("eventData", Slot::kPayload)},
};

constexpr FieldRule kRunCreatedFields[] = {
    Required(Name("deploymentId", Slot::kPlanVersion)),
    Required(Name("workflowName", Slot::kPlanId)),
    Any("input"),
    Record("executionContext"),
};
constexpr FieldRule kRunStartedFields[] = {
    Name("deploymentId", Slot::kPlanVersion),
    Name("workflowName", Slot::kPlanId),
    Any("input"),
    Record("executionContext"),
};
constexpr FieldRule kRunCompletedFields[] = {Any("output")};
constexpr FieldRule kRunFailedFields[] = {
    Any("error", Slot::kError),
    Name("errorCode", Slot::kErrorCode),
};
constexpr FieldRule kRunCancelledFields[] = {Text("cancelReason", 512)};
constexpr FieldRule kStepCreatedFields[] = {
    Required(SomeText("stepName", kLine)),
    Text("workflowName", kLine),
    Any("input"),
};
constexpr FieldRule kStepStartedFields[] = {
    Text("stepName", kLine),
    Text("workflowName", kLine),
    Integer("attempt", 0),
    Any("input"),
};
constexpr FieldRule kStepCompletedFields[] = {
    Text("stepName", kLine),
    Text("workflowName", kLine),
    Any("result"),
};
constexpr FieldRule kStepFailedFields[] = {
    Text("stepName", kLine),
    Any("error", Slot::kError),
    Text("stack", kStack),
};
constexpr FieldRule kStepRetryingFields[] = {
    Text("stepName", kLine),
    Any("error", Slot::kError),
    Text("stack", kStack),
    Time("retryAfter", Slot::kDueAt),
};
constexpr FieldRule kHookCreatedFields[] = {
    Required(Token("token", Slot::kToken)),
    Any("metadata"),
    Boolean("isWebhook"),
};
constexpr FieldRule kHookReceivedFields[] = {Token("token"), Any("payload")};
constexpr FieldRule kHookDisposedFields[] = {Token("token")};
constexpr FieldRule kHookConflictFields[] = {
    Required(Token("token", Slot::kToken)),
    Identifier("conflictingRunId"),
};
constexpr FieldRule kWaitCreatedFields[] = {Required(Time("resumeAt", Slot::kDueAt))};
constexpr FieldRule kWaitCompletedFields[] = {Time("resumeAt")};
constexpr FieldRule kAttrSetFields[] = {Any("changes"), Record("writer")};

constexpr ObjectRule kRunCreated{kRunCreatedFields};
constexpr ObjectRule kRunStarted{kRunStartedFields};
constexpr ObjectRule kRunCompleted{kRunCompletedFields};
constexpr ObjectRule kRunFailed{kRunFailedFields};
constexpr ObjectRule kRunCancelled{kRunCancelledFields};
constexpr ObjectRule kStepCreated{kStepCreatedFields};
constexpr ObjectRule kStepStarted{kStepStartedFields};
constexpr ObjectRule kStepCompleted{kStepCompletedFields};
constexpr ObjectRule kStepFailed{kStepFailedFields};
constexpr ObjectRule kStepRetrying{kStepRetryingFields};
constexpr ObjectRule kHookCreated{kHookCreatedFields};
constexpr ObjectRule kHookReceived{kHookReceivedFields};
constexpr ObjectRule kHookDisposed{kHookDisposedFields};
constexpr ObjectRule kHookConflict{kHookConflictFields};
constexpr ObjectRule kWaitCreated{kWaitCreatedFields};
constexpr ObjectRule kWaitCompleted{kWaitCompletedFields};
constexpr ObjectRule kAttrSet{kAttrSetFields};

constexpr EventRow kEvents[] = {
    {"run_created", EventType::kRunQueued, &kRunCreated},
    {"run_started", EventType::kRunStarted, &kRunStarted},
    {"run_completed", EventType::kRunCompleted, &kRunCompleted},
    {"run_failed", EventType::kRunFailed, &kRunFailed},
    {"run_cancelled", EventType::kRunCancelled, &kRunCancelled},
    {"step_created", EventType::kStepScheduled, &kStepCreated},
    {"step_started", EventType::kStepStarted, &kStepStarted},
    {"step_completed", EventType::kStepCompleted, &kStepCompleted},
    {"step_failed", EventType::kStepFailed, &kStepFailed, Failures::kFinal},
    {"step_retrying", EventType::kStepFailed, &kStepRetrying, Failures::kRetried},
    {"hook_created", EventType::kHookCreated, &kHookCreated},
    {"hook_received", EventType::kHookReceived, &kHookReceived},
    {"hook_disposed", EventType::kHookDisposed, &kHookDisposed},
    {"hook_conflict", EventType::kHookConflict, &kHookConflict},
    {"wait_created", EventType::kWaitCreated, &kWaitCreated},
    {"wait_completed", EventType::kWaitCompleted, &kWaitCompleted},
    {"attr_set", EventType::kContextUpdated, &kAttrSet},
};

void TakeCreationTime(const EventRow&, const Findings& findings, EventWrite& write,
                      std::vector<Fault>&) {
  if (write.emitted_at != Timestamp{}) return;
  for (const FoundField& found : findings.found) {
    if (found.rule->slot == Slot::kCreatedAt) write.emitted_at = FromMicros(found.number);
  }
}

}  // namespace

const Vocabulary& DevkitVocabulary() {
  static const Vocabulary vocabulary(
      DialectTable{Dialect::kDevkit, "eventType", kEnvelope, kEvents}, TakeCreationTime);
  return vocabulary;
}

}  // namespace everstep
