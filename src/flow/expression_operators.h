#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/value.h"
#include "everstep/result.h"
#include "flow/expression_meter.h"
#include "flow/expression_program.h"

namespace everstep {

// "text", "a number", "a list" and so on, for messages.
std::string_view KindName(const Value& value);

// Applies one of kAdd to kJoin. Requires: neither operand is undefined.
Result<Value> Calculate(ExpressionOp op, const Value& left, const Value& right,
                        ExpressionMeter& meter);
Result<Value> Negate(const Value& value);

// Applies one of kEqual to kNotIn.
Result<bool> CompareValues(ExpressionOp op, const Value& left, const Value& right,
                           ExpressionMeter& meter);

// Orders numbers, or text by code points. Returns kExpressionFailed for any other pair.
Result<std::strong_ordering> Order(const Value& left, const Value& right, ExpressionMeter& meter);

// The names of the tests for `is`. IsOfKind takes an index into this list.
std::span<const std::string_view> KindTests();
bool IsOfKind(const Value& value, std::uint32_t test);

}  // namespace everstep
