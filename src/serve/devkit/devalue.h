#pragma once

#include <string>

#include "everstep/result.h"
#include "flow/value.h"

namespace everstep {

// A payload as Workflow DevKit's runtime writes it: "devl", and the value in the notation of the
// npm package devalue, a list whose parts name each other by their places in it.
// kInvalidArgument: a member is called __proto__, which its reader refuses.
Result<std::string> DevaluePayload(const Value& value);

}  // namespace everstep
