#include "event/identifier.h"

#include <simdjson.h>

#include <array>

namespace everstep {
namespace {

constexpr bool IsAlphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

constexpr std::array<bool, 256> kIdentifierCharacters = [] {
  std::array<bool, 256> characters{};
  for (std::size_t c = 0; c < characters.size(); ++c) {
    characters[c] = IsAlphanumeric(static_cast<char>(c));
  }
  for (const char c : {'.', '_', ':', '-'}) characters[static_cast<std::size_t>(c)] = true;
  return characters;
}();

}  // namespace

bool IsIdentifier(std::string_view text) {
  if (text.empty() || text.size() > kIdentifierCharactersMax || !IsAlphanumeric(text[0])) {
    return false;
  }
  for (const char c : text) {
    if (!kIdentifierCharacters[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

bool IsDerivedRunId(std::string_view text) {
  constexpr std::string_view kShapes[] = {"in-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh",
                                          "hhhhhhhh-hhhh-8hhh-hhhh-hhhhhhhhhhhh"};
  const auto fits = [text](std::string_view shape) {
    if (text.size() != shape.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
      if (shape[i] == 'h' ? !digit : text[i] != shape[i]) return false;
    }
    return true;
  };
  return fits(kShapes[0]) || fits(kShapes[1]);
}

bool IsName(std::string_view text) {
  // A character has at most four bytes. This also bounds the work on hostile input.
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
