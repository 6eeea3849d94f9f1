#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "run/tool.h"
#include "store/state_store.h"
#include "testing/random_plan.h"

namespace everstep {

// Engine bugs that the simulation's checkers must find. Each is planted around the unmodified
// engine: its inputs and outputs are changed as if it had the bug.
enum class EngineBug : std::uint8_t {
  kNone,
  kDispatchesEarly,      // starts steps whose StepStarted did not become durable
  kStartsTwice,          // dispatches a task twice
  kForgetsRedelivery,    // records a redelivery but never performs it
  kForgetsActiveRuns,    // ignores some runs after a restart
  kTellsNoTimers,        // never fires some timers
  kClockRunsAhead,       // fires timers early
  kFollowsLeaps,         // trusts the wall clock at once, wherever it jumps
  kTakesOldReports,      // accepts the report of an abandoned delivery for the next one
  kChangesKeys,          // uses a new idempotency key for a redelivery
  kKeepsOldCheckpoints,  // stores the first state of a run as the state of a later event
  kIgnoresSlots,         // runs more tasks of a tool at once than it has slots
  kIgnoresDependencies,  // see PlanOmission, also for all below
  kIgnoresConcurrencyKeys,
  kIgnoresLoopBounds,
  kRetriesTooOften,
  kForgetsCompensation,
};
inline constexpr std::array kEngineBugs = {
    EngineBug::kDispatchesEarly,        EngineBug::kStartsTwice,
    EngineBug::kForgetsRedelivery,      EngineBug::kForgetsActiveRuns,
    EngineBug::kTellsNoTimers,          EngineBug::kClockRunsAhead,
    EngineBug::kTakesOldReports,        EngineBug::kChangesKeys,
    EngineBug::kIgnoresSlots,           EngineBug::kIgnoresDependencies,
    EngineBug::kIgnoresConcurrencyKeys, EngineBug::kIgnoresLoopBounds,
    EngineBug::kRetriesTooOften,        EngineBug::kForgetsCompensation,
    EngineBug::kFollowsLeaps,           EngineBug::kKeepsOldCheckpoints,
};
std::string_view Name(EngineBug bug);  // "dispatches-early" …
std::optional<EngineBug> EngineBugNamed(std::string_view name);

// The part of a plan that is withheld from the engine.
PlanOmission OmissionOf(EngineBug bug);

// The tools, the store and the clock as seen by an engine with the bug.
std::unique_ptr<ToolBox> PlantInTools(EngineBug bug, std::unique_ptr<ToolBox> tools);
std::unique_ptr<StateStore> PlantInStore(EngineBug bug, std::unique_ptr<StateStore> store);
std::unique_ptr<Clock> PlantInClock(EngineBug bug, Clock& clock);

}  // namespace everstep
