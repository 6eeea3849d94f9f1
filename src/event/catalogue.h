#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "event/event_type.h"

namespace everstep {

// One row of the catalogue: the fixed properties of an event type. Schemas, codecs, views, the
// machine's bookkeeping and docs/events.md are derived from these rows and from the dialect tables
// (dialect_table.h).
struct EventSpec {
  EventType type;
  std::string_view name;  // native: the contract's PascalCase
  EntityKind entity;
  bool repeats;                 // may occur repeatedly for an entity within one logical attempt
  bool in_contract;             // part of the contract's vocabulary, under the same name
  bool recorded_only;           // recorded by Everstep only; callers cannot write it
  std::string_view transition;  // for display: "PENDING → RUNNING"
  std::string_view meaning;     // for display, one sentence
};

// All rows, ordered by the number of the type.
std::span<const EventSpec> Catalogue();
// Returns false for a stored type written by a later version.
bool IsKnown(EventType type);
// Requires: IsKnown(type).
const EventSpec& SpecOf(EventType type);
std::optional<EventType> EventTypeNamed(std::string_view native_name);
std::string_view Name(EntityKind kind);
std::optional<EntityKind> EntityKindNamed(std::string_view name);

}  // namespace everstep
