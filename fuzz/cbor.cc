// CBOR from anybody: read, told as JSON as the log has it, and that as CBOR again.

#include "base/cbor.h"

#include <optional>

#include "fuzz/fuzz.h"
#include "serve/devkit/cbor_json.h"

namespace {

// Nothing: it has a number that JSON has not.
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
  // What was told once is told alike from then on.
  for (int round = 0; json && round < 2; ++round) {
    std::string cbor;
    CborWriter writer(cbor);
    WriteCbor(*json, writer);
    const auto again = ParseCbor(cbor);
    FUZZ_REQUIRE(again);
    const auto told = AsJson(*again);
    FUZZ_REQUIRE(told);
    FUZZ_REQUIRE(round == 0 || *told == *json);
    json = told;
  }
  return 0;
}
