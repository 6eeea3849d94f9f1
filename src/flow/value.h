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
using ValueMap = std::vector<ValueMember>;  // in the order written; keys are unique

// A map whose members are made when asked for: the steps of a run, without copying all of them.
class Lookup {
 public:
  virtual ~Lookup() = default;
  virtual Value Get(std::string_view key) const = 0;  // undefined: there is no such member
  virtual ValueMap Members() const = 0;               // all of them, for tojson, keys and the like
};

// What expressions compute with: JSON's values, and "undefined" for what is not there. Immutable;
// copies share lists and maps.
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

  // Of a value of that kind only.
  bool bool_value() const;
  std::int64_t int_value() const;
  double number() const;  // kInt or kDouble
  const std::string& text() const;
  const ValueList& list() const;
  ValueMap members() const;
  // Of a map that is held as a whole, which Get searches; zero otherwise.
  std::size_t member_count() const;
  // The same without a copy; of a lookup they are made now.
  std::shared_ptr<const ValueMap> shared_members() const;

  // The member or item (of text: the character); undefined when there is none, whatever the kind.
  Value Get(std::string_view key) const;
  Value At(std::int64_t index) const;  // negative: from the end

  // Deep; 1 == 1.0; a lookup equals the map of its members.
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

// kInvalidJson: not JSON, a repeated key, deeper than 64, or more than kContentValuesMax values.
Result<Value> ValueFromJson(std::string_view json);
// Undefined inside a list or map is written as null.
void AppendJson(const Value& value, std::string& out);
std::string ToJson(const Value& value);

// Whether the value's JSON has at most that many bytes (by a rough count: off by a factor of six at
// most) and is not nested deeper than ValueFromJson reads. Stops counting at the limit: a value
// that shares its parts can be small in memory and endless as text.
inline constexpr std::size_t kValueDepthMax = 64;
bool FitsJson(const Value& value, std::size_t bytes_max);

// What a value looks like inside text: strings as they are, undefined as nothing, the rest as JSON.
std::string ToText(const Value& value);

// False: undefined, null, false, 0, and (as text, in any case, trimmed) "", "false", "0", "no",
// "none", "null", "off", "{}", "[]"; empty lists and maps. All else is true.
bool IsTrue(const Value& value);

}  // namespace everstep
