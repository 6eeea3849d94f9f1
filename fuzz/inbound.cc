#include "bus/inbound_rule.h"
#include "bus/sink_definition.h"
#include "fuzz/fuzz.h"

// Any input is accepted or rejected; the stored form of an accepted sink must read back unchanged.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view text = AsText(bytes, size);
  if (const auto sink = ReadSinkDefinition(text, "s", {})) {
    const std::string kept = SinkDefinitionJson(*sink);
    const auto again = ReadSinkDefinition(kept, "s", {});
    FUZZ_REQUIRE(again);
    FUZZ_REQUIRE(SinkDefinitionJson(*again) == kept);
  }
  const auto rule = ReadInboundRule(text, "r");
  for (const char* type :
       {"application/json", "application/cloudevents+json", "application/cloudevents-batch+json"}) {
    const auto events = ReadInboundEvents({{"content-type", type}}, text, "id");
    if (!events || !rule) continue;
    for (const InboundEvent& event : *events) {
      std::size_t operations_left = kInboundOperationsMax;
      (void)Apply(*rule, event, operations_left);
    }
  }
  return 0;
}
