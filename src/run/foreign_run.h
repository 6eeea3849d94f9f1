#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "engine/append_authority.h"
#include "everstep/engine.h"
#include "run/signal_rules.h"
#include "store/state_store.h"

namespace everstep {

// Signals, views and explanations of runs whose log is kept here but whose steps are decided by
// another engine. That engine must check the status of a run before it delivers work: a paused run
// gets none.
class ForeignRuns {
 public:
  ForeignRuns(StateStore& store, AppendAuthority& authority, Clock& clock, Random& random)
      : store_(store), authority_(authority), clock_(clock), random_(random) {}

  // Whether another engine decides the steps of the run.
  static bool Is(const RunState& state) {
    return !state.engine_run_ref.empty() && state.engine_run_ref != kOwnEngine;
  }
  bool Has(const RunId& run_id) const;

  // Carries out PAUSE, RESUME, CANCEL, EMERGENCY_STOP and ESCALATE_ALERT. Rejects and records all
  // other signals.
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
