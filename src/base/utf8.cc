#include "base/utf8.h"

#include <algorithm>

namespace everstep {

std::size_t CharacterSize(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && ContinuesCharacter(text[end])) ++end;
  return end - at;
}

std::size_t CountCharacters(std::string_view text) {
  if (text.empty()) return 0;
  // The first byte always begins a character.
  return 1 + static_cast<std::size_t>(std::count_if(text.begin() + 1, text.end(),
                                                    [](char c) { return !ContinuesCharacter(c); }));
}

std::string_view CharacterAt(std::string_view text, std::int64_t index) {
  if (index < 0) {
    index += static_cast<std::int64_t>(CountCharacters(text));
    if (index < 0) return {};
  }
  for (std::size_t at = 0; at < text.size(); --index) {
    const std::size_t size = CharacterSize(text, at);
    if (index == 0) return text.substr(at, size);
    at += size;
  }
  return {};
}

std::string_view CutAtCharacter(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && ContinuesCharacter(text[bytes_max])) --bytes_max;
  return text.substr(0, bytes_max);
}

void AppendCharacter(std::uint32_t code_point, std::string& out) {
  const auto append = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto append_six_bits = [&](int shift) { append(0x80 | ((code_point >> shift) & 0x3f)); };
  if (code_point < 0x80) {
    append(code_point);
  } else if (code_point < 0x800) {
    append(0xc0 | (code_point >> 6));
    append_six_bits(0);
  } else if (code_point < 0x10000) {
    append(0xe0 | (code_point >> 12));
    append_six_bits(6);
    append_six_bits(0);
  } else {
    append(0xf0 | (code_point >> 18));
    append_six_bits(12);
    append_six_bits(6);
    append_six_bits(0);
  }
}

}  // namespace everstep
