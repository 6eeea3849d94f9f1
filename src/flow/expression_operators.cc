#include "flow/expression_operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace everstep {
namespace {

using Op = ExpressionOp;
using Kind = Value::Kind;

Result<Value> FiniteNumber(double number) {
  if (!std::isfinite(number)) return ExpressionError("the result is too large for a number");
  return Value::Double(number);
}

std::string_view Verb(Op op) {
  switch (op) {
    case Op::kAdd:
      return "add";
    case Op::kSubtract:
      return "subtract";
    case Op::kMultiply:
      return "multiply";
    case Op::kPower:
      return "raise";
    default:
      return "divide";
  }
}

Error WrongKinds(Op op, const Value& left, const Value& right) {
  std::string message = "cannot " + std::string(Verb(op)) + " " + std::string(KindName(left)) +
                        " and " + std::string(KindName(right));
  const bool has_text = left.kind() == Kind::kText || right.kind() == Kind::kText;
  if (has_text && op == Op::kAdd) {
    message += "; join text with '~', or convert it to a number: value | int";
  } else if (has_text) {
    message += "; convert the text to a number: value | int";
  }
  return ExpressionError(std::move(message));
}

// The integer result, or a double if it does not fit into 64 bits.
Result<Value> CalculateInt(Op op, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      if (!__builtin_add_overflow(left, right, &result)) return Value::Int(result);
      return FiniteNumber(static_cast<double>(left) + static_cast<double>(right));
    case Op::kSubtract:
      if (!__builtin_sub_overflow(left, right, &result)) return Value::Int(result);
      return FiniteNumber(static_cast<double>(left) - static_cast<double>(right));
    default:
      if (!__builtin_mul_overflow(left, right, &result)) return Value::Int(result);
      return FiniteNumber(static_cast<double>(left) * static_cast<double>(right));
  }
}

// Floor division. The remainder has the sign of the divisor: (a // b) * b + a % b == a.
Result<Value> DivideInt(Op op, std::int64_t left, std::int64_t right) {
  if (right == -1) {  // the one quotient that can overflow
    return op == Op::kModulo ? Value::Int(0) : CalculateInt(Op::kSubtract, 0, left);
  }
  const std::int64_t remainder = left % right;
  const bool down = remainder != 0 && (remainder < 0) != (right < 0);
  if (op == Op::kModulo) return Value::Int(down ? remainder + right : remainder);
  return Value::Int(left / right - (down ? 1 : 0));
}

Result<Value> PowerInt(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  std::int64_t square = base;
  for (std::int64_t rest = exponent; rest > 0; rest /= 2) {
    if (rest % 2 == 1 && __builtin_mul_overflow(result, square, &result)) break;
    if (rest == 1) return Value::Int(result);
    if (__builtin_mul_overflow(square, square, &square)) break;
  }
  if (exponent == 0) return Value::Int(1);
  return FiniteNumber(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}

Result<Value> Divide(Op op, const Value& left, const Value& right) {
  if (right.number() == 0) return ExpressionError("division by zero");
  if (op == Op::kDivide) return FiniteNumber(left.number() / right.number());
  if (left.kind() == Kind::kInt && right.kind() == Kind::kInt) {
    return DivideInt(op, left.int_value(), right.int_value());
  }
  if (op == Op::kFloorDivide) return FiniteNumber(std::floor(left.number() / right.number()));
  const double remainder = std::fmod(left.number(), right.number());
  const bool down = remainder != 0 && (remainder < 0) != (right.number() < 0);
  return FiniteNumber(down ? remainder + right.number() : remainder);
}

Result<Value> CalculateNumbers(Op op, const Value& left, const Value& right) {
  const bool integers = left.kind() == Kind::kInt && right.kind() == Kind::kInt;
  switch (op) {
    case Op::kAdd:
      if (integers) return CalculateInt(op, left.int_value(), right.int_value());
      return FiniteNumber(left.number() + right.number());
    case Op::kSubtract:
      if (integers) return CalculateInt(op, left.int_value(), right.int_value());
      return FiniteNumber(left.number() - right.number());
    case Op::kMultiply:
      if (integers) return CalculateInt(op, left.int_value(), right.int_value());
      return FiniteNumber(left.number() * right.number());
    case Op::kPower:
      if (integers && right.int_value() >= 0) {
        return PowerInt(left.int_value(), right.int_value());
      }
      if (left.number() == 0 && right.number() < 0) return ExpressionError("division by zero");
      if (left.number() < 0 && std::trunc(right.number()) != right.number()) {
        return ExpressionError("a negative number can be raised only to a whole power");
      }
      return FiniteNumber(std::pow(left.number(), right.number()));
    default:
      return Divide(op, left, right);
  }
}

Result<Value> JoinText(const Value& left, const Value& right, ExpressionMeter& meter) {
  if (!meter.MakeJson(left) || !meter.MakeJson(right)) return OverLimit();
  std::string text = ToText(left);
  text += ToText(right);
  if (!meter.MakeText(text.size())) return OverLimit();
  return Value::Text(std::move(text));
}

Result<Value> RepeatText(const std::string& text, std::int64_t count, ExpressionMeter& meter) {
  if (count <= 0 || text.empty()) return Value::Text({});
  const auto times = static_cast<std::size_t>(count);
  if (times > std::numeric_limits<std::size_t>::max() / text.size()) return OverLimit();
  if (!meter.MakeText(times * text.size())) return OverLimit();
  std::string result;
  result.reserve(times * text.size());
  for (std::size_t i = 0; i < times; ++i) result += text;
  return Value::Text(std::move(result));
}

Result<Value> JoinLists(const ValueList& left, const ValueList& right, ExpressionMeter& meter) {
  if (!meter.MakeItems(left.size() + right.size())) return OverLimit();
  ValueList items;
  items.reserve(left.size() + right.size());
  items.insert(items.end(), left.begin(), left.end());
  items.insert(items.end(), right.begin(), right.end());
  return Value::List(std::move(items));
}

std::strong_ordering OrderNumbers(const Value& left, const Value& right) {
  if (left.kind() == Kind::kInt && right.kind() == Kind::kInt) {
    return left.int_value() <=> right.int_value();
  }
  if (left == right) return std::strong_ordering::equal;
  if (left.number() != right.number()) {
    return left.number() < right.number() ? std::strong_ordering::less
                                          : std::strong_ordering::greater;
  }
  // An integer, and the double that it is rounded to. That double is a whole number, and if it is
  // outside the range of an integer it is above all integers.
  constexpr double kTwoTo63 = 9'223'372'036'854'775'808.0;
  const auto whole = [](const Value& value) {
    if (value.kind() == Kind::kInt) return value.int_value();
    return value.number() < kTwoTo63 ? static_cast<std::int64_t>(value.number())
                                     : std::numeric_limits<std::int64_t>::max();
  };
  if (whole(left) != whole(right)) return whole(left) <=> whole(right);
  return left.kind() == Kind::kInt ? std::strong_ordering::less : std::strong_ordering::greater;
}

Result<bool> Same(const Value& left, const Value& right, ExpressionMeter& meter) {
  // Only values of the same kind are compared in depth, and the shorter one bounds the work.
  if (left.kind() == right.kind() && !(meter.Read(left))) return OverLimit();
  return left == right;
}

Result<bool> Contains(const Value& container, const Value& wanted, ExpressionMeter& meter) {
  switch (container.kind()) {
    case Kind::kUndefined:
      return false;
    case Kind::kList:
      for (const Value& item : container.list()) {
        if (!meter.Operations(1)) return OverLimit();
        const Result<bool> same = Same(wanted, item, meter);
        if (!same || *same) return same;
      }
      return false;
    case Kind::kMap:
      if (wanted.kind() != Kind::kText) return false;
      if (!meter.Read(wanted.text().size())) return OverLimit();
      return !container.Get(wanted.text()).undefined();
    case Kind::kText:
      if (wanted.undefined()) return false;
      if (wanted.kind() != Kind::kText) {
        return ExpressionError("text can only contain text, not " + std::string(KindName(wanted)));
      }
      if (!meter.Read(container.text().size())) return OverLimit();
      return container.text().find(wanted.text()) != std::string::npos;
    default:
      return ExpressionError("'in' cannot search " + std::string(KindName(container)));
  }
}

constexpr std::array<std::string_view, 14> kKindTests = {
    "defined", "undefined", "none",    "null",     "string",   "number", "integer",
    "float",   "boolean",   "mapping", "sequence", "iterable", "true",   "false"};

}  // namespace

std::string_view KindName(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return "undefined";
    case Kind::kNull:
      return "none";
    case Kind::kBool:
      return "a boolean";
    case Kind::kInt:
    case Kind::kDouble:
      return "a number";
    case Kind::kText:
      return "text";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

Result<Value> Calculate(ExpressionOp op, const Value& left, const Value& right,
                        ExpressionMeter& meter) {
  if (op == Op::kJoin) return JoinText(left, right, meter);
  if (left.is_number() && right.is_number()) return CalculateNumbers(op, left, right);
  if (op == Op::kAdd && left.kind() == right.kind()) {
    if (left.kind() == Kind::kText) return JoinText(left, right, meter);
    if (left.kind() == Kind::kList) return JoinLists(left.list(), right.list(), meter);
  }
  if (op == Op::kMultiply && left.kind() == Kind::kText && right.kind() == Kind::kInt) {
    return RepeatText(left.text(), right.int_value(), meter);
  }
  return WrongKinds(op, left, right);
}

Result<Value> Negate(const Value& value) {
  if (value.kind() == Kind::kDouble) return Value::Double(-value.number());
  if (value.kind() == Kind::kInt) return CalculateInt(Op::kSubtract, 0, value.int_value());
  return ExpressionError("cannot negate " + std::string(KindName(value)));
}

Result<std::strong_ordering> Order(const Value& left, const Value& right, ExpressionMeter& meter) {
  if (left.is_number() && right.is_number()) return OrderNumbers(left, right);
  if (left.kind() == Kind::kText && right.kind() == Kind::kText) {
    if (!meter.Read(std::min(left.text().size(), right.text().size()))) return OverLimit();
    return left.text() <=> right.text();
  }
  return ExpressionError("cannot order " + std::string(KindName(left)) + " and " +
                         std::string(KindName(right)));
}

Result<bool> CompareValues(ExpressionOp op, const Value& left, const Value& right,
                           ExpressionMeter& meter) {
  if (op == Op::kIn || op == Op::kNotIn) {
    const Result<bool> contained = Contains(right, left, meter);
    if (!contained) return contained;
    return *contained == (op == Op::kIn);
  }
  if (op == Op::kEqual || op == Op::kNotEqual) {
    const Result<bool> same = Same(left, right, meter);
    if (!same) return same;
    return *same == (op == Op::kEqual);
  }
  const Result<std::strong_ordering> order = Order(left, right, meter);
  if (!order) return order.error();
  switch (op) {
    case Op::kLess:
      return *order < 0;
    case Op::kLessEqual:
      return *order <= 0;
    case Op::kGreater:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

std::span<const std::string_view> KindTests() { return kKindTests; }

bool IsOfKind(const Value& value, std::uint32_t test) {
  const Kind kind = value.kind();
  const std::string_view name = kKindTests[test];
  if (name == "defined") return kind != Kind::kUndefined;
  if (name == "undefined") return kind == Kind::kUndefined;
  if (name == "none" || name == "null") return kind == Kind::kNull;
  if (name == "string") return kind == Kind::kText;
  if (name == "number") return value.is_number();
  if (name == "integer") return kind == Kind::kInt;
  if (name == "float") return kind == Kind::kDouble;
  if (name == "boolean") return kind == Kind::kBool;
  if (name == "mapping") return kind == Kind::kMap;
  if (name == "sequence") return kind == Kind::kList;
  if (name == "iterable") {
    return kind == Kind::kList || kind == Kind::kMap || kind == Kind::kText;
  }
  return kind == Kind::kBool && value.bool_value() == (name == "true");
}

}  // namespace everstep
