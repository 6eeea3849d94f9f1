#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "flow/expression.h"
#include "flow/expression_filter.h"

namespace everstep {

// The effect of an instruction on the value stack. Jumps are relative, so that code can be moved,
// and go forward only, so that every program terminates.
enum class ExpressionOp : std::uint8_t {
  kConstant,  // push constants[operand]
  kName,      // push the name constants[operand]
  kMember,    // replace the top by its member constants[operand]
  kIndex,     // pop an index; replace the top by its member or item
  kNegate,
  kNot,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kJoin,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
  kAnd,          // if the top is false, jump by `operand`; otherwise pop it
  kOr,           // if the top is true, jump by `operand`; otherwise pop it
  kJumpIfFalse,  // pop
  kJump,
  kList,    // pop `operand` items, push the list
  kMap,     // pop `operand` keys and values, push the map
  kRange,   // pop `operand` numbers, push the list
  kFilter,  // pop the arguments; replace the top by the result of calls[operand]
  kIs,      // replace the top by a boolean: whether it passes test `operand`
  kIsNot,
};

// Positions in the source, for messages: the left operand is from `begin` to `at`; the operator and
// the right operand follow, up to `end`.
struct ExpressionInstruction {
  ExpressionOp op;
  std::uint32_t operand = 0;
  std::uint16_t begin = 0;
  std::uint16_t at = 0;
  std::uint16_t end = 0;
};

static_assert(kExpressionBytesMax <= UINT16_MAX);

struct ExpressionCall {
  const ExpressionFilter* filter;
  // The parameter that each argument is for, in the order written.
  std::array<std::uint8_t, kFilterParametersMax> parameter_of{};
  std::uint8_t arguments = 0;
};

struct ExpressionProgram {
  std::string source;
  std::vector<ExpressionInstruction> code;
  std::vector<Value> constants;
  std::vector<ExpressionCall> calls;
  std::vector<Expression::Path> paths;  // unique, sorted
  std::size_t stack_max = 0;
  bool builds = false;  // creates lists or maps, which may nest deeper than the input values
};

// Returns kExpressionFailed for a syntax error and describes it in `fault`.
Result<ExpressionProgram> ParseExpression(std::string_view text, ExpressionFault& fault);

Result<Value> EvaluateProgram(const ExpressionProgram& program, const Names& names,
                              const ExpressionLimits& limits);

}  // namespace everstep
