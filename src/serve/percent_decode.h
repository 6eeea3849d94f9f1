#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// In a path a plus is a plus; in a query, as forms write it, a space.
enum class PlusMeans : std::uint8_t { kPlus, kSpace };

// A character that is the same before and after it is decoded, wherever it stands.
inline bool StandsForItself(char c) { return c > 0x20 && c < 0x7f && c != '%' && c != '+'; }

// One segment of a path or one word of a query, decoded once: "%2F" is a slash that separates
// nothing. Nothing when an escape is malformed, or the result is not UTF-8 or holds a control
// character.
std::optional<std::string> PercentDecode(std::string_view text, PlusMeans plus);

}  // namespace everstep
