#pragma once

#include <string>
#include <string_view>

#include "everstep/engine.h"
#include "run/signal_rules.h"
#include "store/state_store.h"

namespace everstep {

// Decides the steps of runs whose log is kept here: an application, or another engine. Its runs
// name it in `engine_run_ref` when they begin. Thread-safe; calls may wait for the store.
class ExecutionBackend {
 public:
  virtual ~ExecutionBackend() = default;

  // How the `engine_run_ref` of its runs begins.
  virtual std::string_view prefix() const = 0;
  // Decides a signal that passed JudgeSignal, and records the decision. CANCEL ends the run. PAUSE
  // and RESUME may only be requested: they take effect when the backend confirms them with
  // RunPaused and RunResumed, and until then the run's substatus is PAUSE_REQUESTED or
  // RESUME_REQUESTED.
  virtual Result<SignalDecision> Signal(const SignalRequest& request,
                                        const SignalVerdict& verdict) = 0;
  // Delivers to a hook of the run and returns the run's id. kCapabilityNotSupported: the backend
  // does not take this kind of delivery, or none from here.
  virtual Result<std::string> Deliver(const StoredRun& run, const HookHolder& hook,
                                      const HookDelivery& delivery) = 0;
  virtual Result<Explanation> Why(const StoredRun& run) = 0;
  virtual Result<RunView> View(const StoredRun& run) = 0;
};

}  // namespace everstep
