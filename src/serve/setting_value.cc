#include "serve/setting_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/assert.h"
#include "flow/duration.h"
#include "flow/nearest.h"

namespace everstep {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t size;
};
constexpr Unit kByteUnits[] = {{"G", 1ULL << 30}, {"M", 1ULL << 20}, {"K", 1ULL << 10}};
constexpr Unit kTimeUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}};

// Larger values are typing errors, and could overflow when added to something.
constexpr std::uint64_t kCountMax = 1'000'000'000;
constexpr std::uint64_t kBytesMax = 1ULL << 50;
constexpr std::uint64_t kTimeMax = 3'650 * 86'400'000ULL;

std::optional<std::uint64_t> WholeNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> BytesOf(std::string_view text) {
  std::uint64_t factor = 1;
  for (const Unit& unit : kByteUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    factor = unit.size;
    text.remove_suffix(unit.suffix.size());
    break;
  }
  const auto number = WholeNumber(text);
  if (!number || *number > (std::uint64_t{1} << 62) / factor) return std::nullopt;
  return *number * factor;
}

// A number without a unit is ambiguous (milliseconds or seconds), so it is refused.
std::optional<std::chrono::milliseconds> DurationOf(std::string_view text) {
  if (WholeNumber(text) && text != "0") return std::nullopt;
  return ParseDuration(text);
}

std::string WithUnit(std::uint64_t number, std::span<const Unit> units, std::string_view smallest) {
  for (const Unit& unit : units) {
    if (number != 0 && number % unit.size == 0) {
      return std::to_string(number / unit.size) + std::string(unit.suffix);
    }
  }
  return std::to_string(number) + std::string(smallest);
}

std::string OneOf(std::span<const std::string_view> words, std::string_view given) {
  std::string all;
  for (const std::string_view word : words) all.append(all.empty() ? "" : ", ").append(word);
  return "is one of " + all + ", not '" + std::string(given) + "'" + DidYouMean(given, words);
}

std::string NotA(std::string_view shape, std::string_view given) {
  return "takes " + std::string(shape) + ", not '" + std::string(given) + "'";
}

std::string OutOfRange(const SettingRule& rule, std::uint64_t number, std::uint64_t usual_max) {
  if (number < rule.min) return "is at least " + NumberText(rule.shape, rule.min);
  const std::uint64_t max = rule.max == 0 ? usual_max : rule.max;
  return number > max ? "is at most " + NumberText(rule.shape, max) : std::string();
}

std::string SetNumber(const SettingRule& rule, const std::string& text,
                      const SettingTarget& target) {
  const bool bytes = rule.shape == SettingShape::kBytes;
  const auto number = bytes ? BytesOf(text) : WholeNumber(text);
  if (!number) {
    return NotA(bytes ? "a number of bytes such as 4096, 64K or 2G" : "a whole number", text);
  }
  const std::string wrong = OutOfRange(rule, *number, bytes ? kBytesMax : kCountMax);
  if (!wrong.empty()) return wrong;
  if (auto* const* wide = std::get_if<std::uint64_t*>(&target)) {
    **wide = *number;
    return {};
  }
  if (*number > std::numeric_limits<std::uint32_t>::max()) return "is too large";
  *std::get<std::uint32_t*>(target) = static_cast<std::uint32_t>(*number);
  return {};
}

std::string SetFraction(const std::string& text, double& target) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool fits = error == std::errc() && end == text.data() + text.size() &&
                    std::isfinite(number) && number >= 0;
  if (!fits) return NotA("a number of zero or more", text);
  target = number;
  return {};
}

std::string SetDuration(const SettingRule& rule, const std::string& text,
                        std::chrono::milliseconds& target) {
  const auto duration = DurationOf(text);
  if (!duration) return NotA("a duration with its unit, such as 250ms, 90s or 5m", text);
  std::string wrong = OutOfRange(rule, static_cast<std::uint64_t>(duration->count()), kTimeMax);
  if (wrong.empty()) target = *duration;
  return wrong;
}

std::string SetList(const SettingRule& rule, std::span<const std::string> texts,
                    std::vector<std::string>& target) {
  for (const std::string& text : texts) {
    if (text.empty()) return "has an empty item";
    const bool known =
        rule.words.empty() || std::ranges::find(rule.words, text) != rule.words.end();
    if (!known) return OneOf(rule.words, text);
  }
  target.assign(texts.begin(), texts.end());
  return {};
}

}  // namespace

std::string_view Name(SettingShape shape) {
  constexpr std::string_view kNames[] = {"text",          "file",  "list of files", "list",
                                         "true or false", "count", "number",        "bytes",
                                         "duration",      "word"};
  return kNames[static_cast<std::size_t>(shape)];
}

std::string NumberText(SettingShape shape, std::uint64_t number) {
  if (shape == SettingShape::kDuration) return WithUnit(number, kTimeUnits, "ms");
  if (shape == SettingShape::kBytes) return WithUnit(number, kByteUnits, "");
  return std::to_string(number);
}

std::string SetValue(const SettingRule& rule, std::span<const std::string> texts,
                     const SettingTarget& target) {
  if (IsList(rule.shape)) {
    return SetList(rule, texts, *std::get<std::vector<std::string>*>(target));
  }
  if (texts.size() != 1) return "takes one value";
  const std::string& text = texts.front();
  switch (rule.shape) {
    case SettingShape::kText:
    case SettingShape::kFile:
      *std::get<std::string*>(target) = text;
      return {};
    case SettingShape::kSwitch:
      if (text != "true" && text != "false") return NotA("true or false", text);
      *std::get<bool*>(target) = text == "true";
      return {};
    case SettingShape::kCount:
    case SettingShape::kBytes:
      return SetNumber(rule, text, target);
    case SettingShape::kNumber:
      return SetFraction(text, *std::get<double*>(target));
    case SettingShape::kDuration:
      return SetDuration(rule, text, *std::get<std::chrono::milliseconds*>(target));
    case SettingShape::kWord:
      if (std::ranges::find(rule.words, text) == rule.words.end()) return OneOf(rule.words, text);
      *std::get<std::string*>(target) = text;
      return {};
    case SettingShape::kFiles:
    case SettingShape::kList:
      break;
  }
  EVERSTEP_ASSERT(false);
  return {};
}

std::string ValueText(SettingShape shape, const SettingTarget& target) {
  const auto number = [&]() -> std::uint64_t {
    if (auto* const* wide = std::get_if<std::uint64_t*>(&target)) return **wide;
    return *std::get<std::uint32_t*>(target);
  };
  switch (shape) {
    case SettingShape::kSwitch:
      return *std::get<bool*>(target) ? "true" : "false";
    case SettingShape::kCount:
    case SettingShape::kBytes:
      return NumberText(shape, number());
    case SettingShape::kNumber: {
      char text[32];
      const auto end = std::to_chars(text, text + sizeof(text), *std::get<double*>(target)).ptr;
      return {text, end};
    }
    case SettingShape::kDuration:
      return NumberText(
          shape, static_cast<std::uint64_t>(std::get<std::chrono::milliseconds*>(target)->count()));
    case SettingShape::kFiles:
    case SettingShape::kList: {
      std::string text;
      for (const std::string& item : *std::get<std::vector<std::string>*>(target)) {
        text.append(text.empty() ? "" : ",").append(item);
      }
      return text;
    }
    default:
      return *std::get<std::string*>(target);
  }
}

}  // namespace everstep
