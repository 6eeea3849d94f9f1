#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "event/identifier.h"

namespace everstep {

enum class Presence : std::uint8_t { kOptional, kRequired };

// What a text in a request must satisfy.
struct TextRule {
  std::size_t bytes_max;
  bool (*accepts)(std::string_view);  // null: any text
  std::string_view expected;          // completes "must be …" in the error
};

inline constexpr TextRule kAnyText{64 << 10, nullptr, "text"};
inline constexpr TextRule kShortText{1024, nullptr, "text"};
inline constexpr TextRule kIdentifierText{
    kIdentifierCharactersMax, IsIdentifier,
    "an id of 1 to 128 letters, digits, '.', '_', ':' and '-' that begins with a letter or digit"};
inline constexpr TextRule kNameText{
    4 * kNameCharactersMax, IsName,
    "a name of 1 to 256 characters without '|' and control characters"};

}  // namespace everstep
