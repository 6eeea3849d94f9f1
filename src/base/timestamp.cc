#include "base/timestamp.h"

#include <algorithm>
#include <cstdint>

namespace everstep {
namespace {

// The range of a four-digit year.
constexpr Timestamp kFirst = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
constexpr Timestamp kEnd = std::chrono::sys_days(std::chrono::year(10000) / 1 / 1);

// Reads exactly `digits` decimal digits at `pos`; returns -1 if they are missing.
int Digits(std::string_view text, std::size_t pos, int digits) {
  if (pos + static_cast<std::size_t>(digits) > text.size()) return -1;
  int value = 0;
  for (int i = 0; i < digits; ++i) {
    const char c = text[pos + static_cast<std::size_t>(i)];
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

bool IsAt(std::string_view text, std::size_t pos, char c) {
  return pos < text.size() && text[pos] == c;
}

// Reads the fraction after '.', truncated to microseconds, and advances `pos` past it. Returns
// nothing if it is malformed.
std::optional<std::chrono::microseconds> Fraction(std::string_view text, std::size_t& pos) {
  if (!IsAt(text, pos, '.')) return std::chrono::microseconds(0);
  ++pos;
  int micros = 0;
  int digits = 0;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos, ++digits) {
    if (digits < 6) micros = micros * 10 + (text[pos] - '0');
  }
  if (digits < 1 || digits > 9) return std::nullopt;
  for (; digits < 6; ++digits) micros *= 10;
  return std::chrono::microseconds(micros);
}

// "Z" or "+hh:mm"; must end the text.
std::optional<std::chrono::minutes> Offset(std::string_view text, std::size_t pos) {
  if (IsAt(text, pos, 'Z')) {
    if (pos + 1 != text.size()) return std::nullopt;
    return std::chrono::minutes(0);
  }
  if (!IsAt(text, pos, '+') && !IsAt(text, pos, '-')) return std::nullopt;
  const int hours = Digits(text, pos + 1, 2);
  const int minutes = Digits(text, pos + 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || !IsAt(text, pos + 3, ':') ||
      pos + 6 != text.size()) {
    return std::nullopt;
  }
  const std::chrono::minutes offset(hours * 60 + minutes);
  return text[pos] == '+' ? offset : -offset;
}

}  // namespace

std::optional<Timestamp> ParseTimestamp(std::string_view text) {
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  const int hour = Digits(text, 11, 2);
  const int minute = Digits(text, 14, 2);
  const int second = Digits(text, 17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  std::size_t pos = 19;
  const auto fraction = Fraction(text, pos);
  if (!fraction) return std::nullopt;
  const auto offset = Offset(text, pos);
  if (!offset) return std::nullopt;
  const Timestamp time = Timestamp(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
                         std::chrono::minutes(minute) + std::chrono::seconds(second) + *fraction -
                         *offset;
  if (time < kFirst || time >= kEnd) return std::nullopt;
  return time;
}

std::string FormatTimestamp(Timestamp time) {
  std::string text;
  AppendTimestamp(time, text);
  return text;
}

void AppendTimestamp(Timestamp time, std::string& out) {
  time = std::clamp(time, kFirst, kEnd - std::chrono::microseconds(1));
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(time - days);
  const auto micros = clock.subseconds().count();
  const bool whole_millis = micros % 1000 == 0;
  const std::size_t start = out.size();
  out += whole_millis ? "0000-00-00T00:00:00.000Z" : "0000-00-00T00:00:00.000000Z";
  // Writes the digits right to left; the number never has more digits than its field.
  const auto put = [text = out.data() + start](std::size_t last, auto number) {
    for (auto left = static_cast<std::uint32_t>(number); left != 0; left /= 10) {
      text[last--] = static_cast<char>('0' + left % 10);
    }
  };
  put(3, static_cast<int>(date.year()));
  put(6, static_cast<unsigned>(date.month()));
  put(9, static_cast<unsigned>(date.day()));
  put(12, clock.hours().count());
  put(15, clock.minutes().count());
  put(18, clock.seconds().count());
  put(whole_millis ? 22 : 25, whole_millis ? micros / 1000 : micros);
}

}  // namespace everstep
