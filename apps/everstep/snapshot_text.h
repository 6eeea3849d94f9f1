#pragma once

#include <string>

#include "everstep/snapshot.h"
#include "look.h"

namespace everstep::cli {

// Describes a run: its facts and a table of its steps.
std::string SnapshotText(const RunSnapshot& snapshot, const Look& look);

// Formats a time with milliseconds.
std::string TimeText(SystemTime time);

// "4.20 s", "310 ms", "2 h 05 min".
std::string DurationText(std::chrono::microseconds duration);

}  // namespace everstep::cli
