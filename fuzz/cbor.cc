// Arbitrary CBOR: parsed, converted to the JSON that the log stores, and converted back to CBOR.

#include "base/cbor.h"

#include <optional>

#include "fuzz/fuzz.h"
#include "serve/devkit/cbor_json.h"

namespace {

// Returns nothing if the item contains a number that JSON cannot represent.
std::optional<std::string> AsJson(const everstep::CborItem& item) {
  std::string json;
  everstep::JsonWriter writer(json);
  if (!WriteJson(item, writer)) return std::nullopt;
  return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const auto item = ParseCbor(AsText(bytes, size));
  if (!item) return 0;
  auto json = AsJson(*item);
  // After the first conversion the JSON must be stable.
  for (int round = 0; json && round < 2; ++round) {
    std::string cbor;
    CborWriter writer(cbor);
    WriteCbor(*json, writer);
    const auto again = ParseCbor(cbor);
    FUZZ_REQUIRE(again);
    const auto converted = AsJson(*again);
    FUZZ_REQUIRE(converted);
    FUZZ_REQUIRE(round == 0 || *converted == *json);
    json = converted;
  }
  return 0;
}
