#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>

#include "base/utf8.h"
#include "flow/expression_filter.h"
#include "flow/filter_input.h"

namespace everstep {
namespace {

using Kind = Value::Kind;

// Parses the whole text as a number. Allows space around it and a leading sign.
template <typename Number>
std::optional<Number> ReadNumber(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number number{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(static_cast<double>(number))) return std::nullopt;
  return number;
}

// Converts text to an integer if possible, otherwise to a double. Undefined if it is not a number.
Value NumberOf(const std::string& text) {
  if (const auto integer = ReadNumber<std::int64_t>(text)) return Value::Int(*integer);
  if (const auto number = ReadNumber<double>(text)) return Value::Double(*number);
  return {};
}

// Converts the input to a number, or returns the default if that is impossible. Undefined and none
// are zero.
Result<Value> InputNumber(const FilterCall& call) {
  const Value& otherwise = call.arguments[0];
  switch (call.input.kind()) {
    case Kind::kInt:
    case Kind::kDouble:
      return call.input;
    case Kind::kBool:
      return Value::Int(call.input.bool_value() ? 1 : 0);
    case Kind::kUndefined:
    case Kind::kNull:
      return otherwise.undefined() ? Value::Int(0) : otherwise;
    case Kind::kText: {
      if (!call.meter.Read(call.input.text().size())) return OverLimit();
      Value number = NumberOf(call.input.text());
      if (!number.undefined()) return number;
      if (!otherwise.undefined()) return otherwise;
      return ExpressionError("the text is not a number; give a default: " + std::string(call.name) +
                             "(0)");
    }
    default:
      return otherwise.undefined() ? Result<Value>(WrongInput(call, "a number or text"))
                                   : otherwise;
  }
}

Result<Value> ToInt(const FilterCall& call) {
  constexpr double kTwoTo63 = 9'223'372'036'854'775'808.0;
  Result<Value> number = InputNumber(call);
  if (!number || number->kind() != Kind::kDouble) return number;
  const double whole = std::trunc(number->number());
  if (whole < -kTwoTo63 || whole >= kTwoTo63) {
    return ExpressionError("the number is too large for a whole number of 64 bits");
  }
  return Value::Int(static_cast<std::int64_t>(whole));
}

Result<Value> ToFloat(const FilterCall& call) {
  Result<Value> number = InputNumber(call);
  if (!number || number->kind() != Kind::kInt) return number;
  return Value::Double(number->number());
}

Result<Value> ToString(const FilterCall& call) {
  if (call.input.kind() == Kind::kText) return call.input;
  if (!call.meter.MakeJson(call.input)) return OverLimit();
  std::string text = ToText(call.input);
  if (!call.meter.MakeText(text.size())) return OverLimit();
  return Value::Text(std::move(text));
}

Result<Value> ToBool(const FilterCall& call) { return Value::Bool(IsTrue(call.input)); }

Result<Value> ToList(const FilterCall& call) {
  if (call.input.undefined()) return Value::List({});
  return InputList(call);
}

// Unlike in conditions, texts such as "no" and "0" are not empty.
bool IsEmpty(const Value& value) {
  return value.kind() == Kind::kText ? value.text().empty() : !IsTrue(value);
}

Result<Value> Default(const FilterCall& call) {
  const bool replaces = IsTrue(call.arguments[1]) ? IsEmpty(call.input) : call.input.undefined();
  return replaces ? call.arguments[0] : call.input;
}

Result<Value> Length(const FilterCall& call) {
  const auto size = [](std::size_t count) { return Value::Int(static_cast<std::int64_t>(count)); };
  switch (call.input.kind()) {
    case Kind::kUndefined:
      return size(0);
    case Kind::kList:
      return size(call.input.list().size());
    case Kind::kMap:
      return size(call.input.shared_members()->size());
    case Kind::kText:
      if (!call.meter.Read(call.input.text().size())) return OverLimit();
      return size(CountCharacters(call.input.text()));
    default:
      return WrongInput(call, "a list, a map or text");
  }
}

Result<Value> Same(const FilterCall& call) { return call.input; }

constexpr std::array<ExpressionFilter, 11> kFilters = {{
    {"int", ToInt, {"default"}, 0, true},
    {"float", ToFloat, {"default"}, 0, true},
    {"string", ToString, {}, 0, true},
    {"bool", ToBool, {}, 0, true},
    {"list", ToList, {}, 0, true},
    {"default", Default, {"default_value", "boolean"}, 1, true},
    {"d", Default, {"default_value", "boolean"}, 1, true},
    {"length", Length, {}, 0, true},
    {"len", Length, {}, 0, true},
    {"count", Length, {}, 0, true},
    {"safe", Same, {}, 0, true},
}};

}  // namespace

std::span<const ExpressionFilter> KindFilters() { return kFilters; }

}  // namespace everstep
