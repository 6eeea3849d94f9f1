#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// A point of wall-clock time in UTC, to the microsecond. Zero (1970) means "not set".
using Timestamp = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

// Parses RFC 3339: "2026-02-11T10:30:00.000Z", up to nine fractional digits (truncated to six), "Z"
// or a numeric offset. Rejects dates and times that do not exist, leap seconds, and times that the
// offset moves out of the years 0000 to 9999, so every result can be formatted again.
std::optional<Timestamp> ParseTimestamp(std::string_view text);

// "2026-02-11T10:30:00.000Z", with six fractional digits only if the time is not a whole number of
// milliseconds. A time outside the years 0 to 9999 is clamped to them.
std::string FormatTimestamp(Timestamp time);
void AppendTimestamp(Timestamp time, std::string& out);

inline std::int64_t Micros(Timestamp time) { return time.time_since_epoch().count(); }
inline Timestamp FromMicros(std::int64_t micros) {
  return Timestamp(std::chrono::microseconds(micros));
}

}  // namespace everstep
