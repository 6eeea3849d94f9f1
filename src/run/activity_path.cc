#include "run/activity_path.h"

#include <algorithm>

#include "base/assert.h"
#include "base/sha256.h"
#include "event/identifier.h"

namespace everstep {
namespace {

constexpr std::string_view kReserved = "%/[]#|";
constexpr std::string_view kHexDigits = "0123456789ABCDEF";
constexpr std::size_t kDigestDigits = 32;
static_assert(kDigestDigits <= 2 * sizeof(Sha256Digest));
static_assert(kDigestDigits + 1 < kNameCharactersMax);

// Also what a name in the log must not contain: '|' and control characters (U+0080 to U+009F begin
// with the byte C2).
bool IsReserved(std::string_view name, std::size_t at) {
  const auto byte = static_cast<unsigned char>(name[at]);
  if (byte < 0x20 || byte == 0x7F || kReserved.find(name[at]) != std::string_view::npos)
    return true;
  return byte == 0xC2 && at + 1 < name.size() && static_cast<unsigned char>(name[at + 1]) < 0xA0;
}

void AppendEscaped(std::string_view name, std::string& to) {
  std::size_t left = 0;  // bytes of a character that is escaped
  for (std::size_t at = 0; at < name.size(); ++at) {
    const auto byte = static_cast<unsigned char>(name[at]);
    if (left == 0 && IsReserved(name, at)) left = byte == 0xC2 ? 2 : 1;
    if (left == 0) {
      to += name[at];
      continue;
    }
    --left;
    to += '%';
    to += kHexDigits[byte >> 4];
    to += kHexDigits[byte & 15];
  }
}

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

ActivityPath ActivityPath::Child(std::string_view name, std::uint32_t visit) const {
  EVERSTEP_ASSERT(!name.empty() && visit > 0);
  ActivityPath child;
  child.text_ = text_;
  if (!child.text_.empty()) child.text_ += '/';
  AppendEscaped(name, child.text_);
  if (visit > 1) child.suffix_ = "#" + std::to_string(visit);
  child.text_ += child.suffix_;
  return child;
}

ActivityPath ActivityPath::At(std::uint32_t index) const {
  EVERSTEP_ASSERT(!text_.empty() && !text_.ends_with(']') && index != kNoIndex);
  ActivityPath iteration;
  iteration.text_ = text_.substr(0, text_.size() - suffix_.size());
  iteration.text_ += "[" + std::to_string(index) + "]" + suffix_;
  return iteration;
}

std::string ActivityPath::Id() const {
  // Characters are at most as many as bytes; only a long path has to be looked at closely.
  if (text_.size() <= kIdCharactersMax) return text_;
  const auto characters =
      text_.size() - static_cast<std::size_t>(std::ranges::count_if(text_, ContinuesCharacter));
  if (characters <= kIdCharactersMax) return text_;
  std::size_t end = kIdCharactersMax - 1 - kDigestDigits;
  while (end > 0 && ContinuesCharacter(text_[end])) --end;
  return text_.substr(0, end) + "~" + ToHex(Sha256(text_)).substr(0, kDigestDigits);
}

}  // namespace everstep
