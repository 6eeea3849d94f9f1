#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "everstep/result.h"

namespace everstep {

// Resource limits of an evaluation, enforced while it runs. Exceeding one fails the evaluation with
// kExpressionFailed, so that no expression can stall the engine.
struct ExpressionLimits {
  std::uint32_t operations_max = 100'000;  // nodes evaluated, and one per item or 64 bytes touched
  std::size_t bytes_max = 1 << 20;         // of text and items created
  // A budget that several evaluations share; operations are charged to it in addition. Null: none.
  std::size_t* operations_left = nullptr;
};
// For all expressions of a template together, unless the caller passes its own budget.
inline constexpr std::size_t kTemplateOperationsMax = 1'000'000;
inline constexpr std::size_t kExpressionBytesMax = 16 * 1024;  // of source text
inline constexpr std::size_t kExpressionDepthMax = 64;
// Size as JSON of a list or map that an expression or template builds (see FitsJson).
inline constexpr std::size_t kResultBytesMax = 16 << 20;

// Resolves the names that paths in an expression begin with: `inputs`, `steps`, `item` …
class Names {
 public:
  virtual ~Names() = default;
  virtual Value Find(std::string_view name) const = 0;  // undefined if there is no such name
};

// A syntax error and its position in the text of the expression.
struct ExpressionFault {
  std::size_t offset = 0;  // in bytes
  std::string message;     // what is wrong and how to fix it
};

// A compiled expression of a total, bounded, side-effect-free language (docs/expressions.md).
// Immutable.
class Expression {
 public:
  // A path that the expression reads, such as {"steps", "fetch", "result"}. It ends before the
  // first computed member. Plan checks and dependencies are derived from these paths.
  using Path = std::vector<std::string>;

  // Returns kExpressionFailed for a syntax error and describes it in `fault`, if that is not null.
  static Result<Expression> Parse(std::string_view text, ExpressionFault* fault = nullptr);

  // Returns kExpressionFailed for a type mismatch, a division by zero or an exceeded limit.
  Result<Value> Evaluate(const Names& names, const ExpressionLimits& limits = {}) const;

  const std::vector<Path>& paths() const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace everstep
