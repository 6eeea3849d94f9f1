#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "event/event.h"
#include "event/field_check.h"

namespace everstep {

// Takes a value that fits its rule, of the document that this thread read last, into the write.
// Payload and attributes are taken over as they stand in the text. Where a value may come from two
// members, the order in which they stand makes no difference.
void Fill(const FoundField& found, EventWrite& write);

// Adds a member to a JSON object in text; an empty text is an empty object.
void AddMember(std::string& object, std::string_view name, std::string_view json);

}  // namespace everstep
