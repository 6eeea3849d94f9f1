#pragma once

#include <string>
#include <vector>

#include "everstep/snapshot.h"
#include "look.h"
#include "native_event.h"

namespace everstep::cli {

// A drawing of a run: a line of its own for each event, with the time since the first, what
// happened to what, how long it took and where on the run's time axis it lies.
std::string TimelineText(const RunSnapshot& snapshot, const std::vector<NativeEvent>& events,
                         const Look& look);

// The line above it: the run, its status, its plan.
std::string TimelineTitle(const RunSnapshot& snapshot, const Look& look);

}  // namespace everstep::cli
