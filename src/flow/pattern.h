#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "everstep/result.h"

namespace everstep {

inline constexpr std::size_t kPatternBytesMax = 1024;

// A regular expression of the kind that JSON Schema recommends: characters, '.', classes [a-z],
// escapes (\d \w \s and their opposites, \n \t \r), groups, '|', '^', '$', and ? * + {n} {n,}
// {n,m}. No back references and no look-around: matching takes time in proportion to pattern times
// text, whatever they are. Works on bytes in ASCII and on whole characters outside. Immutable.
class Pattern {
 public:
  // kInvalidArgument: what is wrong with it.
  static Result<Pattern> Parse(std::string_view text);

  // Anywhere in `text`, unless anchored.
  bool Matches(std::string_view text) const;

 private:
  friend class PatternParser;
  enum class Op : std::uint8_t { kRange, kSplit, kJump, kBegin, kEnd, kMatch };
  struct Instruction {
    Op op = Op::kMatch;
    std::uint32_t to = 0;     // kSplit, kJump; of kRange: the first of its ranges
    std::uint32_t other = 0;  // kSplit; of kRange: past the last
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
