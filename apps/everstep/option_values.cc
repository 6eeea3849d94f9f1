#include "option_values.h"

#include <charconv>
#include <span>

#include "base/timestamp.h"

namespace everstep::cli {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};

// Parses a number with a unit; the first unit whose suffix matches is used.
std::optional<std::uint64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto number = ParseCount(text.substr(0, text.size() - unit.suffix.size()));
    if (!number || *number > (std::uint64_t{1} << 62) / unit.factor) return std::nullopt;
    return *number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> ParseCount(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  constexpr Unit kUnits[] = {{"K", 1ULL << 10}, {"M", 1ULL << 20}, {"G", 1ULL << 30}, {"", 1}};
  return ParseWithUnit(text, kUnits);
}

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  constexpr std::uint64_t kSecond = 1000;
  constexpr Unit kUnits[] = {{"ms", 1},
                             {"s", kSecond},
                             {"m", 60 * kSecond},
                             {"h", 3600 * kSecond},
                             {"d", 86400 * kSecond},
                             {"", kSecond}};
  const auto milliseconds = ParseWithUnit(text, kUnits);
  // A thousand years: far below the overflow of clocks.
  if (!milliseconds || *milliseconds > kSecond * 86400 * 366 * 1000) return std::nullopt;
  return std::chrono::milliseconds(*milliseconds);
}

std::optional<SystemTime> ParseMoment(std::string_view text) {
  if (const auto time = ParseTimestamp(text)) return time;
  const auto ago = ParseDuration(text);
  if (!ago) return std::nullopt;
  const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  return now - *ago;
}

}  // namespace everstep::cli
