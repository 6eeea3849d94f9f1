#pragma once

#include <simdjson.h>

#include <string_view>

#include "everstep/result.h"

namespace everstep {

// Parses `json`, which must be an object. The result is valid until the same thread reads the next
// document; it does not refer to `json`. kInvalidJson: not JSON, a number does not fit any 64-bit
// type, or nested deeper than 256 levels. kSchemaValidationFailed: not an object. kEventTooLarge.
Result<simdjson::dom::object> ReadDocument(std::string_view json);

// Returns the unmodified text of member `name` of the document that this thread read last. Empty if
// there is no such member or it is not an object. Valid as long as that document.
std::string_view ObjectText(std::string_view name);

}  // namespace everstep
