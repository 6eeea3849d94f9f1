#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"
#include "flow/value.h"

namespace everstep {

// What an expression may use of the machine. Checked while it is evaluated; over a limit the result
// is kExpressionFailed, never a slow engine.
struct ExpressionLimits {
  std::uint32_t operations_max = 100'000;  // nodes evaluated, and one per item or 64 bytes touched
  std::size_t bytes_max = 1 << 20;         // of text and items made
  // Operations that are left for several evaluations together, and are taken from there besides.
  // Null: each is for itself.
  std::size_t* operations_left = nullptr;
};
// Of all expressions of a template together, unless the caller has a budget of its own.
inline constexpr std::size_t kTemplateOperationsMax = 1'000'000;
inline constexpr std::size_t kExpressionBytesMax = 16 * 1024;  // of source text
inline constexpr std::size_t kExpressionDepthMax = 64;
// Of the lists and maps that an expression or template puts together, as JSON (see FitsJson).
inline constexpr std::size_t kResultBytesMax = 16 << 20;

// The names an expression can begin with: `inputs`, `steps`, `item` …
class Names {
 public:
  virtual ~Names() = default;
  virtual Value Find(std::string_view name) const = 0;  // undefined: no such name
};

// Where an expression went wrong, in its own text.
struct ExpressionFault {
  std::size_t offset = 0;  // in bytes
  std::string message;     // what is wrong and what would be right
};

// A compiled expression: a total, bounded, side-effect-free language (docs/expressions.md).
// Immutable.
class Expression {
 public:
  // A path that the expression reads: {"steps", "fetch", "result"}. Ends at the first member that
  // is computed. What plan checks and dependencies are told from.
  using Path = std::vector<std::string>;

  static Result<Expression> Parse(std::string_view text, ExpressionFault* fault = nullptr);

  // kExpressionFailed: a type that does not fit, division by zero, a limit.
  Result<Value> Evaluate(const Names& names, const ExpressionLimits& limits = {}) const;

  const std::vector<Path>& paths() const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace everstep
