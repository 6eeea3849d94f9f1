#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/value.h"
#include "everstep/error.h"
#include "flow/expression_meter.h"

namespace everstep {

// The work that checking all inputs of a run may take, and checking the declarations of a plan.
inline constexpr std::uint32_t kInputCheckOperationsMax = 1'000'000;

// Checks `value` against the declaration of an input, a subset of JSON Schema: type, enum, minimum,
// maximum, minLength, maxLength, pattern, items, minItems, maxItems. Adds a fault at or below
// `pointer` for each violation. A whole number that was written with a fraction, such as 2.0, is
// converted to an integer where the declaration requires one.
//
// Returns false if that exceeds the budget of `meter`: `value` is then not checked completely, and
// the last fault says so.
[[nodiscard]] bool CheckValue(const Value& declaration, Value& value, const std::string& pointer,
                              ExpressionMeter& meter, std::vector<Fault>& faults);

}  // namespace everstep
