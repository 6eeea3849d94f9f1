#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flow/expression.h"
#include "flow/expression_filter.h"
#include "flow/value.h"

namespace everstep {

// What an instruction does to the stack of values. Jumps go forward only and are relative: code can
// be moved, and every program ends.
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
  kAnd,          // when the top is false jump by operand, else pop it
  kOr,           // when the top is true jump by operand, else pop it
  kJumpIfFalse,  // pop
  kJump,
  kList,    // pop `operand` items, push the list
  kMap,     // pop `operand` keys and values, push the map
  kRange,   // pop `operand` numbers, push the list
  kFilter,  // pop the arguments; replace the top by what calls[operand] makes of it
  kIs,      // replace the top by whether it is of the kind `operand`
  kIsNot,
};

// `begin` to `at` is the text of the left operand, behind `at` stands the operator and then, up to
// `end`, the right operand: what messages show.
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
  // For each argument as written: which parameter it is.
  std::array<std::uint8_t, kFilterParametersMax> parameter_of{};
  std::uint8_t arguments = 0;
};

struct ExpressionProgram {
  std::string source;
  std::vector<ExpressionInstruction> code;
  std::vector<Value> constants;
  std::vector<ExpressionCall> calls;
  std::vector<Expression::Path> paths;  // each once, sorted
  std::size_t stack_max = 0;
  bool builds = false;  // makes lists or maps, which may nest deeper than those it reads
};

// kExpressionFailed; `fault` says where.
Result<ExpressionProgram> ParseExpression(std::string_view text, ExpressionFault& fault);

Result<Value> EvaluateProgram(const ExpressionProgram& program, const Names& names,
                              const ExpressionLimits& limits);

}  // namespace everstep
