#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/watched_clock.h"
#include "run/local_engine.h"
#include "testing/engine_bug.h"
#include "testing/engine_witness.h"
#include "testing/faulty_key_value.h"
#include "testing/manual_clock.h"
#include "testing/simulated_workers.h"

namespace everstep {

// An engine on a disk that fails and a clock that jumps, run by one process after another, and what
// is left when a process dies. A witness sees what becomes durable. Not thread-safe.
class SimulatedEngine {
 public:
  SimulatedEngine(std::uint64_t seed, EngineBug bug, EngineOptions options,
                  SimulatedWorkers& workers, EngineWitness& witness);

  // Starts a process on the surviving data, without some tools.
  Status Open(const std::set<std::string>& missing_tools);
  // Simulates a power failure; the witness inspects what survived.
  void Crash();

  // The next three refer to the open process.
  LocalEngine& engine() { return *process_->engine; }
  FaultyKeyValue& disk() { return *process_->disk; }
  bool write_failed() const { return process_->write_failed; }
  // The true time.
  Timestamp Now() { return clock_.Now(); }
  // Whether the wall clock jumps ahead now and then and returns; otherwise it is right, but may be
  // set back.
  bool clock_leaps() const { return clock_leaps_; }
  void Pass(std::chrono::microseconds time);
  void SetBack(std::chrono::microseconds by) { clock_.JumpBack(by); }
  // If the clock leaps: moves it ahead for less time than the engine tolerates, or back to the true
  // time.
  void Leap(std::chrono::microseconds by);
  std::uint64_t failed_writes() const { return failed_writes_; }
  using WriteWatch = std::function<void(const Status&, std::span<const RunChange* const>)>;
  void OnWrite(WriteWatch on_write) { on_write_ = std::move(on_write); }

 private:
  class WatchedStore;
  struct Process {
    FaultyKeyValue* disk = nullptr;  // owned by the store
    bool write_failed = false;
    std::unique_ptr<WatchedClock> watched;
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
  // A leaping wall clock; `ahead` is its difference from the true time.
  class LeapingClock final : public Clock {
   public:
    explicit LeapingClock(ManualClock& right) : right_(right) {}
    Timestamp Now() override { return right_.Now() + ahead; }
    std::chrono::microseconds ahead{0};

   private:
    ManualClock& right_;
  };
  void ComeBack();

  const bool clock_leaps_;
  ManualClock clock_;
  ManualBootClock boot_;
  LeapingClock wall_{clock_};
  std::chrono::microseconds leapt_at_{0};  // since boot, as the next
  std::chrono::microseconds came_back_at_{0};
  MemoryTables survivors_;
  std::unique_ptr<Process> process_;
  WriteWatch on_write_;
  std::uint64_t failed_writes_ = 0;
};

}  // namespace everstep
