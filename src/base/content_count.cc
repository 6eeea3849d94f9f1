#include "base/content_count.h"

#include <algorithm>

namespace everstep {
namespace {

// Each of these characters starts a value or precedes one; keys count as values.
bool BeginsValue(char c) { return c == ',' || c == ':' || c == '[' || c == '{'; }

std::size_t CountJson(std::string_view text) {
  std::size_t values = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '"') {
      values += BeginsValue(c) ? 1 : 0;
      continue;
    }
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
    }
  }
  return values;
}

// Does not parse quotes, so characters inside texts are counted too.
std::size_t CountYaml(std::string_view text) {
  return 1 + static_cast<std::size_t>(std::ranges::count_if(
                 text, [](char c) { return BeginsValue(c) || c == '-' || c == '?' || c == '\n'; }));
}

// Each head is one item; the content of texts and byte strings is skipped.
std::size_t CountCbor(std::string_view bytes) {
  constexpr unsigned kBytes = 2;
  constexpr unsigned kText = 3;
  std::size_t items = 0;
  std::size_t at = 0;
  while (at < bytes.size()) {
    ++items;
    const auto head = static_cast<unsigned char>(bytes[at++]);
    const unsigned major = head >> 5;
    std::uint64_t value = head & 31;
    if (value >= 24 && value <= 27) {
      const std::size_t size = std::size_t{1} << (value - 24);
      value = 0;
      for (std::size_t i = 0; i < size && at < bytes.size(); ++i) {
        value = value << 8 | static_cast<unsigned char>(bytes[at++]);
      }
    }
    if (major != kBytes && major != kText) continue;
    at += static_cast<std::size_t>(std::min<std::uint64_t>(value, bytes.size() - at));
  }
  return items;
}

}  // namespace

std::size_t CountValues(ContentKind kind, std::string_view content) {
  switch (kind) {
    case ContentKind::kOpaque:
      break;
    case ContentKind::kJson:
      return CountJson(content);
    case ContentKind::kYaml:
      return CountYaml(content);
    case ContentKind::kCbor:
      return CountCbor(content);
  }
  return 0;
}

}  // namespace everstep
