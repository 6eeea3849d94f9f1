#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "store/key_value.h"
#include "store/state_store.h"

namespace everstep {

// Bugs that the simulation's checkers must find. Each is a plausible mistake, planted between the
// unmodified product and its store.
enum class PlantedBug : std::uint8_t {
  kNone,
  kAcksFailedWrites,  // acknowledges a failed write as durable
  kTearsBatches,      // writes only half of a batch
  kLosesKeyRows,      // writes some events without their idempotency key
  kMissesDuplicates,  // never finds the key of a durable event
  kKeepsTokens,       // does not release the token of a hook that ended
  kTurnsTimeBack,     // gives a run that is read back the clock's time, even if it is earlier
  kReopensEndedRuns,  // reads a run that has ended as running
  kKeepsStaleState,   // reads what a refused write would have made of a run as its state
};
inline constexpr std::array kPlantedBugs = {
    PlantedBug::kAcksFailedWrites, PlantedBug::kTearsBatches,    PlantedBug::kLosesKeyRows,
    PlantedBug::kMissesDuplicates, PlantedBug::kKeepsTokens,     PlantedBug::kTurnsTimeBack,
    PlantedBug::kReopensEndedRuns, PlantedBug::kKeepsStaleState,
};
std::string_view Name(PlantedBug bug);  // "acks-failed-writes" …
std::optional<PlantedBug> PlantedBugNamed(std::string_view name);

// Returns the tables with the bug planted, or unchanged if it is not a bug of tables.
std::unique_ptr<KeyValue> PlantInTables(PlantedBug bug, std::unique_ptr<KeyValue> tables,
                                        SeededRandom& random);

// Called after each write of the store with its outcome.
using WriteWatch = std::function<void(const Status&)>;

// Returns the store with the bug planted, if it is a bug of the store. `watch` sees its writes
// either way.
std::unique_ptr<StateStore> PlantInStore(PlantedBug bug, std::unique_ptr<StateStore> store,
                                         WriteWatch watch);

}  // namespace everstep
