#include "machine/lifecycle.h"

namespace everstep {

Verdict JudgeChild(const EntityState& child, const Event& event) {
  const bool opens = event.type == EventType::kChildStarted;
  switch (child.status) {
    case EntityStatus::kAbsent:
      if (opens) return kPass;
      return Refuse(ErrorCode::kChildNotFound, event,
                    {"the child run is unknown; ChildStarted must come first."});
    case EntityStatus::kRunning:
      if (!opens) return kPass;
      break;
    case EntityStatus::kClosed:
      return Refuse(ErrorCode::kChildTerminal, event, {"the child run is CLOSED, which is final."});
    default:
      break;
  }
  return Refuse(
      ErrorCode::kInvalidTransition, event,
      {"the child run is ", Name(child.status), "; it must be ", opens ? "new." : "RUNNING."});
}

void EvolveChild(EntityState& child, const Event& event) {
  if (event.type == EventType::kChildStarted) {
    child.status = EntityStatus::kRunning;
    MarkStarted(child, event);
  } else {
    child.status = EntityStatus::kClosed;
    child.completed_at = event.emitted_at;
  }
}

}  // namespace everstep
