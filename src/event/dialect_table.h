#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "event/event.h"
#include "event/field_rule.h"
#include "everstep/dialect.h"

namespace everstep {

// The set of events that a member of the envelope applies to.
using Subjects = std::uint8_t;
inline constexpr Subjects kOfRun = 1;
inline constexpr Subjects kOfStep = 2;
inline constexpr Subjects kOfSignal = 4;
inline constexpr Subjects kOfOthers = 8;
inline constexpr Subjects kOfAll = 15;

Subjects SubjectOf(EventType type);

// A member of the envelope.
struct EnvelopeRow {
  FieldRule rule;
  Subjects subjects = kOfAll;
  std::string_view refusal = {};  // if set: shown in views but not accepted, for this reason
};

// Which failures of a step an event represents.
enum class Failures : std::uint8_t { kAll, kFinal, kRetried };

// An event of the dialect: its name, its native type and its payload. Rows with the same name must
// be adjacent; the status distinguishes them.
struct EventRow {
  std::string_view name;
  EventType type{};
  const ObjectRule* payload = nullptr;  // null: any object
  Failures failures = Failures::kAll;
  std::string_view status = {};  // the status that selects this row
  bool status_may_be_left_out = false;
  std::string_view entity_type = {};
  std::string_view alias = {};  // display name
  bool legacy = false;          // accepted, but never shown in views
};

// An alternative form of one event: members of the payload are in the envelope, and the scope and
// the attempts are optional. A document with any of the lifted members has this form.
struct FlatForm {
  std::string_view event;
  std::span<const FieldRule> lifted = {};
};

// A vocabulary whose documents consist of an envelope and a payload.
struct DialectTable {
  Dialect dialect;
  std::string_view type_member;
  std::span<const EnvelopeRow> envelope;
  std::span<const EventRow> events;
  FlatForm flat = {};
};

}  // namespace everstep
