#include "flow/input_check.h"

#include <cmath>

#include "flow/pattern.h"
#include "flow/utf8.h"

namespace everstep {
namespace {

class ValueCheck {
 public:
  ValueCheck(const Value& declaration, const std::string& pointer, std::vector<Fault>& faults)
      : declaration_(declaration), pointer_(pointer), faults_(faults) {}

  void Check(Value& value) {
    const Value type = declaration_.Get("type");
    if (!type.undefined() && !HasType(value, type.text())) {
      return Add("must be of type " + type.text() + ", not " + Shown(value));
    }
    CheckEnum(value);
    if (value.is_number()) CheckNumber(value);
    if (value.kind() == Value::Kind::kText) CheckText(value.text());
    if (value.kind() == Value::Kind::kList) CheckItems(value);
  }

 private:
  void Add(std::string message) { faults_.push_back(Fault{pointer_, std::move(message)}); }

  static std::string Shown(const Value& value) {
    constexpr std::size_t kShownMax = 40;
    const std::string json = ToJson(value);
    if (json.size() <= kShownMax) return json;
    return std::string(CutAtCharacter(json, kShownMax)) + "…";
  }

  static bool HasType(Value& value, const std::string& type) {
    using Kind = Value::Kind;
    if (type == "integer" && value.kind() == Kind::kDouble) {
      constexpr double kExact = 9007199254740992;  // 2^53
      const double number = value.number();
      if (std::trunc(number) != number || std::abs(number) > kExact) return false;
      value = Value::Int(static_cast<std::int64_t>(number));
    }
    switch (value.kind()) {
      case Kind::kBool:
        return type == "boolean";
      case Kind::kInt:
        return type == "integer" || type == "number";
      case Kind::kDouble:
        return type == "number";
      case Kind::kText:
        return type == "string";
      case Kind::kList:
        return type == "array";
      case Kind::kMap:
        return type == "object";
      case Kind::kUndefined:
      case Kind::kNull:
        break;
    }
    return false;
  }

  void CheckEnum(const Value& value) {
    const Value allowed = declaration_.Get("enum");
    if (allowed.undefined()) return;
    for (const Value& one : allowed.list()) {
      if (one == value) return;
    }
    Add("must be one of " + Shown(allowed) + ", not " + Shown(value));
  }

  void CheckNumber(const Value& value) {
    const Value minimum = declaration_.Get("minimum");
    const Value maximum = declaration_.Get("maximum");
    if (!minimum.undefined() && Less(value, minimum)) Add("must be at least " + Shown(minimum));
    if (!maximum.undefined() && Less(maximum, value)) Add("must be at most " + Shown(maximum));
  }

  static bool Less(const Value& left, const Value& right) {
    if (left.kind() == Value::Kind::kInt && right.kind() == Value::Kind::kInt) {
      return left.int_value() < right.int_value();
    }
    return left.number() < right.number();
  }

  // `least` and `most` are the keywords of the declaration that hold the limits.
  void CheckCount(std::size_t count, std::string_view least, std::string_view most,
                  std::string_view what) {
    const Value minimum = declaration_.Get(least);
    const Value maximum = declaration_.Get(most);
    const auto number = static_cast<std::int64_t>(count);
    if (!minimum.undefined() && number < minimum.int_value()) {
      Add("must have at least " + Shown(minimum) + " " + std::string(what));
    }
    if (!maximum.undefined() && number > maximum.int_value()) {
      Add("must have at most " + Shown(maximum) + " " + std::string(what));
    }
  }

  void CheckText(const std::string& text) {
    CheckCount(CountCharacters(text), "minLength", "maxLength", "characters");
    const Value pattern = declaration_.Get("pattern");
    if (pattern.undefined()) return;
    constexpr std::size_t kTextMax = 64 * 1024;
    const auto parsed = Pattern::Parse(pattern.text());
    const bool matches = parsed && text.size() <= kTextMax && parsed->Matches(text);
    if (!matches) Add("must match the pattern " + pattern.text());
  }

  void CheckItems(Value& value) {
    CheckCount(value.list().size(), "minItems", "maxItems", "items");
    const Value items = declaration_.Get("items");
    if (items.undefined()) return;
    ValueList checked = value.list();
    for (std::size_t i = 0; i < checked.size(); ++i) {
      CheckValue(items, checked[i], pointer_ + "/" + std::to_string(i), faults_);
    }
    value = Value::List(std::move(checked));
  }

  const Value& declaration_;
  const std::string& pointer_;
  std::vector<Fault>& faults_;
};

}  // namespace

void CheckValue(const Value& declaration, Value& value, const std::string& pointer,
                std::vector<Fault>& faults) {
  constexpr std::size_t kFaultsMax = 100;
  if (faults.size() < kFaultsMax) ValueCheck(declaration, pointer, faults).Check(value);
}

}  // namespace everstep
