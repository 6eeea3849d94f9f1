#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/engine_bug.h"

namespace everstep {

// Deterministic simulation of the whole engine: plans, lanes, timers, slots, admission, log and
// keyed store as they are, in one thread, on a simulated disk, a clock that jumps, workers that
// fail and operators that interfere. The same options give the same run, to the last byte.
//
// The fault model, beyond that of the log (simulation.h):
//   - Workers fail, report late, twice, in another order, to a process that did not ask them, or
//     never; heartbeats get lost; a delivery that was given up reports after all.
//   - A process has not all the tools.
//   - With some seeds the wall clock leaps ahead by up to hours and comes back within minutes,
//     which must make nothing happen early; with the others it is set back.
//   - Operators send any signal at any moment, also twice; hooks are answered twice or never.
//   - The process dies between any two commits, and with any commit.
// Not in it: threads (the stress tests and ThreadSanitizer look for races) and tools that break
// their own contract in other ways than these.
//
// Safety is judged from outside (EngineWitness) at each step. Then faults stop, tools answer,
// operators let go what is held, and every run must come to its end within a bounded number of
// steps.
struct EngineSimulationOptions {
  std::uint64_t seed = 1;
  std::uint64_t steps = 300;
  EngineBug bug = EngineBug::kNone;
  bool trace = false;  // tell what happens; costs time
};

// How often a run met what it is there for.
struct EngineSimulationCounts {
  std::uint64_t runs = 0;
  std::uint64_t events = 0;
  std::uint64_t redeliveries = 0;
  std::uint64_t late_reports = 0;  // to a process that did not ask
  std::uint64_t lost_workers = 0;
  std::uint64_t undone = 0;  // steps that were compensated
  std::uint64_t signals = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t crashes = 0;
  std::uint64_t failed_writes = 0;
  std::uint64_t completed = 0;  // runs
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;

  EngineSimulationCounts& operator+=(const EngineSimulationCounts& other);
};

struct EngineSimulationReport {
  std::vector<std::string> findings;  // empty: all is well
  std::vector<std::string> trace;
  EngineSimulationCounts counts;
};

// If the engine aborts on an assertion, the command that repeats the run is printed first.
EngineSimulationReport SimulateEngine(const EngineSimulationOptions& options);

// The command line that repeats a run.
std::string ReproduceCommand(const EngineSimulationOptions& options);

}  // namespace everstep
