#include "serve/checked_json.h"

#include <cstdint>

#include "base/assert.h"
#include "base/crc32c.h"

namespace everstep {
namespace {

constexpr std::string_view kMember = ",\"crc32c\":\"";
constexpr std::size_t kDigits = 8;
constexpr std::string_view kEnd = "\"}\n";

std::string ChecksumText(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::uint32_t crc = Crc32c(bytes);
  std::string text(kDigits, '0');
  for (std::size_t i = kDigits; i-- > 0; crc >>= 4) text[i] = kHex[crc & 15];
  return text;
}

}  // namespace

std::string WithChecksum(std::string json) {
  EVERSTEP_ASSERT(json.size() > 2 && json.ends_with('}'));
  json.pop_back();
  const std::string checksum = ChecksumText(json);
  return json.append(kMember).append(checksum).append(kEnd);
}

std::optional<std::string> WithoutChecksum(std::string_view text) {
  constexpr std::size_t kTailBytes = kMember.size() + kDigits + kEnd.size();
  if (text.size() <= kTailBytes) return std::nullopt;
  const std::string_view content = text.substr(0, text.size() - kTailBytes);
  const std::string_view tail = text.substr(content.size());
  if (!tail.starts_with(kMember) || !tail.ends_with(kEnd)) return std::nullopt;
  if (tail.substr(kMember.size(), kDigits) != ChecksumText(content)) return std::nullopt;
  return std::string(content).append("}");
}

}  // namespace everstep
