#include "event/payload_rule.h"

#include <array>

namespace everstep {
namespace {

using namespace field;  // NOLINT(google-build-using-namespace): the rule constructors

constexpr std::size_t kReason = 1000;
constexpr std::size_t kLine = 256;
constexpr std::size_t kReference = 2048;
constexpr std::size_t kMessage = 32768;
constexpr std::size_t kStack = 262144;

constexpr std::string_view kRunning[] = {"RUNNING"};
constexpr std::string_view kEngineTypes[] = {"temporal", "conductor", "mock", "everstep"};
constexpr std::string_view kTriggerSources[] = {"manual", "schedule", "webhook", "api"};
constexpr std::string_view kFailureCategories[] = {"USER", "SYSTEM", "PLATFORM", "TIMEOUT"};
constexpr std::string_view kSignalTypes[] = {"PAUSE",          "RESUME",          "CANCEL",
                                             "RETRY_STEP",     "RETRY_RUN",       "SKIP_STEP",
                                             "UPDATE_PARAMS",  "INJECT_OVERRIDE", "UPDATE_TARGET",
                                             "EMERGENCY_STOP", "ESCALATE_ALERT"};
constexpr std::string_view kAccepted[] = {"ACCEPTED"};
constexpr std::string_view kRejected[] = {"REJECTED", "REVISION_REQUIRED"};
constexpr std::string_view kRoles[] = {"Admin", "Engineer", "Operator", "System"};
constexpr std::string_view kEngineResults[] = {"success", "failure"};
constexpr std::string_view kOutcomes[] = {"in_progress", "success", "error", "skipped", "paused"};
constexpr std::string_view kRunEnds[] = {"COMPLETED", "FAILED", "CANCELLED"};

constexpr FieldRule kPlanRefFields[] = {
    Required(NonEmptyText("uri", kReference)),
    Required(Sha256Hex("sha256")),
    Required(NonEmptyText("schemaVersion", kLine)),
    Required(Name("planId", Slot::kContextPlanId)),
    Required(Name("planVersion", Slot::kContextPlanVersion)),
};
constexpr ObjectRule kPlanRef{kPlanRefFields};

constexpr FieldRule kContextFields[] = {
    Required(Identifier("tenantId", Slot::kContextTenantId)),
    Required(Identifier("projectId", Slot::kContextProjectId)),
    Required(Identifier("environmentId", Slot::kContextEnvironmentId)),
    Text("triggeredBy", kLine),
    Word("triggerSource", kTriggerSources),
};
constexpr ObjectRule kContext{kContextFields};

constexpr FieldRule kArtifactFields[] = {
    Required(NonEmptyText("uri", kReference)),
    Required(NonEmptyText("kind", kLine)),
    Sha256Hex("sha256"),
    Integer("sizeBytes", 0),
    Text("contentType", kLine),
    Time("expiresAt"),
};
constexpr ObjectRule kArtifact{kArtifactFields};

constexpr FieldRule kAuditFields[] = {
    Required(NonEmptyText("actorId", kLine)),
    Required(Word("actorRole", kRoles)),
    Identifier("tenantId"),
    Time("timestamp"),
    Text("reason", kReason),
    Text("sourceIp", kLine),
};
constexpr ObjectRule kAudit{kAuditFields};

constexpr FieldRule kEngineResultFields[] = {
    Required(Word("status", kEngineResults)),
    Name("errorCode"),
    Text("errorMessage", kMessage),
};
constexpr ObjectRule kEngineResult{kEngineResultFields};

constexpr FieldRule kSelectedFields[] = {Required(Name("step")), Any("with")};
constexpr ObjectRule kSelected{kSelectedFields};

constexpr FieldRule kRunQueued[] = {
    Name("runRequestId"),
    Text("reason", kReason),
    Any("input"),
};
constexpr FieldRule kRunApproved[] = {
    Text("approvedBy", kLine),
    Text("reason", kReason),
};
constexpr FieldRule kRunStarted[] = {
    Word("status", kRunning),         NonEmptyText("engineRunRef", kReference, Slot::kEngineRunRef),
    Word("engineType", kEngineTypes), Object("planRef", kPlanRef),
    Object("context", kContext),      Time("startedAt", Slot::kStartedAt),
};
constexpr FieldRule kRunPausedOrResumed[] = {
    Identifier("signalId"),
    Text("reason", kReason),
};
constexpr FieldRule kCompleted[] = {
    Any("result"),
    Number("durationMs"),
    Objects("artifacts", kArtifact, Slot::kArtifacts),
};
constexpr FieldRule kRunFailed[] = {
    Name("errorCode", Slot::kErrorCode),
    Text("errorMessage", kMessage, Slot::kErrorMessage),
    Boolean("retryable", Slot::kRetryable),
    Text("stack", kStack),
    Word("failureCategory", kFailureCategories),
    Text("failureSource", kLine),
    Any("error", Slot::kErrorAlias),
};
constexpr FieldRule kRunCancelled[] = {
    Identifier("signalId"),
    Text("reason", kReason),
};
constexpr FieldRule kStepScheduled[] = {
    Text("stepName", kLine),
    Any("input"),
};
constexpr FieldRule kStepStarted[] = {
    Text("workerId", kLine),
    Any("input"),
};
constexpr FieldRule kStepFailed[] = {
    Name("errorCode", Slot::kErrorCode),
    Text("errorMessage", kMessage, Slot::kErrorMessage),
    Boolean("retryable", Slot::kRetryable),
    Text("stack", kStack),
    Word("failureCategory", kFailureCategories),
    Text("failureSource", kLine),
    Any("error", Slot::kErrorAlias),
    Boolean("willRetry", Slot::kWillRetry),
    Time("dueAt", Slot::kDueAt),
};
constexpr FieldRule kStepSkipped[] = {
    Text("reason", kReason),
    Name("reasonCode"),
};
constexpr FieldRule kStepDelayed[] = {
    Time("dueAt", Slot::kDueAt),
    Text("reason", kReason),
};
// Tools, loops, cases and sinks.
constexpr FieldRule kBookkeeping[] = {
    Any("inputs"),        Any("output"), Any("error"), Record("meta"), Word("status", kOutcomes),
    Number("durationMs"),
};
constexpr FieldRule kIteration[] = {
    Integer("iteration", 0),   Any("inputs"),        Any("output"), Any("error"), Record("meta"),
    Word("status", kOutcomes), Number("durationMs"),
};
constexpr FieldRule kNextEvaluated[] = {
    Objects("selected", kSelected),
    Text("mode", kLine),
};
constexpr FieldRule kRetry[] = {
    Text("policy", kLine), Integer("delayMs", 0), Text("reason", kReason),
    Any("output"),         Any("error"),          Word("status", kOutcomes),
};
constexpr FieldRule kContextUpdated[] = {Record("changes")};
constexpr FieldRule kHookCreated[] = {
    Required(Token("token", Slot::kToken)),
    Any("metadata"),
    Boolean("isWebhook"),
};
constexpr FieldRule kHookConflict[] = {
    Required(Token("token", Slot::kToken)),
    Identifier("conflictingRunId"),
};
constexpr FieldRule kHookReceived[] = {
    Token("token"),
    Any("payload"),
};
constexpr FieldRule kHookDisposed[] = {
    Token("token"),
    Text("reason", kReason),
};
constexpr FieldRule kWaitCreated[] = {Required(Time("dueAt", Slot::kDueAt))};
constexpr FieldRule kWaitCompleted[] = {Time("dueAt")};
constexpr FieldRule kErrorRecorded[] = {
    Text("message", kMessage),
    Record("details"),
};
constexpr FieldRule kErrorSettled[] = {
    Text("reason", kReason),
    Record("details"),
};
constexpr FieldRule kChildStarted[] = {
    Name("planId"),
    Name("planVersion"),
    Any("input"),
};
constexpr FieldRule kChildFinished[] = {
    Word("status", kRunEnds),
    Any("result"),
    Any("error"),
};

// The decision record of a signal.
constexpr auto Decision(std::span<const std::string_view> decisions) {
  return std::array{
      Required(Identifier("signalId", Slot::kSignalId)),
      Required(Word("signalType", kSignalTypes, Slot::kSignalType)),
      Record("signalPayload"),
      Uuid("signalDecisionId"),
      Word("decision", decisions),
      Text("reason", kReason),
      Uuid("policyDecisionId"),
      Object("audit", kAudit),
      Identifier("projectId"),
      Identifier("environmentId"),
      Text("userAgent", kReason),
      Time("engineProcessedAt"),
      Object("engineResult", kEngineResult),
      Boolean("approvalRequired"),
      Text("approvedBy", kLine),
      Time("approvalTimestamp"),
  };
}
constexpr auto kSignalAccepted = Decision(kAccepted);
constexpr auto kSignalRejected = Decision(kRejected);

constexpr auto Flat() {
  std::array<FieldRule, std::size(kRunStarted)> members;
  for (std::size_t i = 0; i < members.size(); ++i) members[i] = Required(kRunStarted[i]);
  return members;
}
constexpr auto kRunStartedFlat = Flat();

struct PayloadRow {
  EventType type;
  ObjectRule rule;
};
constexpr PayloadRow kPayloads[] = {
    {EventType::kRunQueued, {kRunQueued}},
    {EventType::kRunApproved, {kRunApproved}},
    {EventType::kRunStarted, {kRunStarted}},
    {EventType::kRunPaused, {kRunPausedOrResumed}},
    {EventType::kRunResumed, {kRunPausedOrResumed}},
    {EventType::kRunCompleted, {kCompleted}},
    {EventType::kRunFailed, {kRunFailed}},
    {EventType::kRunCancelled, {kRunCancelled}},
    {EventType::kStepScheduled, {kStepScheduled}},
    {EventType::kStepStarted, {kStepStarted}},
    {EventType::kStepFailed, {kStepFailed}},
    {EventType::kStepCompleted, {kCompleted}},
    {EventType::kStepSkipped, {kStepSkipped}},
    {EventType::kStepDelayed, {kStepDelayed}},
    {EventType::kToolStarted, {kBookkeeping}},
    {EventType::kToolProcessed, {kBookkeeping}},
    {EventType::kLoopStarted, {kBookkeeping}},
    {EventType::kLoopIterationStarted, {kIteration}},
    {EventType::kLoopIterationFinished, {kIteration}},
    {EventType::kLoopFinished, {kBookkeeping}},
    {EventType::kCaseStarted, {kBookkeeping}},
    {EventType::kCaseEvaluated, {kBookkeeping}},
    {EventType::kNextEvaluated, {kNextEvaluated}},
    {EventType::kRetryStarted, {kRetry}},
    {EventType::kRetryProcessed, {kRetry}},
    {EventType::kSinkStarted, {kBookkeeping}},
    {EventType::kSinkProcessed, {kBookkeeping}},
    {EventType::kContextUpdated, {kContextUpdated}},
    {EventType::kHookCreated, {kHookCreated}},
    {EventType::kHookConflict, {kHookConflict}},
    {EventType::kHookReceived, {kHookReceived}},
    {EventType::kHookDisposed, {kHookDisposed}},
    {EventType::kWaitCreated, {kWaitCreated}},
    {EventType::kWaitCompleted, {kWaitCompleted}},
    {EventType::kSignalAccepted, {kSignalAccepted}},
    {EventType::kSignalRejected, {kSignalRejected}},
    {EventType::kErrorRecorded, {kErrorRecorded}},
    {EventType::kErrorResolved, {kErrorSettled}},
    {EventType::kErrorUnrecoverable, {kErrorSettled}},
    {EventType::kChildStarted, {kChildStarted}},
    {EventType::kChildFinished, {kChildFinished}},
};

constexpr bool RowsAreOrderedByNumber() {
  for (std::size_t i = 0; i < std::size(kPayloads); ++i) {
    if (static_cast<std::size_t>(kPayloads[i].type) != i + 1) return false;
  }
  return std::size(kPayloads) == kEventTypeCount;
}
static_assert(RowsAreOrderedByNumber());

}  // namespace

const ObjectRule& PayloadRule(EventType type) {
  return kPayloads[static_cast<std::size_t>(type) - 1].rule;
}

std::span<const FieldRule> RunStartedFlatMembers() { return kRunStartedFlat; }

}  // namespace everstep
