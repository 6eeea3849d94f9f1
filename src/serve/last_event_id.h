#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "everstep/result.h"
#include "net/http_server.h"

namespace everstep {

// The id at which the client's stream of server-sent events broke off; nullopt for a new stream.
// kInvalidArgument if the id is not one of ours: treating it as a new stream would skip events.
inline Result<std::optional<std::uint64_t>> LastEventId(const ServerRequest& request) {
  const std::string_view text = request.Header("last-event-id");
  if (text.empty()) return std::optional<std::uint64_t>();
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || id < 0 || id == std::numeric_limits<std::int64_t>::max()) {
    return Error{ErrorCode::kInvalidArgument,
                 "Last-Event-ID must be an id of this stream: a whole number",
                 {}};
  }
  return std::optional(static_cast<std::uint64_t>(id));
}

}  // namespace everstep
