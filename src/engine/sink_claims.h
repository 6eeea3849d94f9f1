#pragma once

#include <optional>
#include <vector>

#include "store/state_store.h"

namespace everstep {

// The runs that retention must keep because open sinks need them: runs with undelivered events, and
// runs with dead letters, which may be redelivered.
class SinkClaims {
 public:
  static Result<SinkClaims> Read(StateReader& reader);

  Result<bool> Holds(StateReader& reader, const StoredRun& run) const;

 private:
  std::optional<Timestamp> horizon_;  // time of the oldest undelivered event
  std::vector<SinkKey> with_letters_;
};

}  // namespace everstep
