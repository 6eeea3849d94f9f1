#pragma once

#include <simdjson.h>

#include <string_view>

#include "everstep/result.h"

namespace everstep {

// The object that `json` is. Valid until the same thread reads the next one; strings in it do not
// refer to `json`. kInvalidJson when it is not JSON, holds a number no 64-bit type can, or is
// nested deeper than 256; kSchemaValidationFailed when it is not an object; kEventTooLarge.
Result<simdjson::dom::object> ReadDocument(std::string_view json);

// The text of the member `name` of the document that this thread read last, if it is an object;
// untouched. Valid as long as the document. Empty when there is none.
std::string_view ObjectText(std::string_view name);

}  // namespace everstep
