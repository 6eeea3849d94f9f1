#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "event/event_type.h"

namespace everstep {

// One row of the catalogue: everything that is fixed about an event type. Schemas, codecs, views,
// the machine's bookkeeping and docs/events.md follow from these rows and from the dialect tables
// (dialect.h).
struct EventSpec {
  EventType type;
  std::string_view name;  // native: the contract's PascalCase
  EntityKind entity;
  bool repeats;                 // may happen again to the same entity within one logical attempt
  bool in_contract;             // has a name in the contract's vocabulary (the same one)
  bool recorded_only;           // decided by Everstep, never written by a caller
  std::string_view transition;  // for people: "PENDING → RUNNING"
  std::string_view meaning;     // for people, one sentence
};

// In the order of the types' numbers.
std::span<const EventSpec> Catalogue();
// False for a stored type that a later version wrote.
bool IsKnown(EventType type);
// `type` must be known.
const EventSpec& SpecOf(EventType type);
std::optional<EventType> EventTypeNamed(std::string_view native_name);
std::string_view Name(EntityKind kind);
std::optional<EntityKind> EntityKindNamed(std::string_view name);

}  // namespace everstep
