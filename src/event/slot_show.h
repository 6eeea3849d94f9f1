#pragma once

#include <string>

#include "base/json.h"
#include "event/dialect.h"
#include "event/dialect_table.h"

namespace everstep {

// An event to be rendered as one row of a dialect's table.
struct View {
  const RunIdentity& run;
  const Event& event;
  const EventRow& row;
  std::string event_id;
  bool is_original = true;  // false for documents that the dialect adds to the written one
};

// Writes the member that `rule` describes, if the view has a value for its slot.
void ShowMember(const FieldRule& rule, const View& view, JsonWriter& writer);

// The payload plus the facts that it does not contain, under the names in the row's rule. Empty if
// there is nothing to show.
std::string ShownPayload(const View& view);

// The member `rule.name` of the event's attributes as JSON text; empty if missing or invalid.
std::string_view AttributeOf(const Event& event, const FieldRule& rule);

// The name under which the event was written; empty if it is the first name in its dialect.
std::string WrittenName(const Event& event);
inline constexpr std::string_view kWrittenNameAttribute = "event_type";

// {"code":…,"message":…} from the facts; empty if they have neither.
std::string ErrorObject(const EventFacts& facts);

}  // namespace everstep
