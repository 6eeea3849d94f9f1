#include <array>
#include <cmath>
#include <string>

#include "flow/expression_filter.h"
#include "flow/expression_operators.h"
#include "flow/filter_input.h"

namespace everstep {
namespace {

Result<Value> Abs(const FilterCall& call) {
  if (!call.input.is_number()) return WrongInput(call, "a number");
  return call.input.number() < 0 ? Negate(call.input) : Result<Value>(call.input);
}

using Rounding = double (*)(double);

// Returns null if there is no such method.
Rounding RoundingOf(std::string_view method) {
  if (method == "common") return [](double number) { return std::round(number); };
  if (method == "ceil") return [](double number) { return std::ceil(number); };
  if (method == "floor") return [](double number) { return std::floor(number); };
  return nullptr;
}

Result<Value> Round(const FilterCall& call) {
  constexpr std::int64_t kPrecisionMax = 15;  // the number of digits of a double
  if (!call.input.is_number()) return WrongInput(call, "a number");
  const Result<std::int64_t> precision = IntArgument(call, 0, 0);
  const Result<std::string> method = TextArgument(call, 1, "common");
  if (!precision) return precision.error();
  if (!method) return method.error();
  const Rounding round = RoundingOf(*method);
  if (round == nullptr) return ExpressionError("'method' must be 'common', 'ceil' or 'floor'");
  if (*precision < -kPrecisionMax || *precision > kPrecisionMax) {
    return ExpressionError("'precision' must be from -15 to 15");
  }
  if (call.input.kind() == Value::Kind::kInt && *precision >= 0) return call.input;
  const double scale = std::pow(10.0, std::abs(static_cast<double>(*precision)));
  const double scaled = *precision < 0 ? call.input.number() / scale : call.input.number() * scale;
  if (!std::isfinite(scaled)) return call.input;  // too large to have decimals
  const double rounded = *precision < 0 ? round(scaled) * scale : round(scaled) / scale;
  if (!std::isfinite(rounded)) return ExpressionError("the result is too large for a number");
  return Value::Double(rounded);
}

// The item with the largest or smallest key; the first of them if several are equal.
Result<Value> Extreme(const FilterCall& call, bool largest) {
  if (call.input.undefined()) return Value();
  const Result<Value> list = InputList(call);
  if (!list) return list;
  const Result<ValueList> keys =
      KeysOf(call, list->list(), call.arguments[1], IsTrue(call.arguments[0]));
  if (!keys) return keys.error();
  std::size_t best = 0;
  for (std::size_t i = 1; i < keys->size(); ++i) {
    const Result<std::strong_ordering> order = Order((*keys)[i], (*keys)[best], call.meter);
    if (!order) return order.error();
    if (largest ? *order > 0 : *order < 0) best = i;
  }
  return keys->empty() ? Value() : list->list()[best];
}

Result<Value> Min(const FilterCall& call) { return Extreme(call, false); }

Result<Value> Max(const FilterCall& call) { return Extreme(call, true); }

Result<Value> Sum(const FilterCall& call) {
  const Result<Value> list = InputList(call);
  if (!list) return list;
  Value sum = call.arguments[1].undefined() ? Value::Int(0) : call.arguments[1];
  if (!sum.is_number()) return WrongArgument(call, 1, "a number");
  for (const Value& item : list->list()) {
    const Value number = AttributeOf(item, call.arguments[0]);
    if (!number.is_number()) {
      return ExpressionError("filter 'sum' adds numbers, and an item is " +
                             std::string(KindName(number)));
    }
    Result<Value> next = Calculate(ExpressionOp::kAdd, sum, number, call.meter);
    if (!next) return next;
    sum = *std::move(next);
  }
  return sum;
}

constexpr std::array<ExpressionFilter, 5> kFilters = {{
    {"abs", Abs},
    {"round", Round, {"precision", "method"}},
    {"min", Min, {"case_sensitive", "attribute"}, 0, true},
    {"max", Max, {"case_sensitive", "attribute"}, 0, true},
    {"sum", Sum, {"attribute", "start"}},
}};

}  // namespace

std::span<const ExpressionFilter> NumberFilters() { return kFilters; }

}  // namespace everstep
