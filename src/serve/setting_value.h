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
  kFile,      // a path; of one in the file, from the file's folder
  kFiles,     // paths; likewise, and a list
  kList,      // texts; separated by commas in the environment
  kSwitch,    // true or false
  kCount,     // a whole number
  kNumber,    // also with a fraction
  kBytes,     // 4096, 64K, 64M, 2G
  kDuration,  // 250ms, 90s, 5m
  kWord,      // one of a few
};
std::string_view Name(SettingShape shape);
inline bool IsList(SettingShape shape) {
  return shape == SettingShape::kList || shape == SettingShape::kFiles;
}

using SettingTarget = std::variant<bool*, std::uint32_t*, std::uint64_t*, double*, std::string*,
                                   std::vector<std::string>*, std::chrono::milliseconds*>;

// Sets the target from text of that shape. Empty: done; else what is wrong, as the rest of a
// sentence that begins with the setting's name. `words`: see Setting.
struct SettingRule {
  SettingShape shape = SettingShape::kText;
  std::span<const std::string_view> words = {};
  std::uint64_t min = 0;
  std::uint64_t max = 0;  // zero: that of the shape
};
std::string SetValue(const SettingRule& rule, std::span<const std::string> texts,
                     const SettingTarget& target);

// "256", "64M", "20s": a count, bytes or milliseconds.
std::string NumberText(SettingShape shape, std::uint64_t number);

// The other way round: text that would set it to what it is. Items of a list are parted by commas.
std::string ValueText(SettingShape shape, const SettingTarget& target);

}  // namespace everstep
