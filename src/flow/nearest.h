#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace everstep {

// Edits from one word to the other: letters put in, left out or replaced.
std::size_t EditDistance(std::string_view one, std::string_view other);

// "; did you mean 'length'?" when one of the known words is close to `word`, else nothing.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace everstep
