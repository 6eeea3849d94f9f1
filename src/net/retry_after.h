#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/timestamp.h"

namespace everstep {

// What a Retry-After header asks for: seconds, or a date (past: zero). Nothing: it says neither.
std::optional<std::chrono::milliseconds> RetryAfter(std::string_view header, Timestamp now);

}  // namespace everstep
