#pragma once

#include <map>

#include "event/event.h"
#include "everstep/snapshot.h"
#include "machine/state.h"

namespace everstep {

// Builds a snapshot from the states of a run and its steps. Call AddStep in order of step id.
class SnapshotBuilder {
 public:
  SnapshotBuilder(const RunId& run_id, const RunState& state);
  void AddStep(const std::string& step_id, const EntityState& step);
  RunSnapshot Build();

 private:
  RunSnapshot snapshot_;
};

// "DRAINING" or empty.
std::string_view SubstatusOf(const RunState& state);

}  // namespace everstep
