#include "event/identifier.h"

#include <simdjson.h>

namespace everstep {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool IsIdentifierCharacter(char c) {
  return IsAlphanumeric(c) || c == '.' || c == '_' || c == ':' || c == '-';
}

}  // namespace

bool IsIdentifier(std::string_view text) {
  if (text.empty() || text.size() > kIdentifierCharactersMax || !IsAlphanumeric(text[0])) {
    return false;
  }
  for (const char c : text) {
    if (!IsIdentifierCharacter(c)) return false;
  }
  return true;
}

bool IsName(std::string_view text) {
  // No character takes more than four bytes; this also bounds the work on hostile input.
  if (text.empty() || text.size() > 4 * kNameCharactersMax) return false;
  std::size_t characters = 0;
  bool ascii = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f || byte == '|') return false;
    if (byte < 0x80) {
      ++characters;
      continue;
    }
    ascii = false;
    const bool continues = (byte & 0xc0) == 0x80;
    if (!continues) ++characters;
    // U+0080 to U+009F are C2 80 to C2 9F.
    if (continues && byte < 0xa0 && i > 0 && text[i - 1] == '\xc2') return false;
  }
  if (characters > kNameCharactersMax) return false;
  return ascii || simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace everstep
