#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// RFC 4648, with padding.
std::string Base64(std::string_view bytes);
// Accepts both alphabets (+/ and -_), with or without padding; nothing else.
std::optional<std::string> FromBase64(std::string_view text);

// RFC 3986: all but letters, digits and "-._~" becomes %XX.
std::string PercentEncode(std::string_view bytes);

// The text with every byte that is not UTF-8 replaced by U+FFFD. JSON can carry the result.
std::string ValidUtf8(std::string_view bytes);
bool IsUtf8(std::string_view bytes);

}  // namespace everstep
