#pragma once

#include <string>
#include <vector>

#include "everstep/snapshot.h"
#include "look.h"
#include "native_event.h"

namespace everstep::cli {

// Draws a run with a line for each event: the time since the first event, what happened to what,
// how long it took, and its place on the time axis of the run.
std::string TimelineText(const RunSnapshot& snapshot, const std::vector<NativeEvent>& events,
                         const Look& look);

// Returns the title line: the run, its status, its plan.
std::string TimelineTitle(const RunSnapshot& snapshot, const Look& look);

}  // namespace everstep::cli
