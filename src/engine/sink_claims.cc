#include "engine/sink_claims.h"

namespace everstep {

Result<SinkClaims> SinkClaims::Read(StateReader& reader) {
  SinkClaims claims;
  const auto marks = reader.ListSinks();
  if (!marks) return marks.error();
  for (const SinkMark& mark : *marks) {
    if (!mark.open) continue;
    if (mark.dead_letters > 0) claims.with_letters_.push_back(mark.key);
    const auto earliest = reader.EarliestBehind(mark.position);
    if (!earliest) return earliest.error();
    if (!*earliest) continue;
    if (!claims.horizon_ || **earliest < *claims.horizon_) claims.horizon_ = **earliest;
  }
  return claims;
}

// If the run's last event is older than every undelivered event, the whole run was delivered.
Result<bool> SinkClaims::Holds(StateReader& reader, const StoredRun& run) const {
  if (horizon_ && run.state.updated_at >= *horizon_) return true;
  for (const SinkKey& sink : with_letters_) {
    const auto letters = reader.ListDeadLetters({.sink = sink, .run_id = run.run_id, .limit = 1});
    if (!letters) return letters.error();
    if (!letters->empty()) return true;
  }
  return false;
}

}  // namespace everstep
