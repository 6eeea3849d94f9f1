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
  std::uint64_t events_kept = 0;  // the log's beginning, without a gap; zero: the run is not there
  std::vector<std::pair<std::uint64_t, std::uint64_t>> missing;  // runSeq from, to
  bool row_lost = false;  // the row that says whose it is: the run cannot be made again
};

struct SalvageReport {
  std::vector<std::string> damage;  // what was met in the files
  std::uint64_t runs = 0;           // in the new store
  std::uint64_t events = 0;
  std::vector<SalvagedRun> incomplete;
  std::uint64_t events_after_gaps = 0;  // intact, but not in the new store
};

// Makes a store at `to`, which must not exist, from what is intact in the damaged one at `from`,
// which is left as it is. Events, documents and how far sinks had come are copied; whatever follows
// from events is derived anew. A log is kept up to its first gap, and its run is quarantined: the
// engine does not go on with it, because what was done after that is not known. `after_gap` is
// called with each intact event that lies after a gap.
//
// Errors: kInvalidArgument (`to` lies in `from`), kStoreNotFound, kStoreExists, kStoreLocked,
// kStoreFormatNewer, kStoreIo.
Result<SalvageReport> SalvageStore(
    const std::string& from, const std::string& to,
    const std::function<void(const StoredRun& run, const Event& event)>& after_gap);

}  // namespace everstep
