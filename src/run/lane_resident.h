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
  Resident(Lane& owner, std::unique_ptr<PlanRun> plan_run)
      : lane(owner), run(std::move(plan_run)) {}

  bool MayStart(const UnitKey& key, const Action& action,
                const std::string& concurrency_key) override {
    return lane.world_.slots.Request(
        run->run_id(), key,
        {run->scope().tenant_id, action.queue.empty() ? action.kind : action.queue, concurrency_key,
         action.priority},
        lane.now_);
  }

  Lane& lane;
  std::unique_ptr<PlanRun> run;
  EventSeq durable;    // of the last event known to be
  bool ended = false;  // and the host knows
  // Of this turn:
  bool touched = false;
  std::optional<PlanRun::Turn> turn;
  std::vector<LaneOrder> orders;     // to be decided again if the write fails
  std::vector<LaneOrder> followers;  // that wait for the outcome; asked again if the write fails
  std::vector<std::function<void(const Error*)>> answers;
  // Of the index:
  Timestamp deadline{};
};

}  // namespace everstep
