#pragma once

#include <string>
#include <string_view>

namespace everstep::cli {

// Lays a document out for people. Requires: `json` is well-formed. Strings and numbers keep their
// spelling. The result ends with a newline.
std::string IndentedJson(std::string_view json);
std::string YamlOf(std::string_view json);

// Returns the content of a JSON string (with its quotes, as from RawMember) with escapes resolved,
// or any other value as it is spelt.
std::string PlainText(std::string_view json_value);

}  // namespace everstep::cli
