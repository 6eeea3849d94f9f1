#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/crc32c.h"

namespace everstep {

// A property that must hold for every input. The fuzzer reports an input that violates it.
#define FUZZ_REQUIRE(condition) EVERSTEP_ASSERT(condition)

inline std::string_view AsText(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// Appends a valid checksum, so that the fuzzer gets past the check.
inline std::string WithChecksum(std::string_view bytes) {
  std::string record(bytes);
  ByteWriter(record).U32(Crc32c(bytes));
  return record;
}

// Requires that a value accepted by `decode` can be encoded and decoded again to the same value.
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

// The same for values without operator==: encoding the decoded value again must give the same
// bytes.
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
