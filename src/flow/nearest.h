#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace everstep {

// The Levenshtein distance: the number of insertions, deletions and replacements between two words.
std::size_t EditDistance(std::string_view one, std::string_view other);

// Returns "; did you mean 'length'?" if a known word is close to `word`, otherwise "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace everstep
