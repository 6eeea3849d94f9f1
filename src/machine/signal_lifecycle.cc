#include "machine/lifecycle.h"

namespace everstep {

// A signal is decided exactly once and has no further states.
Verdict JudgeSignal(const EntityState& signal, const Event& event) {
  if (signal.status == EntityStatus::kAbsent) return kPass;
  return Refuse(
      ErrorCode::kSignalDuplicate, event,
      {"the signal is already ", Name(signal.status), "; use a new signal id for a new signal."});
}

void EvolveSignal(EntityState& signal, const Event& event) {
  signal.status =
      event.type == EventType::kSignalAccepted ? EntityStatus::kAccepted : EntityStatus::kRejected;
  signal.completed_at = event.emitted_at;
}

}  // namespace everstep
