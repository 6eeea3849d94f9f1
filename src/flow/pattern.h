#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "everstep/result.h"

namespace everstep {

inline constexpr std::size_t kPatternBytesMax = 1024;

// A regular expression with the syntax that JSON Schema recommends: characters, '.', classes
// [a-z], escapes (\d \w \s and their opposites, \n \t \r), groups, '|', '^', '$', and ? * + {n}
// {n,} {n,m}. There are no back references and no look-around, so the time to match is at most
// proportional to the size of the pattern times the size of the text. Matches whole characters, not
// bytes. Immutable.
class Pattern {
 public:
  // Returns kInvalidArgument with the syntax error if the pattern is invalid.
  static Result<Pattern> Parse(std::string_view text);

  // Returns true if the pattern matches anywhere in `text`, unless it is anchored.
  bool Matches(std::string_view text) const;

 private:
  friend class PatternParser;
  enum class Op : std::uint8_t { kRange, kSplit, kJump, kBegin, kEnd, kMatch };
  struct Instruction {
    Op op = Op::kMatch;
    std::uint32_t to = 0;     // kSplit, kJump: target; kRange: index of the first range
    std::uint32_t other = 0;  // kSplit: second target; kRange: index past the last range
    bool negated = false;     // kRange
  };
  struct Range {
    std::uint32_t first;
    std::uint32_t last;
  };

  void Follow(std::uint32_t instruction, bool begin, bool end, std::vector<std::uint32_t>& threads,
              std::vector<bool>& seen) const;
  bool Takes(const Instruction& instruction, std::uint32_t character) const;

  std::vector<Instruction> program_;
  std::vector<Range> ranges_;
};

}  // namespace everstep
