#pragma once

#include <string>

#include "base/value.h"
#include "everstep/result.h"

namespace everstep {

// Encodes a payload as Workflow DevKit's runtime does: "devl", and the value in the format of the
// npm package devalue, a list whose elements refer to each other by index. kInvalidArgument if a
// member is named __proto__, which devalue's parser refuses.
Result<std::string> DevaluePayload(const Value& value);

}  // namespace everstep
