#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// The longest that a plan can speak of: a hundred years of 365.25 days.
inline constexpr std::chrono::milliseconds kDurationMax{3'155'760'000'000};

// "250ms", "5s", "1h30m", "2d", "1.5h", with units w, d, h, m, s, ms from large to small, each
// once; ISO 8601 ("PT30S", "P1DT12H"; no years and months, whose length varies); or a whole number
// of milliseconds. Nothing when it is none of these, negative, or above kDurationMax. What is finer
// than a millisecond is cut.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

// For people, two units at most, rounded down: "0ms", "250ms", "1.5s", "12s", "3m 20s", "2h 5m",
// "4d 3h".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace everstep
