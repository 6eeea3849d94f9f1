#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event_type.h"
#include "event/field_rule.h"
#include "everstep/dialect.h"

namespace everstep {

// The shape of the documents for one event of a dialect. Lives as long as the process.
struct DocumentShape {
  std::string_view name;
  std::string_view meaning;  // for display
  const ObjectRule* rule;
  // A document with any of these members must match `marked` instead.
  std::span<const std::string_view> marks;
  const ObjectRule* marked = nullptr;
};

// The shapes of all events that can be written in a dialect, in the order of its table.
std::vector<DocumentShape> DocumentShapes(Dialect dialect);

// The dialect's names for an event type, for display: "step.finished (error)". Empty if it has
// none.
std::vector<std::string> NamesOf(Dialect dialect, EventType type);

}  // namespace everstep
