#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "run/lane.h"

namespace everstep {

// Why a report is not taken: the delivery is not the one that runs.
Error StaleReport(const TaskId& task);

// A run in memory, with what this turn has decided for it.
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

  Lane& lane;
  std::unique_ptr<Execution> run;
  EventSeq durable;    // of the last event known to be
  bool ended = false;  // and the host knows
  // Of this turn:
  bool touched = false;
  std::optional<Execution::Turn> turn;
  std::vector<LaneOrder> orders;     // to be decided again if the write fails
  std::vector<LaneOrder> followers;  // that wait for the outcome; asked again if the write fails
  std::vector<std::function<void(const Error*)>> answers;
  // Of the index:
  Timestamp deadline{};
};

}  // namespace everstep
