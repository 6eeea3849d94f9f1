#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// A plus in a path is a plus; in a query, which uses form encoding, it is a space.
enum class PlusMeans : std::uint8_t { kPlus, kSpace };

// Whether percent-decoding leaves the character unchanged in any position.
inline bool StandsForItself(char c) { return c > 0x20 && c < 0x7f && c != '%' && c != '+'; }

// Decodes one path segment or one query word, once: "%2F" becomes a slash that separates nothing.
// Nullopt if an escape is malformed, or the result is not UTF-8 or contains a control character.
std::optional<std::string> PercentDecode(std::string_view text, PlusMeans plus);

}  // namespace everstep
