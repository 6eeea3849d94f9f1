#include "event/field_check.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/sha256.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "event/identifier.h"

namespace everstep {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

// The current position in the document: a chain on the stack that is turned into a JSON pointer
// only for a fault.
struct FieldCheck::Place {
  const Place* above = nullptr;
  std::string_view name;
  std::size_t index = 0;
  bool in_array = false;

  std::string Pointer() const {
    if (above == nullptr) return {};
    std::string pointer = above->Pointer() + "/";
    if (in_array) return pointer + std::to_string(index);
    for (const char c : name) {
      if (c == '~') {
        pointer += "~0";
      } else if (c == '/') {
        pointer += "~1";
      } else {
        pointer += c;
      }
    }
    return pointer;
  }
};

namespace {

void Add(std::vector<Fault>& faults, std::string pointer, std::string message) {
  if (faults.size() < kFaultsMax) faults.push_back({std::move(pointer), std::move(message)});
}

bool HasLength(std::string_view text, const FieldRule& rule) {
  // A text never has more characters than bytes, so the common case needs no counting.
  if (text.size() < rule.length_min) return false;
  return text.size() <= rule.length_max || CountCharacters(text) <= rule.length_max;
}

bool IsNameUpTo(std::size_t length_max, std::string_view text) {
  if (length_max == kNameCharactersMax) return IsName(text);
  if (text.empty() || CountCharacters(text) > length_max) return false;
  // Check a long name in pieces of at most kNameCharactersMax bytes, cut between characters.
  while (!text.empty()) {
    const std::string_view piece = CutAtCharacter(text, kNameCharactersMax);
    if (!IsName(piece)) return false;
    text.remove_prefix(piece.size());
  }
  return true;
}

// The functions below also set `number` if the value represents one.
bool StringFits(const FieldRule& rule, std::string_view text, std::int64_t& number) {
  switch (rule.kind) {
    case FieldKind::kIdentifier:
      return text.size() <= rule.length_max && IsIdentifier(text);
    case FieldKind::kName:
      return IsNameUpTo(rule.length_max, text);
    case FieldKind::kText:
      return HasLength(text, rule);
    case FieldKind::kWord:
      return std::ranges::find(rule.words, text) != rule.words.end();
    case FieldKind::kTimestamp: {
      const auto time = ParseTimestamp(text);
      if (time) number = Micros(*time);
      return time.has_value();
    }
    case FieldKind::kSha256:
      return DigestFromHex(text).has_value();
    case FieldKind::kUuid:
      return IsUuidV4(text);
    default:
      return false;
  }
}

bool AllTexts(element value) {
  array items;
  if (value.get(items)) return false;
  return std::ranges::all_of(items, [](element item) { return item.is_string(); });
}

// For all kinds without an ObjectRule.
bool ValueFits(const FieldRule& rule, element value, std::int64_t& number) {
  switch (rule.kind) {
    case FieldKind::kAny:
      return true;
    case FieldKind::kRecord:
      return value.is_object();
    case FieldKind::kBoolean:
      return value.is_bool();
    case FieldKind::kNumber:
      return value.is_number();
    case FieldKind::kTextArray:
      return AllTexts(value);
    case FieldKind::kInteger: {
      const auto integer = IntegerOf(value);
      number = integer.value_or(0);
      return integer && *integer >= rule.min && *integer <= rule.max;
    }
    default:
      break;
  }
  std::string_view text;
  return !value.get(text) && StringFits(rule, text, number);
}

bool IsContainer(element value) {
  const element_type type = value.type();
  return type == element_type::OBJECT || type == element_type::ARRAY;
}

std::size_t Hash(std::string_view name) {
  if (name.empty()) return 0;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(name[i]); };
  return name.size() * 7 + at(0) * 31u + at(name.size() - 1) * 5u + at(name.size() / 2) * 13u;
}

}  // namespace

void Findings::Clear() {
  found.clear();
  faults.clear();
  repeated.clear();
}

FieldCheck::FieldCheck(const ObjectRule& rule) : rule_(&rule), nested_(rule.fields.size()) {
  EVERSTEP_ASSERT(rule.fields.size() <= 64);
  for (std::size_t i = 0; i < rule.fields.size(); ++i) {
    const FieldRule& field = rule.fields[i];
    if (field.required) required_ |= std::uint64_t{1} << i;
    if (field.object != nullptr) nested_[i] = std::make_unique<FieldCheck>(*field.object);
    std::size_t probe = Hash(field.name);
    while (probe_[probe % probe_.size()] != 0) ++probe;
    probe_[probe % probe_.size()] = static_cast<std::uint8_t>(i + 1);
  }
}

const FieldRule* FieldCheck::Find(std::string_view name) const {
  for (std::size_t probe = Hash(name);; ++probe) {
    const std::uint8_t entry = probe_[probe % probe_.size()];
    if (entry == 0) return nullptr;
    const FieldRule& field = rule_->fields[entry - 1u];
    if (field.name == name) return &field;
  }
}

void FieldCheck::Run(object document, Findings& findings) const {
  CheckObject(document, Place{}, findings);
}

void FieldCheck::CheckObject(object document, const Place& place, Findings& findings) const {
  std::uint64_t seen = 0;
  std::size_t unknown = 0;
  for (const auto [name, value] : document) {
    const Place here{&place, name};
    const FieldRule* rule = Find(name);
    if (rule == nullptr) {
      ++unknown;
      if (!rule_->additional) ReportUnknown(name, here, findings);
      if (IsContainer(value)) FindRepeats(value, here, findings);
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << (rule - rule_->fields.data());
    if ((seen & bit) != 0) Add(findings.repeated, here.Pointer(), "may occur only once");
    seen |= bit;
    CheckField(*rule, value, here, findings);
  }
  if (unknown > 1) FindRepeatsIn(document, place, findings);
  if (const std::uint64_t missing = required_ & ~seen; missing != 0) {
    for (std::size_t i = 0; i < rule_->fields.size(); ++i) {
      if ((missing >> i & 1) == 0) continue;
      const FieldRule& field = rule_->fields[i];
      Add(findings.faults, Place{&place, field.name}.Pointer(),
          "is required: " + Expectation(field) + (field.meaning.empty() ? "" : ". ") +
              std::string(field.meaning));
    }
  }
}

void FieldCheck::CheckField(const FieldRule& rule, element value, const Place& place,
                            Findings& findings) const {
  std::int64_t number = 0;
  if (rule.object != nullptr) {
    if (!CheckNested(rule, value, place, findings)) return;
  } else if (rule.kind == FieldKind::kTextArray && value.is_array()) {
    if (!CheckTexts(value, place, findings)) return;
  } else {
    if (!ValueFits(rule, value, number)) {
      Add(findings.faults, place.Pointer(), "must be " + Expectation(rule));
      return;
    }
    if (IsContainer(value)) FindRepeats(value, place, findings);
  }
  if (rule.slot != Slot::kNone) findings.found.push_back({&rule, value, number});
}

bool FieldCheck::CheckNested(const FieldRule& rule, element value, const Place& place,
                             Findings& findings) const {
  const FieldCheck& nested = *nested_[static_cast<std::size_t>(&rule - rule_->fields.data())];
  const std::size_t faults_before = findings.faults.size();
  object inner;
  array items;
  if (rule.kind == FieldKind::kObject && !value.get(inner)) {
    nested.CheckObject(inner, place, findings);
  } else if (rule.kind == FieldKind::kObjectArray && !value.get(items)) {
    std::size_t index = 0;
    for (const element item : items) {
      const Place here{&place, {}, index++, true};
      if (!item.get(inner)) {
        nested.CheckObject(inner, here, findings);
      } else {
        Add(findings.faults, here.Pointer(), "must be an object");
      }
    }
  } else {
    Add(findings.faults, place.Pointer(), "must be " + Expectation(rule));
  }
  return findings.faults.size() == faults_before;
}

bool FieldCheck::CheckTexts(element value, const Place& place, Findings& findings) {
  const std::size_t faults_before = findings.faults.size();
  std::size_t index = 0;
  array items;
  if (value.get(items)) return false;
  for (const element item : items) {
    const Place here{&place, {}, index++, true};
    if (!item.is_string()) Add(findings.faults, here.Pointer(), "must be a string");
    if (IsContainer(item)) FindRepeats(item, here, findings);
  }
  return findings.faults.size() == faults_before;
}

void FieldCheck::ReportUnknown(std::string_view name, const Place& place,
                               Findings& findings) const {
  const auto refusal = std::ranges::find(rule_->refusals, name, &Refusal::name);
  if (refusal != rule_->refusals.end()) {
    Add(findings.faults, place.Pointer(), std::string(refusal->reason));
    return;
  }
  std::string message = "is unknown; the members are";
  for (const FieldRule& field : rule_->fields) {
    message.append(&field == rule_->fields.data() ? " " : ", ").append(field.name);
  }
  Add(findings.faults, place.Pointer(), std::move(message));
}

void FieldCheck::FindRepeats(element value, const Place& place, Findings& findings) {
  object inner;
  if (!value.get(inner)) {
    FindRepeatsIn(inner, place, findings);
    for (const auto [name, member] : inner) {
      if (IsContainer(member)) FindRepeats(member, Place{&place, name}, findings);
    }
    return;
  }
  array items;
  if (value.get(items)) return;
  std::size_t index = 0;
  for (const element item : items) {
    const Place here{&place, {}, index++, true};
    if (IsContainer(item)) FindRepeats(item, here, findings);
  }
}

void FieldCheck::FindRepeatsIn(object document, const Place& place, Findings& findings) {
  constexpr std::size_t kFew = 12;
  std::array<std::string_view, kFew> few;
  std::size_t count = 0;
  bool repeats = false;
  for (const auto [name, value] : document) {
    if (count == kFew) {
      ++count;
      break;
    }
    for (std::size_t i = 0; i < count; ++i) repeats |= few[i] == name;
    few[count++] = name;
  }
  if (count <= kFew && !repeats) return;
  std::vector<std::string_view> names;
  for (const auto [name, value] : document) names.push_back(name);
  std::ranges::sort(names);
  for (auto at = names.begin(); (at = std::ranges::adjacent_find(at, names.end())) != names.end();
       ++at) {
    Add(findings.repeated, Place{&place, *at}.Pointer(), "may occur only once");
  }
}

std::optional<Error> ErrorOf(std::string_view name, Findings& findings) {
  if (!findings.repeated.empty()) {
    std::ranges::sort(findings.repeated, {}, &Fault::pointer);
    const auto same = std::unique(findings.repeated.begin(), findings.repeated.end());
    findings.repeated.erase(same, findings.repeated.end());
    return Error{ErrorCode::kInvalidJson, "a member occurs more than once in one object",
                 std::move(findings.repeated)};
  }
  if (findings.faults.empty()) return std::nullopt;
  const std::size_t count = findings.faults.size();
  return Error{ErrorCode::kSchemaValidationFailed,
               std::string(name) + " does not match its schema in " + std::to_string(count) +
                   (count == 1 ? " place" : " places"),
               std::move(findings.faults)};
}

bool Fits(const FieldRule& rule, std::string_view json) {
  thread_local simdjson::dom::parser parser;
  element value;
  if (parser.parse(json.data(), json.size()).get(value)) return false;
  std::int64_t number = 0;
  return rule.object != nullptr ? IsContainer(value) : ValueFits(rule, value, number);
}

std::optional<std::int64_t> IntegerOf(element value) {
  std::int64_t integer = 0;
  if (!value.get(integer)) return integer;
  double number = 0;
  if (!value.is_double() || value.get(number)) return std::nullopt;
  // The bounds are exact as doubles; outside of them the conversion is undefined behavior.
  if (number != std::floor(number) || number < -0x1p63 || number >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string Expectation(const FieldRule& rule) {
  switch (rule.kind) {
    case FieldKind::kIdentifier:
      return "an identifier: a letter or digit, then letters, digits, '.', '_', ':', '-'; at "
             "most " +
             std::to_string(rule.length_max) + " characters";
    case FieldKind::kName:
      return "a name of 1 to " + std::to_string(rule.length_max) +
             " characters without '|' and control characters";
    case FieldKind::kText:
      return "a string of " + std::to_string(rule.length_min) + " to " +
             std::to_string(rule.length_max) + " characters";
    case FieldKind::kWord: {
      std::string words;
      for (const std::string_view word : rule.words) {
        words.append(words.empty() ? "\"" : ", \"").append(word).append("\"");
      }
      return rule.words.size() == 1 ? words : "one of " + words;
    }
    case FieldKind::kInteger:
      if (rule.max == field::kIntegerMax) return "an integer from " + std::to_string(rule.min);
      return "an integer from " + std::to_string(rule.min) + " to " + std::to_string(rule.max);
    case FieldKind::kNumber:
      return "a number";
    case FieldKind::kBoolean:
      return "true or false";
    case FieldKind::kTimestamp:
      return "an RFC 3339 time such as \"2026-02-11T10:30:00.000Z\"";
    case FieldKind::kSha256:
      return "a SHA-256 as 64 lower-case hexadecimal digits";
    case FieldKind::kUuid:
      return "a version 4 UUID";
    case FieldKind::kRecord:
    case FieldKind::kObject:
      return "an object";
    case FieldKind::kObjectArray:
      return "an array of objects";
    case FieldKind::kTextArray:
      return "an array of strings";
    case FieldKind::kAny:
      return "any value";
  }
  return {};
}

}  // namespace everstep
