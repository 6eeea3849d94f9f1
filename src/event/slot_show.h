#pragma once

#include <string>

#include "base/json.h"
#include "event/dialect.h"
#include "event/dialect_table.h"

namespace everstep {

// An event as one row of a dialect's table tells it.
struct View {
  const RunIdentity& run;
  const Event& event;
  const EventRow& row;
  std::string event_id;
  bool is_original = true;  // not one that the dialect adds to what was written
};

// Writes the member that `rule` describes, if the view has a value for its slot.
void ShowMember(const FieldRule& rule, const View& view, JsonWriter& writer);

// The payload with the facts that it does not show itself, under the names of the row's rule. Empty
// when there is nothing to show.
std::string ShownPayload(const View& view);

// The member `rule.name` of the event's attributes as JSON text, if it fits the rule; else empty.
std::string_view AttributeOf(const Event& event, const FieldRule& rule);

// The name under which the event was written, where that is not the first its dialect has for it.
std::string WrittenName(const Event& event);
inline constexpr std::string_view kWrittenNameAttribute = "event_type";

// {"code":…,"message":…} of the event's facts; empty when it has neither.
std::string ErrorObject(const EventFacts& facts);

}  // namespace everstep
