#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/planted_bug.h"

namespace everstep {

// Deterministic simulation of the log: authority, committer and keyed store as they are, on a
// simulated disk and clock, driven by several appenders in one thread. The same options give the
// same run, to the last byte.
//
// The fault model: what may go wrong, and why it must be survivable.
//   - The process dies, or power fails, at any moment: with orders decided and not yet written,
//   with a
//     write made and nobody told, in the middle of a write. What was answered must be there.
//   - A write fails. Nothing of it is durable, or all of it is, or its sync failed and a coin
//   decides
//     at the next crash. Never a part of it: the engine below writes a batch with one checksummed
//     record (RocksDB's write-ahead log), and a torn record is dropped as a whole. The log must
//     stop, answer that the outcome is unknown, and find out when it opens again.
//   - The disk is full, for one write or for a while. Nothing of such a write is durable; the log
//   goes
//     on when there is space.
//   - The clock jumps forward and back, also across restarts. persisted_at must not.
//   - Callers send the same order again: because they were not told, because they were told and
//     forgot, or while the first is on its way; alone or among other events.
//   - Runs that have ended are removed, and their ids come again when the tombstones are gone.
//   - Memory is short: a run may be read back from the store for any order.
// Not in it: a disk that loses or changes what it had synced (checksums find that: such a run is
// quarantined), and races between threads (the threaded tests and ThreadSanitizer look for those).
//
// Safety is checked after every answer and, on what survived, after every crash. At the end faults
// stop, and every run must be brought to its end.
struct SimulationOptions {
  std::uint64_t seed = 1;
  std::uint64_t steps = 400;
  PlantedBug bug = PlantedBug::kNone;
  bool trace = false;  // tell what happens; costs time
};

// How often a run met what it is there for.
struct SimulationCounts {
  std::uint64_t orders = 0;
  std::uint64_t events = 0;  // acknowledged as new
  std::uint64_t duplicates = 0;
  std::uint64_t refused = 0;
  std::uint64_t store_full = 0;  // answers, as the next two
  std::uint64_t indeterminate = 0;
  std::uint64_t store_stopped = 0;
  std::uint64_t unanswered = 0;  // orders that a crash cut off
  std::uint64_t crashes = 0;
  std::uint64_t doubtful_kept = 0;  // writes of unknown outcome that recovery found
  std::uint64_t doubtful_lost = 0;
  std::uint64_t purged = 0;      // runs
  std::uint64_t conflicts = 0;   // hooks that met a taken token
  std::uint64_t runs_ended = 0;  // in the last phase

  SimulationCounts& operator+=(const SimulationCounts& other);
};

struct SimulationReport {
  std::vector<std::string> findings;  // empty: all is well
  std::vector<std::string> trace;
  SimulationCounts counts;
};

SimulationReport Simulate(const SimulationOptions& options);

// The command line that repeats a run.
std::string ReproduceCommand(const SimulationOptions& options);

}  // namespace everstep
