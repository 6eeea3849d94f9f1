#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "event/identifier.h"
#include "event/slot.h"

namespace everstep {

struct ObjectRule;

enum class FieldKind : std::uint8_t {
  kIdentifier,  // identifier.h
  kName,        // identifier.h, but with up to length_max characters
  kText,        // length_min to length_max characters
  kWord,        // one of `words`
  kInteger,     // min to max; 1.0 is an integer, as in JSON Schema
  kNumber,
  kBoolean,
  kTimestamp,    // timestamp.h
  kSha256,       // 64 lower-case hexadecimal digits
  kUuid,         // version 4
  kRecord,       // any object
  kObject,       // an object described by `object`
  kObjectArray,  // an array of such objects
  kTextArray,    // an array of strings
  kAny,
};

// The rule for one member of a JSON object. Checks, JSON Schemas, codecs and views are all derived
// from tables of these rules.
struct FieldRule {
  std::string_view name;
  FieldKind kind = FieldKind::kAny;
  Slot slot = Slot::kNone;
  bool required = false;
  std::size_t length_min = 0;
  std::size_t length_max = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::span<const std::string_view> words = {};
  const ObjectRule* object = nullptr;
  std::string_view meaning = {};  // for display
};

// A known member that is not accepted, with the reason.
struct Refusal {
  std::string_view name;
  std::string_view reason;
};

struct ObjectRule {
  std::span<const FieldRule> fields;  // at most 64
  bool additional = true;             // other members are allowed and kept unchanged
  std::span<const Refusal> refusals = {};
};

// Constructors for the rules in the tables.
namespace field {

inline constexpr std::int64_t kIntegerMax = std::numeric_limits<std::int64_t>::max();

constexpr FieldRule Make(std::string_view name, FieldKind kind, Slot slot) {
  FieldRule rule;
  rule.name = name;
  rule.kind = kind;
  rule.slot = slot;
  return rule;
}
constexpr FieldRule Identifier(std::string_view name, Slot slot = Slot::kNone,
                               std::size_t length_max = kIdentifierCharactersMax) {
  FieldRule rule = Make(name, FieldKind::kIdentifier, slot);
  rule.length_min = 1;
  rule.length_max = length_max;
  return rule;
}
constexpr FieldRule Name(std::string_view name, Slot slot = Slot::kNone,
                         std::size_t length_max = kNameCharactersMax) {
  FieldRule rule = Make(name, FieldKind::kName, slot);
  rule.length_min = 1;
  rule.length_max = length_max;
  return rule;
}
// A hook token: a name, but with the maximum length of a Step Functions task token.
constexpr FieldRule Token(std::string_view name, Slot slot = Slot::kNone) {
  constexpr std::size_t kTokenCharactersMax = 2048;
  return Name(name, slot, kTokenCharactersMax);
}
constexpr FieldRule Text(std::string_view name, std::size_t length_max, Slot slot = Slot::kNone) {
  FieldRule rule = Make(name, FieldKind::kText, slot);
  rule.length_max = length_max;
  return rule;
}
constexpr FieldRule NonEmptyText(std::string_view name, std::size_t length_max,
                                 Slot slot = Slot::kNone) {
  FieldRule rule = Text(name, length_max, slot);
  rule.length_min = 1;
  return rule;
}
constexpr FieldRule Word(std::string_view name, std::span<const std::string_view> words,
                         Slot slot = Slot::kNone) {
  FieldRule rule = Make(name, FieldKind::kWord, slot);
  rule.words = words;
  return rule;
}
constexpr FieldRule Integer(std::string_view name, std::int64_t min, std::int64_t max = kIntegerMax,
                            Slot slot = Slot::kNone) {
  FieldRule rule = Make(name, FieldKind::kInteger, slot);
  rule.min = min;
  rule.max = max;
  return rule;
}
constexpr FieldRule Number(std::string_view name) {
  return Make(name, FieldKind::kNumber, Slot::kNone);
}
constexpr FieldRule Boolean(std::string_view name, Slot slot = Slot::kNone) {
  return Make(name, FieldKind::kBoolean, slot);
}
constexpr FieldRule Time(std::string_view name, Slot slot = Slot::kNone) {
  return Make(name, FieldKind::kTimestamp, slot);
}
constexpr FieldRule Sha256Hex(std::string_view name, Slot slot = Slot::kNone) {
  return Make(name, FieldKind::kSha256, slot);
}
constexpr FieldRule Uuid(std::string_view name) {
  return Make(name, FieldKind::kUuid, Slot::kNone);
}
constexpr FieldRule Record(std::string_view name, Slot slot = Slot::kNone) {
  return Make(name, FieldKind::kRecord, slot);
}
constexpr FieldRule Object(std::string_view name, const ObjectRule& object,
                           Slot slot = Slot::kNone) {
  FieldRule rule = Make(name, FieldKind::kObject, slot);
  rule.object = &object;
  return rule;
}
constexpr FieldRule Objects(std::string_view name, const ObjectRule& object,
                            Slot slot = Slot::kNone) {
  FieldRule rule = Make(name, FieldKind::kObjectArray, slot);
  rule.object = &object;
  return rule;
}
constexpr FieldRule Texts(std::string_view name, Slot slot = Slot::kNone) {
  return Make(name, FieldKind::kTextArray, slot);
}
constexpr FieldRule Any(std::string_view name, Slot slot = Slot::kNone) {
  return Make(name, FieldKind::kAny, slot);
}
constexpr FieldRule Required(FieldRule rule) {
  rule.required = true;
  return rule;
}
constexpr FieldRule Means(FieldRule rule, std::string_view meaning) {
  rule.meaning = meaning;
  return rule;
}

}  // namespace field
}  // namespace everstep
