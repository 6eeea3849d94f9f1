// NoETL's runtime event model: dotted names, a status for outcomes, and entities with links to
// their parents.

#include <array>
#include <limits>

#include "base/json.h"
#include "event/catalogue.h"
#include "event/dialects.h"
#include "event/slot_fill.h"
#include "event/slot_show.h"

namespace everstep {
namespace {

using namespace field;  // NOLINT(google-build-using-namespace): the rule constructors

constexpr std::int64_t kAttemptMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kNoName[] = {""};
constexpr std::string_view kStatuses[] = {"in_progress", "success", "error", "skipped", "paused"};

constexpr EnvelopeRow kEnvelope[] = {
    {Required(Means(Identifier("event_id", Slot::kEventId), "Unique within the execution."))},
    {Required(Word("event_type", kNoName, Slot::kEventType))},
    {Means(Text("event_alias", 256, Slot::kAlias), "Display name.")},
    {Required(Means(Time("timestamp", Slot::kEmittedAt), "Time by the writer's clock."))},
    {Required(Means(Identifier("execution_id", Slot::kRunId), "The run."))},
    {Word("entity_type", kNoName, Slot::kEntityType)},
    {Means(Name("entity_id", Slot::kRunLabel), "The playbook or workflow."), kOfRun},
    {Required(Means(Name("entity_id", Slot::kEntityLabel), "The step.")), kOfStep},
    {Required(Means(Name("entity_id", Slot::kEntityId), "The tool, loop, retry …")),
     kOfOthers | kOfSignal},
    {Means(Name("parent_id", Slot::kParentId), "The parent of the entity.")},
    {Means(Integer("seq", 0, kIntegerMax, Slot::kSequence),
           "The writer's sequence number. In views: the run's own if the writer gave none.")},
    {Name("workflow_run_id", Slot::kAttribute)},
    {Means(Name("step_run_id", Slot::kStepRunId),
           "Distinguishes one run of the step from another.")},
    {Name("tool_run_id", Slot::kAttribute)},
    {Integer("iteration", 0, kIntegerMax, Slot::kAttribute)},
    {Name("iteration_id", Slot::kAttribute)},
    {Means(Integer("attempt", 1, kAttemptMax, Slot::kLogicalAttempt), "Counts retries.")},
    {Word("status", kStatuses, Slot::kStatus)},
    {Integer("duration_ms", 0, kIntegerMax, Slot::kAttribute)},
    {Record("payload", Slot::kPayload)},
};

constexpr FieldRule kPayloadFields[] = {
    Any("inputs"),
    Any("output"),
    Any("error", Slot::kError),
    Record("meta"),
};
constexpr ObjectRule kPayload{kPayloadFields};

constexpr EventRow Base(std::string_view name, EventType type, std::string_view entity_type,
                        std::string_view alias) {
  EventRow row{name, type, &kPayload};
  row.entity_type = entity_type;
  row.alias = alias;
  return row;
}
constexpr EventRow With(std::string_view status, EventRow row) {
  row.status = status;
  row.failures = row.type == EventType::kStepFailed ? Failures::kFinal : Failures::kAll;
  return row;
}
constexpr EventRow MayLeaveOut(EventRow row) {
  row.status_may_be_left_out = true;
  return row;
}
constexpr EventRow Legacy(EventRow row) {
  row.legacy = true;
  return row;
}

constexpr auto kEvents = [] {
  using enum EventType;
  return std::array{
      Base("playbook.execution.requested", kRunQueued, "playbook", "PlaybookExecutionRequested"),
      With("success", MayLeaveOut(Base("playbook.request.evaluated", kRunApproved, "playbook",
                                       "PlaybookRequestEvaluated"))),
      Base("playbook.started", kRunStarted, "playbook", "PlaybookStarted"),
      Base("workflow.started", kRunStarted, "workflow", "WorkflowStarted"),
      With("paused",
           MayLeaveOut(Base("playbook.paused", kRunPaused, "playbook", "PlaybookPaused"))),
      With("in_progress",
           MayLeaveOut(Base("playbook.paused", kRunResumed, "playbook", "PlaybookPaused"))),
      With("success", Base("workflow.finished", kRunCompleted, "workflow", "WorkflowFinished")),
      With("error", Base("workflow.finished", kRunFailed, "workflow", "WorkflowFinished")),
      With("skipped", Base("workflow.finished", kRunCancelled, "workflow", "WorkflowFinished")),
      With("success", Base("playbook.processed", kRunCompleted, "playbook", "PlaybookProcessed")),
      With("error", Base("playbook.processed", kRunFailed, "playbook", "PlaybookProcessed")),
      With("skipped", Base("playbook.processed", kRunCancelled, "playbook", "PlaybookProcessed")),
      Base("step.started", kStepScheduled, "step", "StepStarted"),
      With("success", Base("step.finished", kStepCompleted, "step", "StepFinished")),
      With("error", Base("step.finished", kStepFailed, "step", "StepFinished")),
      With("skipped", Base("step.finished", kStepSkipped, "step", "StepFinished")),
      Base("tool.started", kToolStarted, "tool", "ToolStarted"),
      Base("tool.processed", kToolProcessed, "tool", "ToolProcessed"),
      Base("loop.started", kLoopStarted, "loop", "LoopStarted"),
      Base("loop.iteration.started", kLoopIterationStarted, "loop", "LoopIterationStarted"),
      Base("loop.iteration.finished", kLoopIterationFinished, "loop", "LoopIterationFinished"),
      Base("loop.finished", kLoopFinished, "loop", "LoopFinished"),
      Base("case.started", kCaseStarted, "case", "CaseStarted"),
      Base("case.evaluated", kCaseEvaluated, "case", "CaseEvaluated"),
      Base("next.evaluated", kNextEvaluated, "next", "NextEvaluated"),
      Base("retry.started", kRetryStarted, "retry", "RetryStarted"),
      Base("retry.processed", kRetryProcessed, "retry", "RetryProcessed"),
      Base("sink.started", kSinkStarted, "sink", "SinkStarted"),
      Base("sink.processed", kSinkProcessed, "sink", "SinkProcessed"),
      Legacy(Base("task_start", kToolStarted, "tool", "ToolStarted")),
      Legacy(With("success",
                  MayLeaveOut(Base("task_complete", kToolProcessed, "tool", "ToolProcessed")))),
      Legacy(
          With("error", MayLeaveOut(Base("task_error", kToolProcessed, "tool", "ToolProcessed")))),
  };
}();

bool IsFirstOfItsType(const EventRow& row) {
  for (const EventRow& other : kEvents) {
    if (other.type == row.type) return other.name == row.name;
  }
  return true;
}

std::string_view StepRunOf(const Findings& findings) {
  std::string_view id;
  for (const FoundField& found : findings.found) {
    if (found.rule->slot == Slot::kStepRunId && !found.value.get(id)) break;
  }
  return id;
}

void SettleIdentity(const EventRow& row, const Findings& findings, EventWrite& write,
                    std::vector<Fault>&) {
  if (!row.status.empty() && !RawMember(write.attributes, "status")) {
    AddMember(write.attributes, "status", JsonQuote(row.status));
  }
  if (!IsFirstOfItsType(row)) {
    AddMember(write.attributes, kWrittenNameAttribute, JsonQuote(row.name));
  }
  const std::string_view step_run = StepRunOf(findings);
  if (SubjectOf(row.type) == kOfStep && !step_run.empty()) {
    // A step can run several times in one execution, even concurrently, so each of its runs is a
    // separate entity.
    AddMember(write.attributes, "entity_id", JsonQuote(write.entity_id));
    write.entity_id = step_run;
  }
  if (SpecOf(row.type).repeats) write.instance_id = write.entity_id + "/" + write.event_id;
}

}  // namespace

const Vocabulary& NoetlVocabulary() {
  static const Vocabulary vocabulary(
      DialectTable{Dialect::kNoetl, "event_type", kEnvelope, kEvents}, SettleIdentity);
  return vocabulary;
}

}  // namespace everstep
