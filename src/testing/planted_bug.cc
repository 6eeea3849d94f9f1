#include "testing/planted_bug.h"

#include "base/assert.h"

namespace everstep {

std::string_view Name(PlantedBug bug) {
  switch (bug) {
    case PlantedBug::kNone:
      return "none";
    case PlantedBug::kAcksFailedWrites:
      return "acks-failed-writes";
    case PlantedBug::kTearsBatches:
      return "tears-batches";
    case PlantedBug::kLosesKeyRows:
      return "loses-key-rows";
    case PlantedBug::kMissesDuplicates:
      return "misses-duplicates";
    case PlantedBug::kKeepsTokens:
      return "keeps-tokens";
    case PlantedBug::kTurnsTimeBack:
      return "turns-time-back";
    case PlantedBug::kReopensEndedRuns:
      return "reopens-ended-runs";
    case PlantedBug::kKeepsStaleState:
      return "keeps-stale-state";
  }
  EVERSTEP_ASSERT(!"unknown planted bug");
}

std::optional<PlantedBug> PlantedBugNamed(std::string_view name) {
  if (name == Name(PlantedBug::kNone)) return PlantedBug::kNone;
  for (const PlantedBug bug : kPlantedBugs) {
    if (name == Name(bug)) return bug;
  }
  return std::nullopt;
}

}  // namespace everstep
