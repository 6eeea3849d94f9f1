#pragma once

#include <cstdint>
#include <memory>

#include "engine/append_authority.h"
#include "engine/committer.h"
#include "testing/faulty_key_value.h"
#include "testing/manual_clock.h"
#include "testing/planted_bug.h"

namespace everstep {

// The product on a disk that fails and a clock that jumps: authority, committer and store of one
// process, and what is left when it dies. Not thread-safe.
class SimulatedLog {
 public:
  SimulatedLog(std::uint64_t seed, PlantedBug bug, WriteWatch watch);

  // Starts a process on the surviving data.
  Status Open();
  // Simulates a power failure: what was only in memory is lost. Closes the log.
  void Crash();
  // The content of the disk. Requires: the log is closed.
  const MemoryTables& survivors() const { return survivors_; }

  // Requires: the log is open.
  AppendAuthority& authority() { return *process_->authority; }
  FaultyKeyValue& disk() { return *process_->disk; }
  ManualClock& clock() { return clock_; }

 private:
  struct Process {
    FaultyKeyValue* disk;  // owned by the store
    std::unique_ptr<StateStore> store;
    std::unique_ptr<Committer> committer;
    std::unique_ptr<AppendAuthority> authority;
  };

  const PlantedBug bug_;
  const WriteWatch watch_;
  SeededRandom disk_random_;
  SeededRandom bug_random_;
  SeededRandom id_random_;
  ManualClock clock_;
  MemoryTables survivors_;
  std::unique_ptr<Process> process_;
};

}  // namespace everstep
