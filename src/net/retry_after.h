#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/timestamp.h"

namespace everstep {

// Returns how long a Retry-After header asks to wait: seconds, or until a date (zero if it is
// past). Returns nothing if it is neither.
std::optional<std::chrono::milliseconds> RetryAfter(std::string_view header, Timestamp now);

}  // namespace everstep
