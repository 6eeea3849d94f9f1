#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "event/event.h"
#include "event/field_rule.h"
#include "everstep/dialect.h"

namespace everstep {

// Which events a member of the envelope belongs to.
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
  std::string_view refusal = {};  // not empty: views show it, writers may not give it, and why
};

// Which failures of a step an event tells of.
enum class Failures : std::uint8_t { kAll, kFinal, kRetried };

// An event of the dialect: its name, what it is natively and what its payload holds. Rows of one
// name stand together and are told apart by the status.
struct EventRow {
  std::string_view name;
  EventType type{};
  const ObjectRule* payload = nullptr;  // none: any object
  Failures failures = Failures::kAll;
  std::string_view status = {};  // the status that selects this row
  bool status_may_be_left_out = false;
  std::string_view entity_type = {};
  std::string_view alias = {};  // display name
  bool legacy = false;          // understood, never shown
};

// A second form of one event: members of the payload stand in the envelope, and the scope and
// attempts may be left out. A document that has one of the lifted members is of this form.
struct FlatForm {
  std::string_view event;
  std::span<const FieldRule> lifted = {};
};

// A vocabulary whose documents are an envelope around a payload.
struct DialectTable {
  Dialect dialect;
  std::string_view type_member;
  std::span<const EnvelopeRow> envelope;
  std::span<const EventRow> events;
  FlatForm flat = {};
};

}  // namespace everstep
