#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event_type.h"
#include "event/field_rule.h"
#include "everstep/dialect.h"

namespace everstep {

// What documents of one event of a dialect look like. Lives as long as the process.
struct DocumentShape {
  std::string_view name;
  std::string_view meaning;  // for people
  const ObjectRule* rule;
  // A document that has one of the marks has to fit the other rule instead.
  std::span<const std::string_view> marks;
  const ObjectRule* marked = nullptr;
};

// All events that can be written in a dialect, in the order of its table.
std::vector<DocumentShape> DocumentShapes(Dialect dialect);

// How a dialect says it, for people: "step.finished (error)". None when it has no name for it.
std::vector<std::string> NamesOf(Dialect dialect, EventType type);

}  // namespace everstep
