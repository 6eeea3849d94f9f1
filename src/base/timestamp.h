#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// A point of wall-clock time in UTC, to the microsecond. Zero (1970) means "not set".
using Timestamp = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

// RFC 3339: "2026-02-11T10:30:00.000Z", any number of fractional digits up to nine (cut to six),
// "Z" or a numeric offset. Rejects days, hours, minutes and seconds that do not exist, leap
// seconds, and what an offset moves out of the years 0000 to 9999, so that every result can be
// written again.
std::optional<Timestamp> ParseTimestamp(std::string_view text);

// "2026-02-11T10:30:00.000Z"; six fractional digits only where microseconds are set. A time outside
// the years 0 to 9999 is shown as the nearest in them.
std::string FormatTimestamp(Timestamp time);
void AppendTimestamp(Timestamp time, std::string& out);

inline std::int64_t Micros(Timestamp time) { return time.time_since_epoch().count(); }
inline Timestamp FromMicros(std::int64_t micros) {
  return Timestamp(std::chrono::microseconds(micros));
}

}  // namespace everstep
