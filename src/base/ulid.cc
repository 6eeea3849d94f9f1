#include "base/ulid.h"

#include <chrono>

namespace everstep {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

}  // namespace

std::string UlidGenerator::Next() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(clock_.Now());
  const auto millis = static_cast<std::uint64_t>(now.time_since_epoch().count());
  if (millis > millis_) {
    millis_ = millis;
    high_ = random_.Next() & 0xffff;
    low_ = random_.Next();
  } else if (++low_ == 0 && (high_ = (high_ + 1) & 0xffff) == 0) {
    ++millis_;  // 2^80 ids in one millisecond: borrow from the next
  }
  std::string text(26, '0');
  // 130 bits of text hold 128 bits of id: the first character carries only three.
  std::uint64_t upper = millis_ << 16 | high_;
  std::uint64_t lower = low_;
  for (int i = 25; i >= 0; --i) {
    text[static_cast<std::size_t>(i)] = kAlphabet[lower & 31];
    lower = lower >> 5 | upper << 59;
    upper >>= 5;
  }
  return text;
}

bool IsUlid(std::string_view text) {
  if (text.size() != 26 || text[0] > '7') return false;
  return text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

}  // namespace everstep
