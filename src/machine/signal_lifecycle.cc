#include "machine/lifecycle.h"

namespace everstep {

// A signal is decided once; the decision is all there is to it.
Verdict JudgeSignal(const EntityState& signal, const Event& event) {
  if (signal.status == EntityStatus::kAbsent) return kPass;
  return Refuse(
      ErrorCode::kSignalDuplicate, event,
      {"the signal is ", Name(signal.status), " already; another order needs another signal id."});
}

void EvolveSignal(EntityState& signal, const Event& event) {
  signal.status =
      event.type == EventType::kSignalAccepted ? EntityStatus::kAccepted : EntityStatus::kRejected;
  signal.completed_at = event.emitted_at;
}

}  // namespace everstep
