#include "base/uuid.h"

#include <array>
#include <cstddef>

namespace everstep {
namespace {

constexpr std::array<bool, 256> kHex = [] {
  std::array<bool, 256> hex{};
  for (const char c : std::string_view("0123456789abcdefABCDEF")) {
    hex[static_cast<std::size_t>(c)] = true;
  }
  return hex;
}();

bool IsHex(char c) { return kHex[static_cast<unsigned char>(c)]; }

}  // namespace

std::string NewUuid(Random& random) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(36, '-');
  const auto fill = [&](std::size_t from, std::size_t count, std::uint64_t bits) {
    for (std::size_t i = from; i < from + count; ++i, bits >>= 4) text[i] = kDigits[bits & 15];
  };
  const std::uint64_t first = random.Next();
  const std::uint64_t second = random.Next();
  fill(0, 8, first);
  fill(9, 4, first >> 32);
  fill(14, 4, (first >> 48 & ~15ULL) | 4);            // the version
  fill(19, 4, (second & ~15ULL) | 8 | (second & 3));  // the variant
  fill(24, 12, second >> 16);
  return text;
}

bool IsUuidV4(std::string_view text) {
  if (text.size() != 36) return false;
  std::size_t at = 0;
  for (const std::size_t end : {8U, 13U, 18U, 23U, 36U}) {
    for (; at < end; ++at) {
      if (!IsHex(text[at])) return false;
    }
    if (end < text.size() && text[at++] != '-') return false;
  }
  return text[14] == '4' && std::string_view("89abAB").find(text[19]) != std::string_view::npos;
}

}  // namespace everstep
