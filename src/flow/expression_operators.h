#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

#include "everstep/result.h"
#include "flow/expression_meter.h"
#include "flow/expression_program.h"
#include "flow/value.h"

namespace everstep {

// "text", "a number", "a list" … for messages.
std::string_view KindName(const Value& value);

// kAdd to kJoin. Neither side is undefined.
Result<Value> Calculate(ExpressionOp op, const Value& left, const Value& right,
                        ExpressionMeter& meter);
Result<Value> Negate(const Value& value);

// kEqual to kNotIn.
Result<bool> CompareValues(ExpressionOp op, const Value& left, const Value& right,
                           ExpressionMeter& meter);

// Numbers with numbers, text with text (by code points); everything else has no order.
Result<std::strong_ordering> Order(const Value& left, const Value& right, ExpressionMeter& meter);

// What can stand behind `is`: its place in the list.
std::span<const std::string_view> KindTests();
bool IsOfKind(const Value& value, std::uint32_t test);

}  // namespace everstep
