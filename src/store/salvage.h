#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

struct SalvagedRun {
  std::string run_id;  // "run no 7" when its id is lost
  std::string tenant_id;
  std::uint64_t events_kept =
      0;  // the log up to its first gap; zero: the run is not in the new store
  std::vector<std::pair<std::uint64_t, std::uint64_t>>
      missing;            // runSeq of the first and the last event of each gap
  bool row_lost = false;  // the run row is lost: the run cannot be rebuilt
};

struct SalvageReport {
  std::vector<std::string> damage;  // what was found in the files
  bool rows_lost = false;           // rows could not be read: runs may be missing unlisted
  std::uint64_t runs = 0;           // in the new store
  std::uint64_t events = 0;
  std::vector<SalvagedRun> incomplete;
  std::uint64_t events_after_gaps = 0;  // intact, but not in the new store
};

// Creates a store at `to`, which must not exist, from what is intact in the damaged store at
// `from`, which is not changed. Events, documents and the progress of sinks are copied; whatever
// follows from events is derived again. A log is kept up to its first gap, and its run is
// quarantined: the engine does not continue it, because what happened after the gap is unknown.
// `after_gap` is called with each intact event after a gap.
//
// Errors: kInvalidArgument (`to` is inside `from`), kStoreNotFound, kStoreExists, kStoreLocked,
// kStoreFormatNewer, kStoreIo.
Result<SalvageReport> SalvageStore(
    const std::string& from, const std::string& to,
    const std::function<void(const StoredRun& run, const Event& event)>& after_gap);

}  // namespace everstep
