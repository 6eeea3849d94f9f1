#pragma once

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

// What one JSON document asks to append: events of one run, one commit, in this order.
struct AppendOrder {
  RunId run_id;
  std::vector<EventWrite> events;
  OrderRule* rule = nullptr;  // set: it says which events, when their turn comes; not owned
};

inline constexpr std::size_t kEventBytesMax = 1 << 20;

// Parses and checks one event. Thread-safe. On failure nothing is half done:
//   kInvalidJson             not JSON (or a repeated member)
//   kEventTooLarge           over kEventBytesMax
//   kEventTypeUnknown        no such event in this dialect, or one that only Everstep records
//   kSchemaValidationFailed  every fault at once, each with a JSON pointer into the document
Result<AppendOrder> ParseEvent(Dialect dialect, std::string_view json);
// The same into an order that has been used before, for its memory: whatever it was is gone, also
// on failure.
Status ParseEvent(Dialect dialect, std::string_view json, AppendOrder& order);

// The run a view is drawn of.
struct RunIdentity {
  RunId run_id;
  RunScope scope;
  KeyVersion key_version = KeyVersion::kV1;
};

// The event in the dialect's words: none, one or several JSON objects, each appended to `out`.
// A pure function of its arguments.
void RenderEvent(Dialect dialect, const RunIdentity& run, const Event& event,
                 std::vector<std::string>& out);

// Of the first of these objects no more than the name of the event and its payload, for who has no
// use for JSON around them. Only for dialects that have a table of events.
struct NamedPayload {
  std::string_view name;
  std::string payload;  // an object; empty: there is none
};
std::optional<NamedPayload> RenderPayload(Dialect dialect, const RunIdentity& run,
                                          const Event& event);

}  // namespace everstep
