#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace everstep {

// Values in untrusted documents are counted before parsing: a value of one or two bytes takes about
// a hundred once parsed, so the size of the input says little about the memory needed.

// Every JSON and CBOR parser refuses documents with more values than this.
inline constexpr std::size_t kContentValuesMax = 1'000'000;
// Upper bound for the memory of a parsed value, not counting the bytes of its text.
inline constexpr std::size_t kContentValueBytes = 128;

enum class ContentKind : std::uint8_t {
  kOpaque,  // not parsed as a whole
  kJson,
  kYaml,  // or JSON
  kCbor,
};

// Returns an upper bound for the number of values that a parser creates from `content`, or creates
// before it stops at malformed content. Zero for kOpaque. Linear time, no allocation.
std::size_t CountValues(ContentKind kind, std::string_view content);

}  // namespace everstep
