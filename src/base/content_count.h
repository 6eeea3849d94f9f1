#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace everstep {

// Documents from outside are counted before they are parsed: a value of a byte or two takes a
// hundred bytes once it is parsed, so that received bytes say little about the memory to come.

// More values than these are refused by every parser of JSON and CBOR.
inline constexpr std::size_t kContentValuesMax = 1'000'000;
// What a parsed value takes at most, besides the bytes of its text.
inline constexpr std::size_t kContentValueBytes = 128;

enum class ContentKind : std::uint8_t {
  kOpaque,  // not parsed as a whole
  kJson,
  kYaml,  // or JSON
  kCbor,
};

// At least as many values as a parser makes of `content`; of malformed content at least as many as
// it makes before it stops. Reads each byte once and takes no memory. Zero: kOpaque.
std::size_t CountValues(ContentKind kind, std::string_view content);

}  // namespace everstep
