#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "everstep/result.h"
#include "flow/expression_meter.h"

namespace re2 {
class RE2;
}

namespace everstep {

inline constexpr std::size_t kPatternBytesMax = 1024;

// A regular expression with the syntax that JSON Schema recommends: characters, '.', classes
// [a-z], escapes (\d \w \s and their opposites, which distinguish ASCII characters only, \n \t \r),
// groups, '|', '^', '$', and ? * + {n} {n,} {n,m}. There are no back references and no look-around.
// Matches whole characters, not bytes. Immutable.
//
// Matching never takes longer than in proportion to the size of the compiled pattern times the size
// of the text. That can still be seconds, so both functions charge for it.
class Pattern {
 public:
  // Returns kInvalidArgument with the syntax error if the pattern is invalid or, compiled, too
  // large, and OverLimit if compiling it exceeds the budget.
  static Result<Pattern> Parse(std::string_view text, ExpressionMeter& meter);

  // Returns true if the pattern matches anywhere in `text`, unless it is anchored; OverLimit,
  // without looking at the text, if matching may exceed the budget.
  Result<bool> Matches(std::string_view text, ExpressionMeter& meter) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace everstep
