#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "everstep/dialect.h"
#include "everstep/result.h"

namespace everstep {

class OrderRule;  // engine/order_rule.h

// A request to append events of one run, in this order and atomically. A JSON document parses to
// one order.
struct AppendOrder {
  RunId run_id;
  std::vector<EventWrite> events;
  OrderRule* rule = nullptr;  // if set, decides which events to append; not owned
  // Replaces the run's checkpoint in the same write; an empty one removes it. Null: no change.
  std::shared_ptr<const std::string> checkpoint{};
};

inline constexpr std::size_t kEventBytesMax = 1 << 20;

// Parses and validates one document. Thread-safe.
//   kInvalidJson             not JSON, or a member is repeated
//   kEventTooLarge           larger than kEventBytesMax
//   kEventTypeUnknown        not an event of this dialect, or one that only Everstep records
//   kSchemaValidationFailed  all faults, each with a JSON pointer into the document
Result<AppendOrder> ParseEvent(Dialect dialect, std::string_view json);
// The same, but reuses the memory of `order`. Overwrites its previous content, which is unspecified
// after a failure.
Status ParseEvent(Dialect dialect, std::string_view json, AppendOrder& order);

// The properties of a run that views show.
struct RunIdentity {
  RunId run_id;
  RunScope scope;
  KeyVersion key_version = KeyVersion::kV1;
};

// Renders the event in a dialect and appends the JSON objects to `out`: none, one or several. Pure.
void RenderEvent(Dialect dialect, const RunIdentity& run, const Event& event,
                 std::vector<std::string>& out);

// The event name and payload of the first object that RenderEvent would return, without the
// envelope. Requires: the dialect is native, contract, devkit or noetl.
struct NamedPayload {
  std::string_view name;
  std::string payload;  // a JSON object; empty: none
};
std::optional<NamedPayload> RenderPayload(Dialect dialect, const RunIdentity& run,
                                          const Event& event);

}  // namespace everstep
