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
// product and its store; the product's own code is the same as ever.
enum class PlantedBug : std::uint8_t {
  kNone,
  kAcksFailedWrites,  // a failed write is answered as if it were durable
  kTearsBatches,      // half of a batch becomes durable
  kLosesKeyRows,      // some events are written without their idempotency key
  kMissesDuplicates,  // the key of a durable event is never found
  kKeepsTokens,       // the token of a hook that ended is not released
  kTurnsTimeBack,     // a run that is read back takes the clock's time, earlier or not
  kReopensEndedRuns,  // a run that ended is taken as running when it is read back
  kKeepsStaleState,   // what a refused write would have made of a run is read as its state
};
inline constexpr std::array kPlantedBugs = {
    PlantedBug::kAcksFailedWrites, PlantedBug::kTearsBatches,    PlantedBug::kLosesKeyRows,
    PlantedBug::kMissesDuplicates, PlantedBug::kKeepsTokens,     PlantedBug::kTurnsTimeBack,
    PlantedBug::kReopensEndedRuns, PlantedBug::kKeepsStaleState,
};
std::string_view Name(PlantedBug bug);  // "acks-failed-writes" …
std::optional<PlantedBug> PlantedBugNamed(std::string_view name);

// The tables with the bug, if it is one of tables; else as they are.
std::unique_ptr<KeyValue> PlantInTables(PlantedBug bug, std::unique_ptr<KeyValue> tables,
                                        SeededRandom& random);

// Called after each write of the store with its outcome.
using WriteWatch = std::function<void(const Status&)>;

// The store with the bug, if it is one of the store; `watch` sees its writes in any case.
std::unique_ptr<StateStore> PlantInStore(PlantedBug bug, std::unique_ptr<StateStore> store,
                                         WriteWatch watch);

}  // namespace everstep
