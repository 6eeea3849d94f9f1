#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/engine_bug.h"

namespace everstep {

// Deterministic simulation of the whole engine: the real plans, lanes, timers, slots, admission,
// log and keyed store run in one thread on a simulated disk, a clock that jumps, workers that fail
// and operators that interfere. The same options give the same run, to the last byte.
//
// The fault model, beyond that of the log (simulation.h):
//   - Workers fail, or report late, twice, out of order, to a process that did not ask them, or
//     never. Heartbeats get lost. An abandoned delivery reports after all.
//   - A process lacks some of the tools.
//   - With some seeds the wall clock jumps ahead by up to hours and returns within minutes; nothing
//     may happen early because of it. With the others it is set back.
//   - Operators send any signal at any moment, also twice; hooks are answered twice or never.
//   - The process dies between any two commits, and during any commit.
// Out of scope: threads (the stress tests and ThreadSanitizer look for races), and tools that break
// their contract in other ways.
//
// EngineWitness checks safety from outside at each step. Then faults stop, tools answer, operators
// release whatever is held, and every run must end within a bounded number of steps.
struct EngineSimulationOptions {
  std::uint64_t seed = 1;
  std::uint64_t steps = 300;
  EngineBug bug = EngineBug::kNone;
  bool trace = false;  // record what happens; slow
};

// How often each situation occurred, to show that the simulation covers it.
struct EngineSimulationCounts {
  std::uint64_t runs = 0;
  std::uint64_t events = 0;
  std::uint64_t redeliveries = 0;
  std::uint64_t late_reports = 0;  // to a process that did not ask for them
  std::uint64_t lost_workers = 0;
  std::uint64_t undone = 0;  // compensated steps
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
  std::vector<std::string> findings;  // empty if no fault was found
  std::vector<std::string> trace;
  EngineSimulationCounts counts;
};

// If the engine aborts on an assertion, the command that reproduces the run is printed first.
EngineSimulationReport SimulateEngine(const EngineSimulationOptions& options);

// The command line that reproduces a run.
std::string ReproduceCommand(const EngineSimulationOptions& options);

}  // namespace everstep
