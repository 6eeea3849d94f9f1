#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace everstep {

// Text by characters (code points). Takes any bytes; what is not UTF-8 counts in some way, and
// nothing outside the text is read.

// Of the character at `at`, in bytes.
std::size_t CharacterSize(std::string_view text, std::size_t at);
std::size_t CountCharacters(std::string_view text);
// Negative: from the end. Empty: there is none.
std::string_view CharacterAt(std::string_view text, std::int64_t index);
// The longest start of `text` with at most that many bytes that ends between characters.
std::string_view CutAtCharacter(std::string_view text, std::size_t bytes_max);

void AppendCharacter(std::uint32_t code_point, std::string& out);

// Case of the letters A to Z only: what other letters do depends on the language.
constexpr char AsciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr char AsciiUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

}  // namespace everstep
