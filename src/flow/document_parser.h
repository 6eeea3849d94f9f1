#pragma once

#include <string_view>

#include "flow/document.h"

namespace everstep {

// The two notations of a document. `text` is valid UTF-8 of a size that was checked.
Result<Document> ParseJsonDocument(std::string_view text);
Result<Document> ParseYamlDocument(std::string_view text);

Error DocumentError(Position at, std::string message);

// Adds a fault for each key that `map` repeats, and drops its later members.
void DropRepeatedKeys(Node& map, Document& document);

}  // namespace everstep
