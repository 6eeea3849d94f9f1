#include "base/value.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "base/utf8.h"

namespace everstep {
namespace {

// Above this size, a sorted index is faster than a linear search.
constexpr std::size_t kSmallMap = 16;

constexpr std::string_view kSpace = " \t\r\n\f\v";

const Value* FindMember(const ValueMap& members, std::string_view key) {
  const auto found = std::ranges::find(members, key, &ValueMember::first);
  return found == members.end() ? nullptr : &found->second;
}

bool SameMembersSorted(const ValueMap& a, const ValueMap& b) {
  const auto sorted = [](const ValueMap& members) {
    std::vector<const ValueMember*> index;
    index.reserve(members.size());
    for (const ValueMember& member : members) index.push_back(&member);
    std::ranges::sort(
        index, {}, [](const ValueMember* member) -> const std::string& { return member->first; });
    return index;
  };
  return std::ranges::equal(sorted(a), sorted(b),
                            [](const ValueMember* x, const ValueMember* y) { return *x == *y; });
}

bool SameMembers(const ValueMap& a, const ValueMap& b) {
  if (a.size() != b.size()) return false;
  if (std::ranges::equal(a, b, {}, &ValueMember::first, &ValueMember::first)) return a == b;
  if (a.size() > kSmallMap) return SameMembersSorted(a, b);
  return std::ranges::all_of(a, [&](const ValueMember& member) {
    const Value* other = FindMember(b, member.first);
    return other != nullptr && *other == member.second;
  });
}

// Compares as integers if the double is a whole number: converting 2^53 + 1 to double gives 2^53.
bool SameNumber(std::int64_t a, double b) {
  constexpr double kTwoTo63 = 9'223'372'036'854'775'808.0;
  return b >= -kTwoTo63 && b < kTwoTo63 && std::trunc(b) == b && a == static_cast<std::int64_t>(b);
}

}  // namespace

// Not in the header: with sanitizers, g++ 12 reports the inlined variant as uninitialized.
Value::Value() = default;

Value Value::Null() {
  Value value;
  value.data_ = NullTag{};
  return value;
}

Value Value::Bool(bool value) {
  Value result;
  result.data_ = value;
  return result;
}

Value Value::Int(std::int64_t value) {
  Value result;
  result.data_ = value;
  return result;
}

Value Value::Double(double value) {
  EVERSTEP_ASSERT(std::isfinite(value));
  Value result;
  result.data_ = value;
  return result;
}

Value Value::Text(std::string value) {
  Value result;
  result.data_ = std::make_shared<const std::string>(std::move(value));
  return result;
}

Value Value::List(ValueList items) {
  Value result;
  result.data_ = std::make_shared<const ValueList>(std::move(items));
  return result;
}

Value Value::Map(ValueMap members) {
  Value result;
  result.data_ = std::make_shared<const ValueMap>(std::move(members));
  return result;
}

Value Value::Map(std::shared_ptr<const Lookup> members) {
  EVERSTEP_ASSERT(members != nullptr);
  Value result;
  result.data_ = std::move(members);
  return result;
}

Value::Kind Value::kind() const {
  // Kind has the order of the variant's alternatives; a Lookup is a map.
  return data_.index() > static_cast<std::size_t>(Kind::kMap) ? Kind::kMap
                                                              : static_cast<Kind>(data_.index());
}

bool Value::bool_value() const {
  EVERSTEP_ASSERT(kind() == Kind::kBool);
  return *std::get_if<bool>(&data_);
}

std::int64_t Value::int_value() const {
  EVERSTEP_ASSERT(kind() == Kind::kInt);
  return *std::get_if<std::int64_t>(&data_);
}

double Value::number() const {
  if (kind() == Kind::kInt) return static_cast<double>(int_value());
  EVERSTEP_ASSERT(kind() == Kind::kDouble);
  return *std::get_if<double>(&data_);
}

const std::string& Value::text() const {
  EVERSTEP_ASSERT(kind() == Kind::kText);
  return **std::get_if<std::shared_ptr<const std::string>>(&data_);
}

const ValueList& Value::list() const {
  EVERSTEP_ASSERT(kind() == Kind::kList);
  return **std::get_if<std::shared_ptr<const ValueList>>(&data_);
}

ValueMap Value::members() const { return *shared_members(); }

std::shared_ptr<const ValueMap> Value::shared_members() const {
  EVERSTEP_ASSERT(kind() == Kind::kMap);
  if (const auto* map = std::get_if<std::shared_ptr<const ValueMap>>(&data_)) return *map;
  const auto& lookup = *std::get_if<std::shared_ptr<const Lookup>>(&data_);
  return std::make_shared<const ValueMap>(lookup->Members());
}

std::size_t Value::member_count() const {
  const auto* map = std::get_if<std::shared_ptr<const ValueMap>>(&data_);
  return map == nullptr ? 0 : (*map)->size();
}

Value Value::Get(std::string_view key) const {
  if (const auto* map = std::get_if<std::shared_ptr<const ValueMap>>(&data_)) {
    const Value* found = FindMember(**map, key);
    return found == nullptr ? Value() : *found;
  }
  if (const auto* lookup = std::get_if<std::shared_ptr<const Lookup>>(&data_)) {
    return (*lookup)->Get(key);
  }
  return {};
}

Value Value::At(std::int64_t index) const {
  if (kind() == Kind::kText) {
    const std::string_view character = CharacterAt(text(), index);
    return character.empty() ? Value() : Text(std::string(character));
  }
  if (kind() != Kind::kList) return {};
  const auto size = static_cast<std::int64_t>(list().size());
  if (index < 0) index += size;  // at most INT64_MAX items: no overflow
  return index < 0 || index >= size ? Value() : list()[static_cast<std::size_t>(index)];
}

bool Value::operator==(const Value& other) const {
  if (kind() != other.kind()) {
    if (!is_number() || !other.is_number()) return false;
    return kind() == Kind::kInt ? SameNumber(int_value(), other.number())
                                : SameNumber(other.int_value(), number());
  }
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return bool_value() == other.bool_value();
    case Kind::kInt:
      return int_value() == other.int_value();
    case Kind::kDouble:
      return number() == other.number();
    case Kind::kText:
      return text() == other.text();
    case Kind::kList:
      return list() == other.list();
    case Kind::kMap:
      return SameMembers(*shared_members(), *other.shared_members());
  }
  return false;
}

std::string ToText(const Value& value) {
  if (value.undefined()) return {};
  return value.kind() == Value::Kind::kText ? value.text() : ToJson(value);
}

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNull:
      return false;
    case Value::Kind::kBool:
      return value.bool_value();
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return value.number() != 0;
    case Value::Kind::kList:
      return !value.list().empty();
    case Value::Kind::kMap:
      return !value.shared_members()->empty();
    case Value::Kind::kText:
      break;
  }
  constexpr std::array<std::string_view, 9> kFalse = {"",     "false", "0",  "no", "none",
                                                      "null", "off",   "{}", "[]"};
  std::string_view text = value.text();
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  const auto same_letter = [](char a, char b) { return AsciiLower(a) == b; };
  return std::ranges::none_of(
      kFalse, [&](std::string_view word) { return std::ranges::equal(text, word, same_letter); });
}

}  // namespace everstep
