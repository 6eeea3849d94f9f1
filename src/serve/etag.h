#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace everstep {

// Whether If-None-Match contains this entity tag (with its quotes). Weak comparison, as RFC 9110
// requires: a response that was compressed in transit has the same tag, weakened.
inline bool NoneMatchHas(std::string_view header, std::string_view etag) {
  constexpr std::string_view kBetween = " \t,";
  if (header.find_first_not_of(kBetween) == std::string_view::npos) return false;
  if (header == "*") return true;
  while (!header.empty()) {
    const std::size_t begin = header.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return false;
    header.remove_prefix(begin);
    if (header.starts_with("W/")) header.remove_prefix(2);
    if (header.starts_with(etag)) {
      const std::string_view rest = header.substr(etag.size());
      if (rest.empty() || kBetween.find(rest.front()) != std::string_view::npos) return true;
    }
    const std::size_t open = header.find('"');
    const std::size_t close = open == std::string_view::npos ? open : header.find('"', open + 1);
    if (close == std::string_view::npos) return false;
    header.remove_prefix(close + 1);
  }
  return false;
}

// The header that reports how far a read of a run has seen.
inline HttpHeaders WatermarkOf(std::uint64_t last_event_seq) {
  return {{"Everstep-Last-Event-Seq", std::to_string(last_event_seq)}};
}

}  // namespace everstep
