#pragma once

#include "everstep/log.h"
#include "store/state_store.h"

namespace everstep {

// Replays every run, compares the result with its stored rows, then runs the store's own checks.
// Read-only. Concurrent appends cause no findings: each run is compared with its log up to its
// row's watermark, in one consistent view.
Result<VerifyReport> VerifyStore(StateStore& store, const VerifyProgress& progress);

}  // namespace everstep
