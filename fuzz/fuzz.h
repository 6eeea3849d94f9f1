#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/crc32c.h"

namespace everstep {

// A property that must hold for every input; the fuzzer reports the input for which it does not.
#define FUZZ_REQUIRE(condition) EVERSTEP_ASSERT(condition)

inline std::string_view AsText(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// The bytes as a record whose checksum is right: chance alone would never get past the checksum.
inline std::string WithChecksum(std::string_view bytes) {
  std::string record(bytes);
  ByteWriter(record).U32(Crc32c(bytes));
  return record;
}

// What `decode` accepts, `encode` writes such that it decodes to the same value again.
template <typename Decode, typename Encode>
void RequireRoundTrip(std::string_view bytes, const Decode& decode, const Encode& encode) {
  const auto value = decode(bytes);
  if (!value) return;
  std::string encoded;
  encode(*value, encoded);
  const auto again = decode(std::string_view(encoded));
  FUZZ_REQUIRE(again);
  FUZZ_REQUIRE(*again == *value);
}

// The same for values that cannot be compared: what `encode` writes decodes and is written again
// alike.
template <typename Decode, typename Encode>
void RequireStableForm(std::string_view bytes, const Decode& decode, const Encode& encode) {
  const auto value = decode(bytes);
  if (!value) return;
  std::string encoded;
  encode(*value, encoded);
  const auto again = decode(std::string_view(encoded));
  FUZZ_REQUIRE(again);
  std::string encoded_again;
  encode(*again, encoded_again);
  FUZZ_REQUIRE(encoded_again == encoded);
}

}  // namespace everstep

// libFuzzer calls this with each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);
