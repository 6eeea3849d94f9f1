#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "serve/text_rule.h"

namespace everstep {

// Error texts for invalid values, shared by bodies and queries.

inline constexpr std::string_view kDurationExpected =
    "must be a duration such as \"30s\" or \"1h30m\", or a number of milliseconds";
inline constexpr std::string_view kTimeExpected =
    "must be a time of RFC 3339 such as \"2026-02-11T10:30:00Z\"";

// Returns empty if the text satisfies the rule, otherwise what is wrong with it.
std::string FaultOfText(std::string_view text, const TextRule& rule);
// The error for a word that is not one of `words`.
std::string FaultOfWord(std::string_view word, std::span<const std::string_view> words);
// "a whole number from 1 to 9".
std::string RangeText(std::int64_t min, std::int64_t max);

}  // namespace everstep
