#include "base/uuid.h"

namespace everstep {
namespace {

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

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
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !IsHex(text[i])) return false;
  }
  return text[14] == '4' && std::string_view("89abAB").find(text[19]) != std::string_view::npos;
}

}  // namespace everstep
