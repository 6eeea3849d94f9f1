#include "event/catalogue.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace everstep {
namespace {

// Names for the values of the boolean columns.
constexpr bool kOnce = false;
constexpr bool kRepeats = true;
constexpr bool kContract = true;
constexpr bool kBeyondContract = false;
constexpr bool kWritable = false;
constexpr bool kRecordedOnly = true;

using enum EventType;

constexpr std::array<EventSpec, kEventTypeCount> kCatalogue = {{
    {kRunQueued, "RunQueued", EntityKind::kRun, kOnce, kContract, kWritable, "absent → PENDING",
     "The run was admitted and is waiting to start."},
    {kRunApproved, "RunApproved", EntityKind::kRun, kOnce, kContract, kWritable,
     "absent, PENDING → APPROVED", "The run was approved."},
    {kRunStarted, "RunStarted", EntityKind::kRun, kOnce, kContract, kWritable,
     "absent, PENDING, APPROVED → RUNNING", "Execution began."},
    {kRunPaused, "RunPaused", EntityKind::kRun, kOnce, kContract, kWritable, "RUNNING → PAUSED",
     "No new steps are scheduled; steps in flight finish."},
    {kRunResumed, "RunResumed", EntityKind::kRun, kOnce, kContract, kWritable, "PAUSED → RUNNING",
     "Scheduling continues where it stopped."},
    {kRunCompleted, "RunCompleted", EntityKind::kRun, kOnce, kContract, kWritable,
     "RUNNING → COMPLETED", "All steps have ended and the run succeeded."},
    {kRunFailed, "RunFailed", EntityKind::kRun, kOnce, kContract, kWritable,
     "PENDING, APPROVED, RUNNING, PAUSED → FAILED", "The run ended with an error."},
    {kRunCancelled, "RunCancelled", EntityKind::kRun, kOnce, kContract, kWritable,
     "PENDING, APPROVED, RUNNING, PAUSED → CANCELLED", "The run was cancelled on request."},
    {kStepScheduled, "StepScheduled", EntityKind::kStep, kOnce, kBeyondContract, kWritable,
     "absent, FAILED → PENDING",
     "An attempt of the step was scheduled and is waiting for a worker."},
    {kStepStarted, "StepStarted", EntityKind::kStep, kOnce, kContract, kWritable,
     "absent, PENDING, FAILED → RUNNING", "An attempt of the step started."},
    {kStepFailed, "StepFailed", EntityKind::kStep, kOnce, kContract, kWritable,
     "PENDING, RUNNING → FAILED",
     "The attempt ended with an error; willRetry says whether another follows."},
    {kStepCompleted, "StepCompleted", EntityKind::kStep, kOnce, kContract, kWritable,
     "PENDING, RUNNING → SUCCESS", "The attempt ended with a result."},
    {kStepSkipped, "StepSkipped", EntityKind::kStep, kOnce, kContract, kWritable,
     "absent, PENDING, FAILED → SKIPPED",
     "The step will not run because of a dependency, a condition or an operator."},
    {kStepDelayed, "StepDelayed", EntityKind::kStep, kRepeats, kContract, kWritable,
     "absent, PENDING → PENDING", "The step must not start before a given time."},
    {kToolStarted, "ToolStarted", EntityKind::kTool, kRepeats, kBeyondContract, kWritable, "→ OPEN",
     "A tool was called."},
    {kToolProcessed, "ToolProcessed", EntityKind::kTool, kRepeats, kBeyondContract, kWritable,
     "→ CLOSED when no call is open", "A tool call returned a result or an error."},
    {kLoopStarted, "LoopStarted", EntityKind::kLoop, kRepeats, kBeyondContract, kWritable, "→ OPEN",
     "A loop over a collection began."},
    {kLoopIterationStarted, "LoopIterationStarted", EntityKind::kIteration, kRepeats,
     kBeyondContract, kWritable, "→ OPEN", "An iteration of a loop began."},
    {kLoopIterationFinished, "LoopIterationFinished", EntityKind::kIteration, kRepeats,
     kBeyondContract, kWritable, "→ CLOSED when no iteration is open",
     "An iteration of a loop ended."},
    {kLoopFinished, "LoopFinished", EntityKind::kLoop, kRepeats, kBeyondContract, kWritable,
     "→ CLOSED when no pass is open", "The loop has no iterations left."},
    {kCaseStarted, "CaseStarted", EntityKind::kCase, kRepeats, kBeyondContract, kWritable, "→ OPEN",
     "The conditions of a branch are being evaluated."},
    {kCaseEvaluated, "CaseEvaluated", EntityKind::kCase, kRepeats, kBeyondContract, kWritable,
     "→ CLOSED when no evaluation is open", "A branch was chosen."},
    {kNextEvaluated, "NextEvaluated", EntityKind::kNext, kRepeats, kBeyondContract, kWritable,
     "→ CLOSED", "The next steps were selected."},
    {kRetryStarted, "RetryStarted", EntityKind::kRetry, kRepeats, kBeyondContract, kWritable,
     "→ OPEN", "A tool call is repeated according to its retry policy."},
    {kRetryProcessed, "RetryProcessed", EntityKind::kRetry, kRepeats, kBeyondContract, kWritable,
     "→ CLOSED when no retry is open", "The repeated call returned."},
    {kSinkStarted, "SinkStarted", EntityKind::kSink, kRepeats, kBeyondContract, kWritable, "→ OPEN",
     "A result is being written to a sink."},
    {kSinkProcessed, "SinkProcessed", EntityKind::kSink, kRepeats, kBeyondContract, kWritable,
     "→ CLOSED when no write is open", "The write to the sink ended."},
    {kContextUpdated, "ContextUpdated", EntityKind::kContext, kRepeats, kBeyondContract, kWritable,
     "→ CLOSED", "Variables of the run were set."},
    {kHookCreated, "HookCreated", EntityKind::kHook, kOnce, kBeyondContract, kWritable,
     "absent → ACTIVE", "The run is waiting for an external delivery and reserved a token for it."},
    {kHookConflict, "HookConflict", EntityKind::kHook, kOnce, kBeyondContract, kRecordedOnly,
     "absent → CONFLICTED", "The requested token belongs to another active hook."},
    {kHookReceived, "HookReceived", EntityKind::kHook, kRepeats, kBeyondContract, kWritable,
     "ACTIVE → ACTIVE", "A payload was delivered to the hook."},
    {kHookDisposed, "HookDisposed", EntityKind::kHook, kOnce, kBeyondContract, kWritable,
     "ACTIVE → DISPOSED", "The hook accepts no more payloads and its token is released."},
    {kWaitCreated, "WaitCreated", EntityKind::kWait, kOnce, kBeyondContract, kWritable,
     "absent → WAITING", "A durable timer was set."},
    {kWaitCompleted, "WaitCompleted", EntityKind::kWait, kOnce, kBeyondContract, kWritable,
     "WAITING → ELAPSED", "The timer fired."},
    {kSignalAccepted, "SignalAccepted", EntityKind::kSignal, kOnce, kContract, kWritable,
     "absent → ACCEPTED", "A signal was authorized and takes effect."},
    {kSignalRejected, "SignalRejected", EntityKind::kSignal, kOnce, kContract, kWritable,
     "absent → REJECTED", "A signal was rejected, with the reason."},
    {kErrorRecorded, "ErrorRecorded", EntityKind::kError, kRepeats, kBeyondContract, kWritable,
     "any → OPEN", "An error with this code occurred in the run."},
    {kErrorResolved, "ErrorResolved", EntityKind::kError, kRepeats, kBeyondContract, kWritable,
     "OPEN, UNRECOVERABLE → CLOSED", "The errors with this code were resolved in the run."},
    {kErrorUnrecoverable, "ErrorUnrecoverable", EntityKind::kError, kRepeats, kBeyondContract,
     kWritable, "OPEN → UNRECOVERABLE",
     "An attempt to resolve the errors with this code failed permanently."},
    {kChildStarted, "ChildStarted", EntityKind::kChild, kOnce, kBeyondContract, kWritable,
     "absent → RUNNING", "The run started another run and is waiting for it."},
    {kChildFinished, "ChildFinished", EntityKind::kChild, kOnce, kBeyondContract, kWritable,
     "RUNNING → CLOSED", "The child run ended."},
}};

constexpr std::size_t IndexOf(EventType type) { return static_cast<std::size_t>(type) - 1; }

constexpr bool RowsAreOrderedByNumber() {
  for (std::size_t i = 0; i < kCatalogue.size(); ++i) {
    if (IndexOf(kCatalogue[i].type) != i) return false;
  }
  return true;
}
static_assert(RowsAreOrderedByNumber());

struct NamedType {
  std::string_view name;
  EventType type;
};

constexpr std::array<NamedType, kEventTypeCount> SortedByName() {
  std::array<NamedType, kEventTypeCount> sorted{};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sorted[i] = {kCatalogue[i].name, kCatalogue[i].type};
  }
  std::ranges::sort(sorted, {}, &NamedType::name);
  return sorted;
}
constexpr auto kByName = SortedByName();

}  // namespace

std::span<const EventSpec> Catalogue() { return kCatalogue; }

bool IsKnown(EventType type) { return IndexOf(type) < kCatalogue.size(); }

const EventSpec& SpecOf(EventType type) {
  EVERSTEP_ASSERT(IsKnown(type));
  return kCatalogue[IndexOf(type)];
}

std::optional<EventType> EventTypeNamed(std::string_view native_name) {
  const auto found = std::ranges::lower_bound(kByName, native_name, {}, &NamedType::name);
  if (found == kByName.end() || found->name != native_name) return std::nullopt;
  return found->type;
}

std::string_view Name(EntityKind kind) {
  switch (kind) {
    case EntityKind::kRun:
      return "run";
    case EntityKind::kStep:
      return "step";
    case EntityKind::kTool:
      return "tool";
    case EntityKind::kLoop:
      return "loop";
    case EntityKind::kIteration:
      return "iteration";
    case EntityKind::kCase:
      return "case";
    case EntityKind::kNext:
      return "next";
    case EntityKind::kRetry:
      return "retry";
    case EntityKind::kSink:
      return "sink";
    case EntityKind::kContext:
      return "context";
    case EntityKind::kHook:
      return "hook";
    case EntityKind::kWait:
      return "wait";
    case EntityKind::kSignal:
      return "signal";
    case EntityKind::kError:
      return "error";
    case EntityKind::kChild:
      return "child";
  }
  EVERSTEP_ASSERT(!"an entity kind that does not exist");
}

std::optional<EntityKind> EntityKindNamed(std::string_view name) {
  for (auto number = static_cast<int>(EntityKind::kRun);
       number <= static_cast<int>(EntityKind::kChild); ++number) {
    const auto kind = static_cast<EntityKind>(number);
    if (Name(kind) == name) return kind;
  }
  return std::nullopt;
}

}  // namespace everstep
