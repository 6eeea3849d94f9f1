#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "serve/text_rule.h"

namespace everstep {

// What is said of a wrong value, alike for bodies and queries.

inline constexpr std::string_view kDurationExpected =
    "must be a duration such as \"30s\" or \"1h30m\", or a number of milliseconds";
inline constexpr std::string_view kTimeExpected =
    "must be a time of RFC 3339 such as \"2026-02-11T10:30:00Z\"";

// Empty: the text fits the rule.
std::string FaultOfText(std::string_view text, const TextRule& rule);
// Of a word that is none of `words`.
std::string FaultOfWord(std::string_view word, std::span<const std::string_view> words);
// "a whole number from 1 to 9".
std::string RangeText(std::int64_t min, std::int64_t max);

}  // namespace everstep
