#pragma once

#include <span>
#include <string>
#include <string_view>

namespace everstep {

// "; did you mean 'length'?" when one of the known words is close to `word`, else nothing.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace everstep
