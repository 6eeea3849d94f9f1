#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace everstep {

// Functions on text by characters (code points). All accept arbitrary bytes: the result for invalid
// UTF-8 is unspecified, but nothing outside the text is read.

// Whether `c` is a byte of a character other than its first.
constexpr bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The size in bytes of the character at `at`.
std::size_t CharacterSize(std::string_view text, std::size_t at);
std::size_t CountCharacters(std::string_view text);
// A negative index counts from the end. Returns an empty view if there is no such character.
std::string_view CharacterAt(std::string_view text, std::int64_t index);
// The longest prefix of `text` that has at most that many bytes and does not split a character.
std::string_view CutAtCharacter(std::string_view text, std::size_t bytes_max);

void AppendCharacter(std::uint32_t code_point, std::string& out);

// Changes only the letters A to Z; the case rules of other letters depend on the language.
constexpr char AsciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr char AsciiUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

}  // namespace everstep
