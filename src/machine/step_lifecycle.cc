#include <algorithm>

#include "base/assert.h"
#include "machine/lifecycle.h"

namespace everstep {
namespace {

struct StepMove {
  bool opens;         // allowed for a new step
  bool from_pending;  // allowed in the same attempt
  bool from_running;  // allowed in the same attempt
  bool retries;       // allowed for a failed step, in its next attempt
  EntityStatus to;
  std::string_view legal;  // the above as text for messages
};

StepMove MoveOf(EventType type) {
  switch (type) {
    case EventType::kStepScheduled:
      return {true,
              false,
              false,
              true,
              EntityStatus::kPending,
              "new, or FAILED and at its next attempt"};
    case EventType::kStepStarted:
      return {true,
              true,
              true,
              true,
              EntityStatus::kRunning,
              "new, PENDING, RUNNING, or FAILED and at its next attempt"};
    case EventType::kStepCompleted:
      return {false, true, true, false, EntityStatus::kSuccess, "PENDING or RUNNING"};
    case EventType::kStepFailed:
      return {false, true, true, false, EntityStatus::kFailed, "PENDING or RUNNING"};
    case EventType::kStepSkipped:
      return {true,
              true,
              false,
              true,
              EntityStatus::kSkipped,
              "new, PENDING, or FAILED and at its next attempt"};
    case EventType::kStepDelayed:
      return {true, true, false, false, EntityStatus::kPending, "new or PENDING"};
    default:
      break;
  }
  EVERSTEP_ASSERT(false && "not an event of a step");
}

bool NeedsStartedRun(EventType type) {
  return type == EventType::kStepStarted || type == EventType::kStepCompleted ||
         type == EventType::kStepFailed;
}

bool HasSucceeded(EntityStatus status) {
  return status == EntityStatus::kSuccess || status == EntityStatus::kSkipped;
}

// While a run is paused, work in flight continues, but no step and no new attempt begins.
bool BeginsWork(const EntityState& step, const Event& event) {
  switch (event.type) {
    case EventType::kStepScheduled:
    case EventType::kStepDelayed:
      return true;
    case EventType::kStepStarted:
      return step.status == EntityStatus::kAbsent || step.status == EntityStatus::kFailed ||
             (HasSucceeded(step.status) && event.facts.revisit);
    default:
      return false;
  }
}

Verdict JudgeRunOfStep(const RunState& run, const EntityState& step, const Event& event) {
  if (NeedsStartedRun(event.type)) {
    if (Verdict refused = RequireStarted(run, event)) return refused;
  }
  if (run.status == RunStatus::kPaused && BeginsWork(step, event)) {
    return Refuse(ErrorCode::kRunPaused, event,
                  {"the run is PAUSED and the step is ", Name(step.status),
                   "; no step may begin before RunResumed."});
  }
  return kPass;
}

Rejection RefuseStep(ErrorCode code, const EntityState& step, const Event& event,
                     std::string_view right) {
  return Refuse(code, event,
                {"the step is ", Name(step.status), " at attempt ",
                 std::to_string(step.logical_attempt), "; ", right, "."});
}

Rejection RefuseMove(const EntityState& step, const Event& event, const StepMove& move) {
  if (event.logical_attempt > step.logical_attempt) {
    return RefuseStep(ErrorCode::kInvalidTransition, step, event,
                      "only StepScheduled, StepStarted or StepSkipped may open an attempt, only "
                      "after a failure, and only the next one");
  }
  return RefuseStep(ErrorCode::kInvalidTransition, step, event,
                    std::string("it must be ").append(move.legal));
}

Verdict JudgeEndedStep(const EntityState& step, const Event& event, const StepMove& move) {
  const bool next_attempt = event.logical_attempt == step.logical_attempt + 1;
  if (HasSucceeded(step.status)) {
    const bool revisits = event.facts.revisit && (event.type == EventType::kStepScheduled ||
                                                  event.type == EventType::kStepStarted);
    if (revisits && next_attempt) return kPass;
    return RefuseStep(ErrorCode::kStepTerminal, step, event, "that is final");
  }
  if (event.logical_attempt == step.logical_attempt) {
    return RefuseStep(ErrorCode::kStepTerminal, step, event,
                      "this attempt has ended, a retry must use the next one");
  }
  if (next_attempt && move.retries) return kPass;
  return RefuseMove(step, event, move);
}

// The run's count of steps with this status, if there is one.
std::uint64_t* CountOf(RunState& run, EntityStatus status) {
  switch (status) {
    case EntityStatus::kRunning:
      return &run.steps_running;
    case EntityStatus::kSuccess:
      return &run.steps_succeeded;
    case EntityStatus::kFailed:
      return &run.steps_failed;
    case EntityStatus::kSkipped:
      return &run.steps_skipped;
    default:
      return nullptr;
  }
}

void MoveTo(RunState& run, EntityState& step, EntityStatus status) {
  if (step.status == EntityStatus::kAbsent) ++run.steps_total;
  if (std::uint64_t* count = CountOf(run, step.status)) --*count;
  if (std::uint64_t* count = CountOf(run, status)) ++*count;
  step.status = status;
}

// Clears the results of the previous attempt.
void BeginAttempt(EntityState& step, const Event& event) {
  step.logical_attempt = event.logical_attempt;
  step.engine_attempt = event.engine_attempt;
  step.will_retry = false;
  step.retryable = false;
  step.completed_at = {};
  step.error_code.clear();
  step.error_message.clear();
  step.artifacts.clear();
}

}  // namespace

Verdict JudgeStep(const RunState& run, const EntityState& step, const Event& event) {
  if (Verdict refused = JudgeRunOfStep(run, step, event)) return refused;
  const StepMove move = MoveOf(event.type);
  if (step.status == EntityStatus::kAbsent) {
    if (move.opens) return kPass;
    return Refuse(ErrorCode::kStepNotFound, event,
                  {"the step does not exist; StepScheduled or StepStarted must come first."});
  }
  if (event.logical_attempt < step.logical_attempt) {
    return RefuseStep(ErrorCode::kStepAttemptStale, step, event, "earlier attempts have ended");
  }
  const bool same_attempt = event.logical_attempt == step.logical_attempt;
  switch (step.status) {
    case EntityStatus::kPending:
      if (same_attempt && move.from_pending) return kPass;
      break;
    case EntityStatus::kRunning:
      if (same_attempt && move.from_running) return kPass;
      break;
    case EntityStatus::kFailed:
    case EntityStatus::kSuccess:
    case EntityStatus::kSkipped:
      return JudgeEndedStep(step, event, move);
    default:
      break;
  }
  return RefuseMove(step, event, move);
}

void EvolveStep(RunState& run, EntityState& step, const Event& event) {
  if (event.logical_attempt != step.logical_attempt) BeginAttempt(step, event);
  // A late report of an earlier delivery must not decrease the count.
  step.engine_attempt = std::max(step.engine_attempt, event.engine_attempt);
  MoveTo(run, step, MoveOf(event.type).to);
  switch (event.type) {
    case EventType::kStepStarted:
      MarkStarted(step, event);
      step.due_at = {};
      ++step.starts;
      break;
    case EventType::kStepDelayed:
      step.due_at = event.facts.due_at;
      break;
    case EventType::kStepFailed:
      step.completed_at = event.emitted_at;
      step.will_retry = event.facts.will_retry;
      step.retryable = event.facts.retryable;
      step.due_at = event.facts.due_at;
      step.error_code = event.facts.error_code;
      step.error_message = event.facts.error_message;
      break;
    case EventType::kStepCompleted:
      step.completed_at = event.emitted_at;
      step.artifacts = event.facts.artifacts;
      break;
    case EventType::kStepSkipped:
      step.completed_at = event.emitted_at;
      break;
    default:
      break;
  }
}

}  // namespace everstep
