#include "machine/lifecycle.h"

namespace everstep {
namespace {

// Returns true if somebody still has to deal with the error.
bool CountsAsOpen(EntityStatus status) {
  return status == EntityStatus::kOpen || status == EntityStatus::kUnrecoverable;
}

EntityStatus StatusAfter(EventType type) {
  switch (type) {
    case EventType::kErrorResolved:
      return EntityStatus::kClosed;
    case EventType::kErrorUnrecoverable:
      return EntityStatus::kUnrecoverable;
    default:
      return EntityStatus::kOpen;
  }
}

}  // namespace

Verdict JudgeError(const EntityState& error, const Event& event) {
  if (event.type == EventType::kErrorRecorded) return kPass;
  if (error.status == EntityStatus::kOpen) return kPass;
  const bool resolves = event.type == EventType::kErrorResolved;
  if (resolves && error.status == EntityStatus::kUnrecoverable) return kPass;
  return Refuse(ErrorCode::kErrorNotOpen, event,
                {"the error is ", Name(error.status), "; it must be ",
                 resolves ? "OPEN or UNRECOVERABLE." : "OPEN."});
}

void EvolveError(RunState& run, EntityState& error, const Event& event) {
  // The run counts codes, not events: a second record of an open code changes nothing.
  const EntityStatus after = StatusAfter(event.type);
  if (CountsAsOpen(error.status)) --run.errors_open;
  if (CountsAsOpen(after)) ++run.errors_open;
  error.status = after;
  if (event.type == EventType::kErrorRecorded) MarkStarted(error, event);
  if (event.type == EventType::kErrorResolved) error.completed_at = event.emitted_at;
}

}  // namespace everstep
