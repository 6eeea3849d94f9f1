#pragma once

#include <string>
#include <vector>

#include "everstep/error.h"
#include "flow/value.h"

namespace everstep {

// `value` against the declaration of an input, a subset of JSON Schema: type, enum, minimum,
// maximum, minLength, maxLength, pattern, items, minItems, maxItems. Adds a fault at `pointer` or
// below for each thing that does not fit. A whole number that was written with a fraction, 2.0,
// becomes an integer where one is wanted.
void CheckValue(const Value& declaration, Value& value, const std::string& pointer,
                std::vector<Fault>& faults);

}  // namespace everstep
