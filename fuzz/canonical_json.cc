#include "base/json.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const auto canonical = CanonicalJson(AsText(bytes, size));
  if (!canonical) {
    FUZZ_REQUIRE(canonical.error().code == ErrorCode::kInvalidJson);
    return 0;
  }
  const auto again = CanonicalJson(*canonical);
  FUZZ_REQUIRE(again);
  FUZZ_REQUIRE(*again == *canonical);
  return 0;
}
