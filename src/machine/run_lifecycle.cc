#include "base/assert.h"
#include "machine/lifecycle.h"

namespace everstep {
namespace {

constexpr unsigned Bit(RunStatus status) { return 1u << static_cast<unsigned>(status); }

constexpr unsigned kAbsent = Bit(RunStatus::kAbsent);
constexpr unsigned kWaitingToStart = Bit(RunStatus::kPending) | Bit(RunStatus::kApproved);
constexpr unsigned kRunning = Bit(RunStatus::kRunning);
constexpr unsigned kPaused = Bit(RunStatus::kPaused);

struct RunMove {
  unsigned from;  // set of Bit(status)
  RunStatus to;
  std::string_view legal;  // `from` as text for messages
};

RunMove MoveOf(EventType type) {
  switch (type) {
    case EventType::kRunQueued:
      return {kAbsent, RunStatus::kPending, "new"};
    case EventType::kRunApproved:
      return {kAbsent | Bit(RunStatus::kPending), RunStatus::kApproved, "new or PENDING"};
    case EventType::kRunStarted:
      return {kAbsent | kWaitingToStart, RunStatus::kRunning, "new, PENDING or APPROVED"};
    case EventType::kRunPaused:
      return {kRunning, RunStatus::kPaused, "RUNNING"};
    case EventType::kRunResumed:
      return {kPaused, RunStatus::kRunning, "PAUSED"};
    case EventType::kRunCompleted:
      return {kRunning, RunStatus::kCompleted, "RUNNING"};
    case EventType::kRunFailed:
      return {kWaitingToStart | kRunning | kPaused, RunStatus::kFailed, "not ended"};
    case EventType::kRunCancelled:
      return {kWaitingToStart | kRunning | kPaused, RunStatus::kCancelled, "not ended"};
    default:
      break;
  }
  EVERSTEP_ASSERT(false && "not an event of the run");
}

ErrorCode CodeOf(RunStatus status, EventType type) {
  if (status == RunStatus::kAbsent) return ErrorCode::kRunNotFound;
  if (IsTerminal(status)) return ErrorCode::kRunTerminal;
  if (type == EventType::kRunQueued) return ErrorCode::kRunAlreadyExists;
  if (type == EventType::kRunCompleted) {
    return status == RunStatus::kPaused ? ErrorCode::kRunPaused : ErrorCode::kRunNotStarted;
  }
  return ErrorCode::kInvalidTransition;
}

Rejection RefuseStatus(const RunState& run, const Event& event, std::string_view legal) {
  const ErrorCode code = CodeOf(run.status, event.type);
  if (code == ErrorCode::kRunNotFound) return RefuseAbsentRun(event);
  if (code == ErrorCode::kRunTerminal) {
    return Refuse(code, event, {"the run is ", Name(run.status), ", which is final."});
  }
  return Refuse(code, event, {"the run is ", Name(run.status), "; it must be ", legal, "."});
}

// A run can pause repeatedly. The number of the pause distinguishes the events of each.
Verdict JudgePauseEpoch(const RunState& run, const Event& event) {
  std::uint32_t expected = 0;
  if (event.type == EventType::kRunPaused) {
    expected = run.pause_epoch + 1;
  } else if (event.type == EventType::kRunResumed) {
    expected = run.pause_epoch;
  } else {
    return kPass;
  }
  if (event.logical_attempt == expected) return kPass;
  return Refuse(
      ErrorCode::kInvalidTransition, event,
      {"the run is ", Name(run.status), " after ", std::to_string(run.pause_epoch),
       " pauses; the attempt must be the number of the pause, ", std::to_string(expected), "."});
}

}  // namespace

Verdict JudgeRun(const RunState& run, const Event& event) {
  const bool again = CancelsAgain(run, event.type, event.facts);
  if (again && event.logical_attempt == NextPlace(run)) return kPass;
  const RunMove move = MoveOf(event.type);
  if ((move.from & Bit(run.status)) == 0) return RefuseStatus(run, event, move.legal);
  return JudgePauseEpoch(run, event);
}

void EvolveRun(RunState& run, const Event& event) {
  if (IsTerminal(run.status)) return;  // cancelled again
  if (run.status == RunStatus::kAbsent) run.created_at = event.persisted_at;
  run.status = MoveOf(event.type).to;
  switch (event.type) {
    case EventType::kRunQueued:
      run.engine_run_ref = event.facts.engine_run_ref;
      break;
    case EventType::kRunStarted:
      run.started_at =
          event.facts.started_at != Timestamp{} ? event.facts.started_at : event.emitted_at;
      if (!event.facts.engine_run_ref.empty()) run.engine_run_ref = event.facts.engine_run_ref;
      run.engine_attempt = event.engine_attempt;
      break;
    case EventType::kRunPaused:
      run.pause_epoch = event.logical_attempt;
      break;
    case EventType::kRunCompleted:
      run.artifacts = event.facts.artifacts;
      break;
    case EventType::kRunFailed:
      run.error_code = event.facts.error_code;
      run.error_message = event.facts.error_message;
      break;
    default:
      break;
  }
  if (IsTerminal(run.status)) run.completed_at = event.emitted_at;
}

}  // namespace everstep
