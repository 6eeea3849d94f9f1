#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// The longest duration in a plan: a hundred years of 365.25 days.
inline constexpr std::chrono::milliseconds kDurationMax{3'155'760'000'000};

// Accepts three formats: "250ms", "5s", "1h30m", "2d", "1.5h" with the units w, d, h, m, s, ms from
// large to small, each at most once; ISO 8601 ("PT30S", "P1DT12H", without years and months, whose
// length varies); or a whole number of milliseconds. Returns nullopt for anything else, and for
// durations that are negative or above kDurationMax. Truncates to whole milliseconds.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

// Formats for display with at most two units, rounded down: "0ms", "250ms", "1.5s", "12s",
// "3m 20s", "2h 5m", "4d 3h".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace everstep
