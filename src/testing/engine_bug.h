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

// Bugs of an engine that the simulation's checkers must find. Each is planted around the engine, so
// that what leaves it or reaches it is as if it had the bug; its own code is the same as ever.
enum class EngineBug : std::uint8_t {
  kNone,
  kDispatchesEarly,      // steps are started although their StepStarted did not become durable
  kStartsTwice,          // a task is handed out twice
  kForgetsRedelivery,    // a delivery after the first is recorded and never made
  kForgetsActiveRuns,    // some runs are not looked at after a restart
  kTellsNoTimers,        // some timers never ring
  kClockRunsAhead,       // timers ring early
  kFollowsLeaps,         // the wall clock is believed at once, wherever it leaps to
  kTakesOldReports,      // the report of a delivery that was given up counts for the next
  kChangesKeys,          // another idempotency key for another delivery
  kIgnoresSlots,         // more tasks of a tool at once than it has slots
  kIgnoresDependencies,  // as PlanOmission says, this and all below
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
    EngineBug::kFollowsLeaps,
};
std::string_view Name(EngineBug bug);  // "dispatches-early" …
std::optional<EngineBug> EngineBugNamed(std::string_view name);

// What the engine is not told of a plan.
PlanOmission OmissionOf(EngineBug bug);

// The tools, the store and the clock as an engine with the bug uses them.
std::unique_ptr<ToolBox> PlantInTools(EngineBug bug, std::unique_ptr<ToolBox> tools);
std::unique_ptr<StateStore> PlantInStore(EngineBug bug, std::unique_ptr<StateStore> store);
std::unique_ptr<Clock> PlantInClock(EngineBug bug, Clock& clock);

}  // namespace everstep
