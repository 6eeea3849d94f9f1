#include <cstdint>
#include <string>
#include <vector>

#include "event/dialect.h"

namespace {

everstep::Event Placed(const everstep::EventWrite& write) {
  everstep::Event event;
  event.type = write.type;
  event.event_id = write.event_id;
  event.entity_id = write.entity_id;
  event.parent_id = write.parent_id;
  event.facts = write.facts;
  event.payload = write.payload;
  event.attributes = write.attributes;
  return event;
}

}  // namespace

// Any bytes parse to an order or an error in every dialect. An accepted event can be rendered in
// all dialects.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  for (const everstep::Dialect dialect : everstep::WritableDialects()) {
    const auto order = everstep::ParseEvent(dialect, json);
    if (!order) continue;
    for (const everstep::EventWrite& write : order->events) {
      std::vector<std::string> views;
      for (const everstep::Dialect view : everstep::WritableDialects()) {
        everstep::RenderEvent(view, {write.run_id, write.scope}, Placed(write), views);
      }
    }
  }
  return 0;
}
