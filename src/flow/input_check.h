#pragma once

#include <string>
#include <vector>

#include "everstep/error.h"
#include "flow/value.h"

namespace everstep {

// Checks `value` against the declaration of an input, a subset of JSON Schema: type, enum, minimum,
// maximum, minLength, maxLength, pattern, items, minItems, maxItems. Adds a fault at or below
// `pointer` for each violation. A whole number that was written with a fraction, such as 2.0, is
// converted to an integer where the declaration requires one.
void CheckValue(const Value& declaration, Value& value, const std::string& pointer,
                std::vector<Fault>& faults);

}  // namespace everstep
