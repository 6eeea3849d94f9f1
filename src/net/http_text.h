#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace everstep {

// Characters and texts of RFC 9110 fields.

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr bool IsAlphanumeric(char c) {
  return IsDigit(c) || (LowerCase(c) >= 'a' && LowerCase(c) <= 'z');
}

inline constexpr std::array<bool, 256> kTokenCharacters = [] {
  std::array<bool, 256> table{};
  for (int i = 0; i < 128; ++i) {
    table[static_cast<std::size_t>(i)] =
        IsAlphanumeric(static_cast<char>(i)) ||
        std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(i)) != std::string_view::npos;
  }
  return table;
}();

inline bool IsTokenCharacter(char c) { return kTokenCharacters[static_cast<unsigned char>(c)]; }
inline bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

// Whether the text may be the value of a header: no control characters except the tab.
inline bool IsFieldText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || c == '\t';
  });
}

inline std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

inline bool EqualsIgnoringCase(std::string_view text, std::string_view other) {
  return text.size() == other.size() &&
         std::equal(text.begin(), text.end(), other.begin(),
                    [](char a, char b) { return LowerCase(a) == LowerCase(b); });
}

inline void LowerInPlace(std::string& text) {
  for (char& c : text) c = LowerCase(c);
}

}  // namespace everstep
