#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "flow/expression.h"
#include "flow/expression_lexer.h"
#include "flow/expression_program.h"

namespace everstep {

// Compiles one expression by recursive descent and stops at the first fault. Each Parse function
// emits code that pushes one value, or returns false after a fault. Operator precedence is that of
// Jinja, lowest first: `a if c else b`, or, and, not, comparison and in, + -, ~, * / // %, **,
// unary minus, filters and is.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text);

  // Must be called only once.
  bool Parse();
  ExpressionProgram&& program() { return std::move(program_); }
  const ExpressionFault& fault() const { return fault_; }

 private:
  using Op = ExpressionOp;
  struct BinaryOperator;

  static const BinaryOperator* FindOperator(const ExpressionToken& token);

  bool ParseWhole();  // with inline if
  bool ParseInlineIf(std::size_t first_instruction);
  bool ParseOperators(int strength_min);
  bool ParseRight(const BinaryOperator& op, std::size_t begin);
  bool ParseNot(int strength_min);
  bool ParseUnary();
  bool ParseSigned();
  bool ParseFilters(std::size_t begin);
  bool ParseOperand();
  bool ParseName();
  bool ParseMembers(std::size_t begin, Expression::Path* path);
  bool ParseDot(Expression::Path* path);
  bool ParseIndex(std::size_t begin, Expression::Path*& path);
  bool ParseParenthesis();
  bool ParseList();
  bool ParseMap();
  bool ParseFilter(std::size_t begin);
  bool ParseArguments(ExpressionCall& call);
  bool ParseArgument(ExpressionCall& call);
  bool ParseIs(std::size_t begin);
  bool ParseRange(std::size_t begin);

  bool Enter();
  void Advance();
  bool TakeSymbol(std::string_view symbol);
  bool TakeName(std::string_view name);
  bool Expect(std::string_view symbol, std::string_view what);
  bool Fail(std::size_t offset, std::string message);
  bool FailHere(std::string_view expected);

  // `pushes`: the change in stack depth. Returns the index of the instruction.
  std::size_t Emit(ExpressionInstruction instruction, int pushes);
  void EmitConstant(Value value);
  std::uint32_t AddConstant(Value value);
  // Sets the target of the jump at `from` to the next instruction to be emitted.
  void Land(std::size_t from);
  ExpressionInstruction Spanning(Op op, std::size_t begin, std::size_t at) const;

  ExpressionLexer lexer_;
  ExpressionToken token_;      // the current one, not yet consumed
  std::size_t taken_end_ = 0;  // end of the last consumed token
  std::size_t depth_ = 0;      // of nesting
  std::size_t stack_ = 0;      // stack depth at this point of the code
  ExpressionProgram program_;
  ExpressionFault fault_;
  bool failed_ = false;
};

}  // namespace everstep
