#include "base/encoding.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace everstep {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The value of each base64 character; negative if it is none.
constexpr std::array<std::int8_t, 256> kBase64Values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kBase64Digits.size(); ++i) {
    values[static_cast<std::uint8_t>(kBase64Digits[i])] = static_cast<std::int8_t>(i);
  }
  values['-'] = 62;
  values['_'] = 63;
  return values;
}();

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// Returns the size of the first character in bytes, or zero if it is not valid UTF-8. Rejects
// overlong encodings, surrogates, and code points above U+10FFFF.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto follows = [&](std::size_t i, std::uint8_t low, std::uint8_t high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const std::uint8_t low = first == 0xe0 ? 0xa0 : 0x80;
    const std::uint8_t high = first == 0xed ? 0x9f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const std::uint8_t low = first == 0xf0 ? 0x90 : 0x80;
    const std::uint8_t high = first == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) && follows(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  auto to = out.begin();
  const auto write = [&to](std::uint32_t group, int characters) {
    for (int k = 0; k < characters; ++k) *to++ = kBase64Digits[group >> (18 - 6 * k) & 63];
  };
  const auto byte = [&bytes](std::size_t i) {
    return std::uint32_t{static_cast<std::uint8_t>(bytes[i])};
  };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) write(byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2), 4);
  if (bytes.size() - i == 1) write(byte(i) << 16, 2);
  if (bytes.size() - i == 2) write(byte(i) << 16 | byte(i + 1) << 8, 3);
  return out;
}

std::optional<std::string> FromBase64(std::string_view text) {
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out(text.size() * 3 / 4, '\0');
  auto to = out.begin();
  std::uint32_t group = 0;
  int all = 0;  // negative if any value is negative
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int value = kBase64Values[static_cast<std::uint8_t>(text[i])];
    all |= value;
    group = group << 6 | static_cast<std::uint32_t>(value & 63);
    const std::size_t place = i % 4;  // each character but the first of a group completes a byte
    if (place != 0) *to++ = static_cast<char>(group >> (6 - 2 * place) & 0xff);
  }
  if (all < 0) return std::nullopt;
  return out;
}

std::string PercentEncode(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    if (IsUnreserved(c)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    out.push_back('%');
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
  return out;
}

std::string ValidUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = CharacterBytes(bytes);
    out.append(size == 0 ? "\xef\xbf\xbd" : bytes.substr(0, size));
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = CharacterBytes(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace everstep
