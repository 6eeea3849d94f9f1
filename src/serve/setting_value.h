#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace everstep {

enum class SettingShape : std::uint8_t {
  kText,
  kFile,      // a path; in the settings file relative to that file's directory
  kFiles,     // a list of such paths
  kList,      // a list of texts; separated by commas in the environment
  kSwitch,    // true or false
  kCount,     // a whole number
  kNumber,    // may have a fraction
  kBytes,     // 4096, 64K, 64M, 2G
  kDuration,  // 250ms, 90s, 5m
  kWord,      // one of a fixed set
};
std::string_view Name(SettingShape shape);
inline bool IsList(SettingShape shape) {
  return shape == SettingShape::kList || shape == SettingShape::kFiles;
}

using SettingTarget = std::variant<bool*, std::uint32_t*, std::uint64_t*, double*, std::string*,
                                   std::vector<std::string>*, std::chrono::milliseconds*>;

// Sets the target from text of the given shape. Returns empty on success, otherwise what is wrong,
// phrased to follow the setting's name. `words`: see Setting.
struct SettingRule {
  SettingShape shape = SettingShape::kText;
  std::span<const std::string_view> words = {};
  std::uint64_t min = 0;
  std::uint64_t max = 0;  // zero: the default of the shape
};
std::string SetValue(const SettingRule& rule, std::span<const std::string> texts,
                     const SettingTarget& target);

// Formats a count, bytes or milliseconds: "256", "64M", "20s".
std::string NumberText(SettingShape shape, std::uint64_t number);

// The inverse of SetValue: text that would set the current value. List items are separated by
// commas.
std::string ValueText(SettingShape shape, const SettingTarget& target);

}  // namespace everstep
