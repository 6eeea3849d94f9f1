#pragma once

#include <string_view>

#include "flow/document.h"

namespace everstep {

// The parsers of the two document formats. Requires: `text` is valid UTF-8 of a checked size.
Result<Document> ParseJsonDocument(std::string_view text);
Result<Document> ParseYamlDocument(std::string_view text);

Error DocumentError(Position at, std::string message);

// Adds a fault for each repeated key of `map`, up to a limit, and drops the repetitions.
void DropRepeatedKeys(Node& map, Document& document);

}  // namespace everstep
