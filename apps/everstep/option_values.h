#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "everstep/snapshot.h"

namespace everstep::cli {

// Each returns nothing if the text is invalid.

std::optional<std::uint64_t> ParseCount(std::string_view text);

// "4096", "64K", "64M", "2G"; K is 1024.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

// "250ms", "90s", "5m", "12h", "30d"; a plain number counts seconds. At most a thousand years.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

// An RFC 3339 time, or a duration, which is subtracted from now.
std::optional<SystemTime> ParseMoment(std::string_view text);

}  // namespace everstep::cli
