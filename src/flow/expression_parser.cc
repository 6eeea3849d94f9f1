#include "flow/expression_parser.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "flow/expression_operators.h"
#include "flow/quoted.h"

namespace everstep {
namespace {

using Kind = ExpressionToken::Kind;

enum Strength : int { kOr = 1, kAnd, kNot, kComparison, kSum, kJoin, kProduct, kPower };

}  // namespace

struct ExpressionParser::BinaryOperator {
  std::string_view spelling;
  ExpressionOp op;
  int strength;
};

const ExpressionParser::BinaryOperator* ExpressionParser::FindOperator(
    const ExpressionToken& token) {
  static constexpr std::array<BinaryOperator, 18> kOperators = {{
      {"or", Op::kOr, kOr},
      {"and", Op::kAnd, kAnd},
      {"==", Op::kEqual, kComparison},
      {"!=", Op::kNotEqual, kComparison},
      {"<", Op::kLess, kComparison},
      {"<=", Op::kLessEqual, kComparison},
      {">", Op::kGreater, kComparison},
      {">=", Op::kGreaterEqual, kComparison},
      {"in", Op::kIn, kComparison},
      {"not", Op::kNotIn, kComparison},
      {"+", Op::kAdd, kSum},
      {"-", Op::kSubtract, kSum},
      {"~", Op::kJoin, kJoin},
      {"*", Op::kMultiply, kProduct},
      {"/", Op::kDivide, kProduct},
      {"//", Op::kFloorDivide, kProduct},
      {"%", Op::kModulo, kProduct},
      {"**", Op::kPower, kPower},
  }};
  if (token.kind != Kind::kName && token.kind != Kind::kSymbol) return nullptr;
  const auto* found = std::ranges::find(kOperators, token.text, &BinaryOperator::spelling);
  return found == kOperators.end() ? nullptr : found;
}

ExpressionParser::ExpressionParser(std::string_view text) : lexer_(text) {
  program_.source = std::string(text);
}

bool ExpressionParser::Parse() {
  const std::string_view text = program_.source;
  if (text.size() > kExpressionBytesMax) {
    return Fail(kExpressionBytesMax,
                "an expression has at most " + std::to_string(kExpressionBytesMax) + " bytes");
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) return Fail(0, "the text is not UTF-8");
  lexer_ = ExpressionLexer(text);
  Advance();
  if (token_.kind == Kind::kEnd) return Fail(0, "the expression is empty");
  if (!ParseWhole()) return false;
  if (token_.IsSymbol("=")) return Fail(token_.begin, "'=' has no meaning here; compare with '=='");
  if (token_.kind != Kind::kEnd) return FailHere("an operator or the end");
  std::ranges::sort(program_.paths);
  program_.paths.erase(std::unique(program_.paths.begin(), program_.paths.end()),
                       program_.paths.end());
  return true;
}

bool ExpressionParser::ParseWhole() {
  if (!Enter()) return false;
  const std::size_t first_instruction = program_.code.size();
  if (!ParseOperators(kOr)) return false;
  if (token_.IsName("if") && !ParseInlineIf(first_instruction)) return false;
  --depth_;
  return true;
}

// `a if c else b` has the value before the condition but evaluates the condition first, so the code
// of `a` is moved after that of `c`.
bool ExpressionParser::ParseInlineIf(std::size_t first_instruction) {
  auto& code = program_.code;
  const auto first = code.begin() + static_cast<std::ptrdiff_t>(first_instruction);
  const std::vector<ExpressionInstruction> when_true(first, code.end());
  code.erase(first, code.end());
  --stack_;
  Advance();
  if (!ParseOperators(kOr)) return false;
  const std::size_t to_false = Emit({Op::kJumpIfFalse}, -1);
  code.insert(code.end(), when_true.begin(), when_true.end());
  const std::size_t to_end = Emit({Op::kJump}, 0);
  Land(to_false);
  if (!TakeName("else")) {
    EmitConstant(Value());
  } else if (!ParseWhole()) {
    return false;
  }
  Land(to_end);
  return true;
}

bool ExpressionParser::ParseOperators(int strength_min) {
  const std::size_t begin = token_.begin;
  const bool negative = token_.IsSymbol("-");
  if (!(token_.IsName("not") ? ParseNot(strength_min) : ParseUnary())) return false;
  int last_strength = 0;
  while (const BinaryOperator* op = FindOperator(token_)) {
    if (op->strength < strength_min) break;
    if (op->strength == kComparison && last_strength == kComparison) {
      return Fail(token_.begin, "comparisons do not chain; write 'a < b and b < c'");
    }
    if (op->strength == kPower && (negative || last_strength == kPower)) {
      return Fail(token_.begin, "the operands of '**' are ambiguous; use parentheses");
    }
    if (!ParseRight(*op, begin)) return false;
    last_strength = op->strength;
  }
  return true;
}

bool ExpressionParser::ParseRight(const BinaryOperator& op, std::size_t begin) {
  const std::size_t at = token_.begin;
  Advance();
  if (op.op == Op::kNotIn && !TakeName("in")) return FailHere("'in' after 'not'");
  if (op.op == Op::kAnd || op.op == Op::kOr) {
    const std::size_t jump = Emit({op.op}, -1);
    if (!ParseOperators(op.strength + 1)) return false;
    Land(jump);
    return true;
  }
  if (!ParseOperators(op.strength + 1)) return false;
  Emit(Spanning(op.op, begin, at), -1);
  return true;
}

bool ExpressionParser::ParseNot(int strength_min) {
  const std::size_t at = token_.begin;
  if (strength_min > kNot) return Fail(at, "put 'not …' in parentheses here");
  if (!Enter()) return false;
  Advance();
  if (!ParseOperators(kNot)) return false;
  Emit(Spanning(Op::kNot, at, at), 0);
  --depth_;
  return true;
}

bool ExpressionParser::ParseUnary() {
  const std::size_t begin = token_.begin;
  return ParseSigned() && ParseFilters(begin);
}

bool ExpressionParser::ParseSigned() {
  if (!token_.IsSymbol("-")) return ParseOperand();
  if (!Enter()) return false;
  const std::size_t at = token_.begin;
  const std::size_t first = program_.code.size();
  Advance();
  if (!ParseSigned()) return false;
  --depth_;
  if (program_.code.size() == first + 1 && program_.code.back().op == Op::kConstant) {
    Value& constant = program_.constants[program_.code.back().operand];
    Result<Value> negative = Negate(constant);
    if (!negative) return Fail(at, negative.error().message);
    constant = *std::move(negative);
    return true;
  }
  Emit(Spanning(Op::kNegate, at, at), 0);
  return true;
}

bool ExpressionParser::ParseFilters(std::size_t begin) {
  while (true) {
    if (token_.IsSymbol("|")) {
      if (!ParseFilter(begin)) return false;
    } else if (token_.IsName("is")) {
      if (!ParseIs(begin)) return false;
    } else {
      return true;
    }
    if (token_.IsSymbol(".") || token_.IsSymbol("[")) {
      return Fail(token_.begin, "put what is before it in parentheses: (a | first).b");
    }
  }
}

bool ExpressionParser::Enter() {
  if (++depth_ <= kExpressionDepthMax) return true;
  return Fail(token_.begin, "nested deeper than " + std::to_string(kExpressionDepthMax));
}

void ExpressionParser::Advance() {
  taken_end_ = token_.end;
  token_ = lexer_.Next();
}

bool ExpressionParser::TakeSymbol(std::string_view symbol) {
  if (!token_.IsSymbol(symbol)) return false;
  Advance();
  return true;
}

bool ExpressionParser::TakeName(std::string_view name) {
  if (!token_.IsName(name)) return false;
  Advance();
  return true;
}

bool ExpressionParser::Expect(std::string_view symbol, std::string_view what) {
  return TakeSymbol(symbol) || FailHere(Quoted(symbol).append(" ").append(what));
}

bool ExpressionParser::Fail(std::size_t offset, std::string message) {
  if (!failed_) fault_ = {offset, std::move(message)};
  failed_ = true;
  return false;
}

bool ExpressionParser::FailHere(std::string_view expected) {
  if (token_.kind == Kind::kFault) return Fail(token_.begin, token_.fault);
  const std::string found =
      token_.kind == Kind::kEnd
          ? std::string("the end")
          : Quoted(program_.source.substr(token_.begin, token_.end - token_.begin));
  return Fail(token_.begin, "expected " + std::string(expected) + ", not " + found);
}

std::size_t ExpressionParser::Emit(ExpressionInstruction instruction, int pushes) {
  program_.code.push_back(instruction);
  stack_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(stack_) + pushes);
  program_.stack_max = std::max(program_.stack_max, stack_);
  return program_.code.size() - 1;
}

void ExpressionParser::EmitConstant(Value value) {
  Emit({Op::kConstant, AddConstant(std::move(value))}, 1);
}

std::uint32_t ExpressionParser::AddConstant(Value value) {
  program_.constants.push_back(std::move(value));
  return static_cast<std::uint32_t>(program_.constants.size() - 1);
}

void ExpressionParser::Land(std::size_t from) {
  program_.code[from].operand = static_cast<std::uint32_t>(program_.code.size() - from);
}

ExpressionInstruction ExpressionParser::Spanning(Op op, std::size_t begin, std::size_t at) const {
  return {op, 0, static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(at),
          static_cast<std::uint16_t>(taken_end_)};
}

Result<ExpressionProgram> ParseExpression(std::string_view text, ExpressionFault& fault) {
  ExpressionParser parser(text);
  if (parser.Parse()) return parser.program();
  fault = parser.fault();
  return ExpressionError("at byte " + std::to_string(fault.offset) + ": " + fault.message);
}

}  // namespace everstep
