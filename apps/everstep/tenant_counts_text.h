#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "everstep/log.h"

namespace everstep::cli {

inline constexpr std::string_view kRunStatuses[] = {"PENDING",   "APPROVED", "RUNNING",  "PAUSED",
                                                    "COMPLETED", "FAILED",   "CANCELLED"};

// "3 runs (1 RUNNING, 2 COMPLETED), 37 events".
std::string CountsText(const LogHealth& health);

// The member "counts": {"runs":…, "events":…, "byStatus":{…}}.
void WriteCounts(const LogHealth& health, JsonWriter& json);

}  // namespace everstep::cli
