#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// RFC 4648, with padding.
std::string Base64(std::string_view bytes);
// Accepts both alphabets (+/ and -_), with or without padding. Returns nullopt for anything else.
std::optional<std::string> FromBase64(std::string_view text);

// RFC 3986: encodes all bytes except letters, digits and "-._~" as %XX.
std::string PercentEncode(std::string_view bytes);

// Replaces every byte that is not valid UTF-8 by U+FFFD, so that the result can be used in JSON.
std::string ValidUtf8(std::string_view bytes);
bool IsUtf8(std::string_view bytes);

}  // namespace everstep
