#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "engine/append_authority.h"
#include "run/execution_backend.h"

namespace everstep {

// What the log alone allows for runs that are decided elsewhere. On its own it stands in for
// backends that are not connected to this process; a backend that is adds deliveries to it.
class LoggedBackend : public ExecutionBackend {
 public:
  enum class Pauses : std::uint8_t {
    kRequested,  // recorded; the other side confirms them
    kAtOnce,     // confirmed with the request: all work is given out here, and none to a paused run
  };
  struct Parts {
    StateStore& store;
    AppendAuthority& authority;
    Clock& clock;
    Random& random;
  };
  explicit LoggedBackend(Parts parts, Pauses pauses = Pauses::kRequested)
      : parts_(parts), pauses_(pauses) {}

  // Whether the run is decided elsewhere.
  static bool Has(const RunState& state) {
    return !state.engine_run_ref.empty() && state.engine_run_ref != kOwnEngine;
  }

  std::string_view prefix() const override { return {}; }
  // Carries out PAUSE, RESUME, CANCEL, EMERGENCY_STOP and ESCALATE_ALERT. Rejects and records all
  // other signals.
  Result<SignalDecision> Signal(const SignalRequest& request,
                                const SignalVerdict& verdict) override;
  Result<std::string> Deliver(const StoredRun& run, const HookHolder& hook,
                              const HookDelivery& delivery) override;
  Result<Explanation> Why(const StoredRun& run) override;
  Result<RunView> View(const StoredRun& run) override;

 private:
  const Parts parts_;
  const Pauses pauses_;
};

}  // namespace everstep
