#pragma once

#include <cstdint>
#include <memory>

#include "engine/append_authority.h"
#include "engine/committer.h"
#include "testing/faulty_key_value.h"
#include "testing/manual_clock.h"
#include "testing/planted_bug.h"

namespace everstep {

// The product on a disk that fails and a clock that jumps: authority, committer and store as one
// process holds them, and what is left when it dies. One thread.
class SimulatedLog {
 public:
  SimulatedLog(std::uint64_t seed, PlantedBug bug, WriteWatch watch);

  // A process starts on what the disk has.
  Status Open();
  // Power fails: what was only in memory is gone. The log is closed afterwards.
  void Crash();
  // What the disk has. Only while the log is closed.
  const MemoryTables& survivors() const { return survivors_; }

  // Of the open log.
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
