#pragma once

#include <string>
#include <string_view>

namespace everstep::cli {

// The same document laid out for people. `json` must be well-formed; strings and numbers are kept
// as they are spelt. Both end with a newline.
std::string IndentedJson(std::string_view json);
std::string YamlOf(std::string_view json);

// The content of a JSON string such as RawMember gives it (with its quotes), escapes resolved; any
// other value as it is spelt.
std::string PlainText(std::string_view json_value);

}  // namespace everstep::cli
