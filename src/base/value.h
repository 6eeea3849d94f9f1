#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "everstep/result.h"

namespace everstep {

class Value;
using ValueList = std::vector<Value>;
using ValueMember = std::pair<std::string, Value>;
using ValueMap = std::vector<ValueMember>;  // in document order; keys are unique

// A map whose members are created on demand, such as the steps of a run, to avoid copying them all.
class Lookup {
 public:
  virtual ~Lookup() = default;
  virtual Value Get(std::string_view key) const = 0;  // undefined if there is no such member
  virtual ValueMap Members() const = 0;               // all members, for tojson, keys and the like
};

// A value in an expression: a JSON value, or "undefined" for something that does not exist.
// Immutable; copies share lists and maps.
class Value {
 public:
  enum class Kind : std::uint8_t { kUndefined, kNull, kBool, kInt, kDouble, kText, kList, kMap };

  Value();  // undefined
  static Value Null();
  static Value Bool(bool value);
  static Value Int(std::int64_t value);
  static Value Double(double value);  // finite
  static Value Text(std::string value);
  static Value List(ValueList items);
  static Value Map(ValueMap members);
  static Value Map(std::shared_ptr<const Lookup> members);

  Kind kind() const;
  bool undefined() const { return kind() == Kind::kUndefined; }
  bool is_number() const { return kind() == Kind::kInt || kind() == Kind::kDouble; }

  // Each requires a value of that kind.
  bool bool_value() const;
  std::int64_t int_value() const;
  double number() const;  // kInt or kDouble
  const std::string& text() const;
  const ValueList& list() const;
  ValueMap members() const;
  // The number of members that Get has to search: the size of a stored map, zero for a Lookup and
  // other kinds.
  std::size_t member_count() const;
  // Like `members`, without a copy. The members of a Lookup are created by this call.
  std::shared_ptr<const ValueMap> shared_members() const;

  // The member or item (for text, the character). Undefined if there is none, for any kind.
  Value Get(std::string_view key) const;
  Value At(std::int64_t index) const;  // a negative index counts from the end

  // Deep comparison. 1 == 1.0, and a Lookup equals the map of its members.
  bool operator==(const Value& other) const;

 private:
  struct NullTag {
    bool operator==(const NullTag&) const = default;
  };
  std::variant<std::monostate, NullTag, bool, std::int64_t, double,
               std::shared_ptr<const std::string>, std::shared_ptr<const ValueList>,
               std::shared_ptr<const ValueMap>, std::shared_ptr<const Lookup>>
      data_;
};

// Returns kInvalidJson if the text is not JSON, repeats a key, is nested deeper than 64 levels, or
// has more than kContentValuesMax values.
Result<Value> ValueFromJson(std::string_view json);
// Writes undefined inside a list or map as null.
void AppendJson(const Value& value, std::string& out);
std::string ToJson(const Value& value);

// Whether the value's JSON has at most that many bytes (an estimate, off by a factor of six at
// most) and is not nested deeper than ValueFromJson accepts. Stops counting at the limit, because a
// value with shared parts can be small in memory but enormous as text.
inline constexpr std::size_t kValueDepthMax = 64;
bool FitsJson(const Value& value, std::size_t bytes_max);

// Converts a value for use inside text: text unchanged, undefined as "", everything else as JSON.
std::string ToText(const Value& value);

// Returns false for undefined, null, false, 0, empty lists and maps, and for the texts "", "false",
// "0", "no", "none", "null", "off", "{}" and "[]" (trimmed, in any case). Otherwise true.
bool IsTrue(const Value& value);

}  // namespace everstep
