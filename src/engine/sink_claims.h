#pragma once

#include <optional>
#include <vector>

#include "store/state_store.h"

namespace everstep {

// What retention must leave alone for the sake of open sinks: runs with events that one has not had
// yet, and runs with dead letters, which may be sent again.
class SinkClaims {
 public:
  static Result<SinkClaims> Read(StateReader& reader);

  Result<bool> Holds(StateReader& reader, const StoredRun& run) const;

 private:
  std::optional<Timestamp> horizon_;  // of the oldest event that is not delivered
  std::vector<SinkKey> with_letters_;
};

}  // namespace everstep
