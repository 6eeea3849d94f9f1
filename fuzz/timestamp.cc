#include "base/timestamp.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const auto time = ParseTimestamp(AsText(bytes, size));
  if (!time) return 0;
  const std::string text = FormatTimestamp(*time);
  const auto again = ParseTimestamp(text);
  FUZZ_REQUIRE(again);
  FUZZ_REQUIRE(*again == *time);
  FUZZ_REQUIRE(FormatTimestamp(*again) == text);
  return 0;
}
