#include "net/retry_after.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

namespace everstep {

std::optional<std::chrono::milliseconds> RetryAfter(std::string_view header, Timestamp now) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  constexpr seconds kMax = std::chrono::hours(24 * 366);
  std::uint32_t count = 0;
  const char* end = header.data() + header.size();
  const auto [rest, failed] = std::from_chars(header.data(), end, count);
  if (failed == std::errc() && rest == end) return std::min(seconds(count), kMax);
  const time_t date = curl_getdate(std::string(header).c_str(), nullptr);
  if (header.empty() || date < 0) return std::nullopt;
  const auto wait = std::chrono::ceil<seconds>(Timestamp(seconds(date)) - now);
  return std::clamp(wait, seconds(0), kMax);
}

}  // namespace everstep
