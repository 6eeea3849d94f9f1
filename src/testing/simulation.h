#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/planted_bug.h"

namespace everstep {

// Deterministic simulation of the log: the real authority, committer and keyed store on a simulated
// disk and clock, driven by several appenders in one thread. The same options give the same run, to
// the last byte.
//
// The fault model: what may go wrong, and must be survived.
//   - The process dies, or power fails, at any moment: with orders decided but not written, with a
//     write done but not reported, in the middle of a write. Everything acknowledged must survive.
//   - A write fails. Either none of it is durable, or all of it, or its sync failed and the next
//     crash keeps or drops it at random. Never a part of it: the storage engine writes a batch as
//     one checksummed record (RocksDB's write-ahead log) and drops a torn record as a whole. The
//     log must stop, answer that the outcome is unknown, and find out when it is opened again.
//   - The disk is full, for one write or for a while. Nothing of such a write is durable; the log
//     continues when there is space.
//   - The clock jumps forward and back, also across restarts. persisted_at must never go back.
//   - Callers repeat an order: because they got no answer, because they forgot it, or while the
//     first is in flight; alone or among other events.
//   - Runs that have ended are removed, and their ids are reused after their tombstones are gone.
//   - Memory is short: any order may require reading a run back from the store.
// Out of scope: a disk that loses or changes synced data (checksums detect it, and such a run is
// quarantined), and races between threads (the threaded tests and ThreadSanitizer look for those).
//
// Safety is checked after every answer and, on what survived, after every crash. At the end faults
// stop, and it must be possible to bring every run to its end.
struct SimulationOptions {
  std::uint64_t seed = 1;
  std::uint64_t steps = 400;
  PlantedBug bug = PlantedBug::kNone;
  bool trace = false;  // record what happens; slow
};

// How often each situation occurred, to show that the simulation covers it.
struct SimulationCounts {
  std::uint64_t orders = 0;
  std::uint64_t events = 0;  // acknowledged as new
  std::uint64_t duplicates = 0;
  std::uint64_t refused = 0;
  std::uint64_t store_full = 0;  // answers, as the next two
  std::uint64_t indeterminate = 0;
  std::uint64_t store_stopped = 0;
  std::uint64_t unanswered = 0;  // orders cut off by a crash
  std::uint64_t crashes = 0;
  std::uint64_t doubtful_kept = 0;  // writes of unknown outcome that recovery found
  std::uint64_t doubtful_lost = 0;
  std::uint64_t purged = 0;      // runs
  std::uint64_t conflicts = 0;   // hooks that used a token already in use
  std::uint64_t runs_ended = 0;  // in the last phase

  SimulationCounts& operator+=(const SimulationCounts& other);
};

struct SimulationReport {
  std::vector<std::string> findings;  // empty if no fault was found
  std::vector<std::string> trace;
  SimulationCounts counts;
};

SimulationReport Simulate(const SimulationOptions& options);

// The command line that reproduces a run.
std::string ReproduceCommand(const SimulationOptions& options);

}  // namespace everstep
