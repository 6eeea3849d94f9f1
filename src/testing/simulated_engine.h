#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "run/local_engine.h"
#include "testing/engine_bug.h"
#include "testing/engine_witness.h"
#include "testing/faulty_key_value.h"
#include "testing/manual_clock.h"
#include "testing/simulated_workers.h"

namespace everstep {

// An engine on a disk that fails and a clock that jumps, as one process after the other holds it,
// and what is left when one dies. A witness sees what becomes durable. One thread.
class SimulatedEngine {
 public:
  SimulatedEngine(std::uint64_t seed, EngineBug bug, EngineOptions options,
                  SimulatedWorkers& workers, EngineWitness& witness);

  // A process starts on what the disk has, without some tools.
  Status Open(const std::set<std::string>& missing_tools);
  // Power fails; the witness looks at what survived.
  void Crash();

  // Of the open process.
  LocalEngine& engine() { return *process_->engine; }
  FaultyKeyValue& disk() { return *process_->disk; }
  bool write_failed() const { return process_->write_failed; }
  ManualClock& clock() { return clock_; }
  std::uint64_t failed_writes() const { return failed_writes_; }
  using WriteWatch = std::function<void(const Status&, std::span<const RunChange* const>)>;
  void OnWrite(WriteWatch on_write) { on_write_ = std::move(on_write); }

 private:
  class WatchedStore;
  struct Process {
    FaultyKeyValue* disk = nullptr;  // owned by the store
    bool write_failed = false;
    std::unique_ptr<Clock> clock;
    std::unique_ptr<LocalEngine> engine;
  };

  const EngineBug bug_;
  const bool has_little_memory_;
  const EngineOptions options_;
  SimulatedWorkers& workers_;
  EngineWitness& witness_;
  SeededRandom disk_random_;
  SeededRandom engine_random_;
  ManualClock clock_;
  MemoryTables survivors_;
  std::unique_ptr<Process> process_;
  WriteWatch on_write_;
  std::uint64_t failed_writes_ = 0;
};

}  // namespace everstep
