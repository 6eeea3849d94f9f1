#include "flow/duration.h"

#include <array>
#include <cstdint>

namespace everstep {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};

// From large to small.
constexpr std::array<Unit, 6> kUnits = {{{"w", 604'800'000},
                                         {"d", 86'400'000},
                                         {"h", 3'600'000},
                                         {"m", 60'000},
                                         {"s", 1'000},
                                         {"ms", 1}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A decimal number with at most nine digits after the point, as whole and billionths.
struct Amount {
  std::int64_t whole = 0;
  std::int64_t billionths = 0;
  bool fraction = false;
};

std::optional<Amount> TakeAmount(std::string_view& text) {
  Amount amount;
  std::size_t at = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    amount.whole = amount.whole * 10 + (text[at] - '0');
    if (amount.whole > kDurationMax.count()) return std::nullopt;
  }
  if (at == 0) return std::nullopt;
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    amount.fraction = true;
    const std::size_t begin = ++at;
    std::int64_t place = 100'000'000;
    for (; at < text.size() && IsDigit(text[at]); ++at, place /= 10) {
      amount.billionths += (text[at] - '0') * place;
    }
    if (at == begin || at - begin > 9) return std::nullopt;
  }
  text.remove_prefix(at);
  return amount;
}

// Adds `amount` units to `total`. Returns false if the result exceeds kDurationMax.
bool Add(const Amount& amount, std::int64_t unit, std::int64_t& total) {
  if (amount.whole > kDurationMax.count() / unit) return false;
  // A unit has fewer than 2^30 milliseconds: the product stays below 2^60.
  total += amount.whole * unit + amount.billionths * unit / 1'000'000'000;
  return total <= kDurationMax.count();
}

std::string_view TakeLetters(std::string_view& text) {
  std::size_t at = 0;
  while (at < text.size() && !IsDigit(text[at]) && text[at] != ' ') ++at;
  const std::string_view letters = text.substr(0, at);
  text.remove_prefix(at);
  return letters;
}

std::optional<std::chrono::milliseconds> ParseUnits(std::string_view text) {
  std::int64_t total = 0;
  std::size_t next = 0;  // the first unit that may still occur
  while (true) {
    const auto amount = TakeAmount(text);
    if (!amount) return std::nullopt;
    const std::string_view name = TakeLetters(text);
    std::size_t unit = next;
    while (unit < kUnits.size() && kUnits[unit].name != name) ++unit;
    if (unit == kUnits.size() || !Add(*amount, kUnits[unit].milliseconds, total)) {
      return std::nullopt;
    }
    next = unit + 1;
    if (text.empty()) return std::chrono::milliseconds(total);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
}

// Parses the part after the "P". Only the last component may have a fraction.
std::optional<std::chrono::milliseconds> ParseIso(std::string_view text) {
  constexpr std::string_view kDateUnits = "WD";
  constexpr std::string_view kTimeUnits = "HMS";
  constexpr std::array<std::int64_t, 2> kDateLengths = {604'800'000, 86'400'000};
  constexpr std::array<std::int64_t, 3> kTimeLengths = {3'600'000, 60'000, 1'000};
  std::int64_t total = 0;
  std::size_t next = 0;
  bool time = false;
  bool any = false;
  while (!text.empty()) {
    if (text[0] == 'T' && !time) {
      time = true;
      any = false;
      next = 0;
      text.remove_prefix(1);
      continue;
    }
    const auto amount = TakeAmount(text);
    if (!amount || text.empty()) return std::nullopt;
    const std::string_view units = time ? kTimeUnits : kDateUnits;
    const std::size_t unit = units.find(text[0], next);
    if (unit == std::string_view::npos) return std::nullopt;
    text.remove_prefix(1);
    if (amount->fraction && !text.empty()) return std::nullopt;
    if (!Add(*amount, time ? kTimeLengths[unit] : kDateLengths[unit], total)) return std::nullopt;
    next = unit + 1;
    any = true;
  }
  if (!any) return std::nullopt;
  return std::chrono::milliseconds(total);
}

}  // namespace

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  if (text.starts_with('P')) return ParseIso(text.substr(1));
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    const auto amount = TakeAmount(text);
    if (!amount) return std::nullopt;
    return std::chrono::milliseconds(amount->whole);
  }
  return ParseUnits(text);
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  if (duration.count() < 0) return "-" + FormatDuration(-duration);
  const std::int64_t total = duration.count();
  if (total < 1'000) return std::to_string(total) + "ms";
  if (total < 10'000 && total % 1'000 >= 100) {
    return std::to_string(total / 1'000) + "." + std::to_string(total % 1'000 / 100) + "s";
  }
  if (total < 60'000) return std::to_string(total / 1'000) + "s";
  // Start at days: weeks are accepted as input but not displayed.
  for (std::size_t unit = 1; unit + 1 < kUnits.size(); ++unit) {
    const Unit& large = kUnits[unit];
    const Unit& small = kUnits[unit + 1];
    if (total < large.milliseconds) continue;
    std::string text = std::to_string(total / large.milliseconds).append(large.name);
    const std::int64_t rest = total % large.milliseconds / small.milliseconds;
    if (rest > 0) text.append(" ").append(std::to_string(rest)).append(small.name);
    return text;
  }
  return std::to_string(total) + "ms";
}

}  // namespace everstep
