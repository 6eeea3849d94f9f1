#pragma once

#include "everstep/log.h"
#include "store/state_store.h"

namespace everstep {

// Replays every run and compares the result with its rows, then lets the store check its own. Reads
// only. What appends do meanwhile is not reported as a fault: a run is compared with its log up to
// the row's own watermark, in one view.
Result<VerifyReport> VerifyStore(StateStore& store, const VerifyProgress& progress);

}  // namespace everstep
