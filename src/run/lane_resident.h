#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "run/lane.h"

namespace everstep {

// The error for a report whose delivery is not the current one.
Error StaleReport(const TaskId& task);

// A run in memory, with the decisions of the current turn.
struct Lane::Resident final : StartGate {
  Resident(Lane& owner, std::unique_ptr<Execution> execution)
      : lane(owner), run(std::move(execution)) {}

  bool MayStart(const std::string& activity_id, const ActivitySpec& spec,
                const std::string& concurrency_key) override {
    return lane.world_.slots.Request(
        run->run_id(), activity_id,
        {run->scope().tenant_id, spec.queue.empty() ? spec.kind : spec.queue, concurrency_key,
         spec.priority},
        lane.now_);
  }

  void Dispatched(const std::string& activity_id, std::size_t input_bytes) override {
    lane.world_.slots.Weigh(run->run_id(), activity_id, input_bytes);
  }

  Lane& lane;
  std::unique_ptr<Execution> run;
  EventSeq durable;    // of the last event known to be
  bool ended = false;  // and the host knows
  Checkpoint checkpoint;
  // The log may have recorded a conflict where the run in memory has a hook.
  bool token_is_unsure = false;
  // Of this turn:
  bool touched = false;
  std::optional<Execution::Turn> turn;
  std::vector<LaneOrder> orders;     // decided again if the write fails
  std::vector<LaneOrder> followers;  // answered by `answers`; handled again if the write fails
  std::vector<std::function<void(const Error*)>> answers;
  Timestamp deadline{};  // the run's entry in Lane::deadlines_; unset: none
  // Of the memory:
  bool shed = false;           // `run` has to be folded before it can decide
  bool goes_on = false;        // it was shed although it had more to do by itself
  std::uint64_t computes = 0;  // the turn in which it last began an immediate task
  std::shared_ptr<const CompiledProgram> program;  // counted; null if the run is shed
  std::uint64_t bytes = 0;                         // likewise, without the program's
  std::list<Resident*>::iterator use;              // in by_use_, unless the run is shed
};

}  // namespace everstep
