#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "engine/append_authority.h"
#include "everstep/engine.h"
#include "run/signal_rules.h"
#include "store/state_store.h"

namespace everstep {

// Runs whose steps are decided elsewhere and whose log is kept here: what the engine can still do
// for them. Whoever delivers their work looks at their status: a run that is paused gets none.
class ForeignRuns {
 public:
  ForeignRuns(StateStore& store, AppendAuthority& authority, Clock& clock, Random& random)
      : store_(store), authority_(authority), clock_(clock), random_(random) {}

  // Somebody else decides for it.
  static bool Is(const RunState& state) {
    return !state.engine_run_ref.empty() && state.engine_run_ref != kOwnEngine;
  }
  bool Has(const RunId& run_id) const;

  // PAUSE, RESUME, CANCEL, EMERGENCY_STOP and ESCALATE_ALERT; others are refused on record.
  Result<SignalDecision> Signal(const SignalRequest& request, const SignalVerdict& verdict);
  Result<Explanation> Why(const RunId& run_id);
  Result<RunView> View(const RunId& run_id);

 private:
  Result<StoredRun> Find(StateReader& reader, const RunId& run_id) const;

  StateStore& store_;
  AppendAuthority& authority_;
  Clock& clock_;
  Random& random_;
};

}  // namespace everstep
