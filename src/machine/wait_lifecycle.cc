#include "machine/lifecycle.h"

namespace everstep {

Verdict JudgeWait(const EntityState& wait, const Event& event) {
  const bool opens = event.type == EventType::kWaitCreated;
  switch (wait.status) {
    case EntityStatus::kAbsent:
      if (opens) return kPass;
      return Refuse(ErrorCode::kWaitNotFound, event,
                    {"the wait does not exist; WaitCreated must come first."});
    case EntityStatus::kWaiting:
      if (!opens) return kPass;
      break;
    case EntityStatus::kElapsed:
    case EntityStatus::kCancelled:
      return Refuse(ErrorCode::kWaitTerminal, event,
                    {"the wait is ", Name(wait.status), ", which is final."});
    default:
      break;
  }
  return Refuse(ErrorCode::kInvalidTransition, event,
                {"the wait is ", Name(wait.status), "; it must be ", opens ? "new." : "WAITING."});
}

void EvolveWait(RunState& run, EntityState& wait, const Event& event) {
  if (event.type == EventType::kWaitCreated) {
    wait.status = EntityStatus::kWaiting;
    wait.due_at = event.facts.due_at;
    MarkStarted(wait, event);
    ++run.waits_open;
  } else {
    wait.status = EntityStatus::kElapsed;
    wait.completed_at = event.emitted_at;
    --run.waits_open;
  }
}

bool ReleaseWait(RunState& run, EntityState& wait) {
  if (wait.status != EntityStatus::kWaiting) return false;
  wait.status = EntityStatus::kCancelled;
  wait.completed_at = run.completed_at;
  --run.waits_open;
  return true;
}

}  // namespace everstep
