#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "event/event.h"
#include "event/field_check.h"

namespace everstep {

// Stores a valid value of the document that this thread read last in the slot of `write`. Payload
// and attributes are copied as unmodified text. If two members can provide the same value, their
// order in the document does not matter.
void Fill(const FoundField& found, EventWrite& write);

// Adds a member to a JSON object in text form; an empty text is an empty object.
void AddMember(std::string& object, std::string_view name, std::string_view json);

}  // namespace everstep
