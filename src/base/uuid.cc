#include "base/uuid.h"

namespace everstep {
namespace {

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

std::string NewUuid(Random& random) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "xxxxxxxx-xxxx-4xxx-Nxxx-xxxxxxxxxxxx";
  std::uint64_t bits = 0;
  int left = 0;
  for (char& c : text) {
    if (c != 'x' && c != 'N') continue;
    if (left == 0) {
      bits = random.Next();
      left = 16;
    }
    const auto nibble = static_cast<std::size_t>(bits & 15);
    c = kDigits[c == 'N' ? (nibble & 3) | 8 : nibble];
    bits >>= 4;
    --left;
  }
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
