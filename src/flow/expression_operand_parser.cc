#include <algorithm>
#include <array>
#include <span>

#include "flow/expression_operators.h"
#include "flow/expression_parser.h"
#include "flow/nearest.h"

namespace everstep {
namespace {

using Kind = ExpressionToken::Kind;

constexpr std::array<std::string_view, 7> kReserved = {"and", "or", "not", "in",
                                                       "is",  "if", "else"};

bool IsOneOf(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// The value of a literal word, or null if `word` is not a literal.
const Value* FindLiteral(std::string_view word) {
  static const std::array<std::pair<std::string_view, Value>, 7> kLiterals = {{
      {"true", Value::Bool(true)},
      {"True", Value::Bool(true)},
      {"false", Value::Bool(false)},
      {"False", Value::Bool(false)},
      {"none", Value::Null()},
      {"None", Value::Null()},
      {"null", Value::Null()},
  }};
  const auto* found =
      std::ranges::find(kLiterals, word, &std::pair<std::string_view, Value>::first);
  return found == kLiterals.end() ? nullptr : &found->second;
}

std::string WhyNoFunction(std::string_view name) {
  constexpr std::array<std::string_view, 7> kClock = {"now",  "utcnow",    "today",   "date",
                                                      "time", "timestamp", "datetime"};
  constexpr std::array<std::string_view, 6> kChance = {"random", "rand",  "randint",
                                                       "uuid",   "uuid4", "shuffle"};
  const std::string word(name);
  if (IsOneOf(name, kClock)) {
    return word + "() is not available: an expression cannot read the clock; use run.startedAt";
  }
  if (IsOneOf(name, kChance)) {
    return word +
           "() is not available: an expression gives the same result each time; use run.runId";
  }
  if (FindFilter(name) != nullptr) return word + " is a filter; write 'value | " + word + "'";
  return "there is no function '" + word + "'; the only one is range()";
}

}  // namespace

bool ExpressionParser::ParseOperand() {
  switch (token_.kind) {
    case Kind::kName:
      return ParseName();
    case Kind::kNumber:
      EmitConstant(token_.value);
      Advance();
      return true;
    case Kind::kText: {
      const std::size_t begin = token_.begin;
      EmitConstant(token_.value);
      Advance();
      return ParseMembers(begin, nullptr);
    }
    default:
      break;
  }
  const std::size_t begin = token_.begin;
  if (TakeSymbol("(")) return ParseParenthesis() && ParseMembers(begin, nullptr);
  if (TakeSymbol("[")) return ParseList() && ParseMembers(begin, nullptr);
  if (TakeSymbol("{")) return ParseMap() && ParseMembers(begin, nullptr);
  return FailHere("a value");
}

bool ExpressionParser::ParseName() {
  if (IsOneOf(token_.text, kReserved)) return FailHere("a value");
  const ExpressionToken name = token_;
  Advance();
  if (token_.IsSymbol("(")) {
    if (name.text != "range") return Fail(name.begin, WhyNoFunction(name.text));
    Advance();
    return ParseRange(name.begin) && ParseMembers(name.begin, nullptr);
  }
  if (const Value* literal = FindLiteral(name.text)) {
    EmitConstant(*literal);
    return true;
  }
  Expression::Path path = {std::string(name.text)};
  Emit({Op::kName, AddConstant(Value::Text(path.front()))}, 1);
  return ParseMembers(name.begin, &path);
}

// Extends `path` until the first computed member.
bool ExpressionParser::ParseMembers(std::size_t begin, Expression::Path* path) {
  Expression::Path* const whole = path;
  while (true) {
    if (token_.IsSymbol(".")) {
      if (!ParseDot(path)) return false;
    } else if (token_.IsSymbol("[")) {
      if (!ParseIndex(begin, path)) return false;
    } else if (token_.IsSymbol("(")) {
      return Fail(token_.begin, "a value cannot be called; use a filter: value | upper");
    } else {
      break;
    }
  }
  if (whole != nullptr) program_.paths.push_back(std::move(*whole));
  return true;
}

bool ExpressionParser::ParseDot(Expression::Path* path) {
  token_ = lexer_.NextMember();
  if (token_.kind != Kind::kName && token_.kind != Kind::kNumber) {
    return FailHere("the name of a member after '.'");
  }
  const ExpressionToken member = token_;
  Advance();
  if (token_.IsSymbol("(")) {
    const std::string name(member.text);
    return Fail(member.begin, FindFilter(name) == nullptr
                                  ? "there are no methods; use a filter: value | upper"
                                  : "there are no methods; write 'value | " + name + "'");
  }
  if (path != nullptr) path->emplace_back(member.text);
  if (member.kind == Kind::kNumber) {
    EmitConstant(member.value);
    Emit({Op::kIndex}, -1);
  } else {
    Emit({Op::kMember, AddConstant(Value::Text(std::string(member.text)))}, 0);
  }
  return true;
}

bool ExpressionParser::ParseIndex(std::size_t begin, Expression::Path*& path) {
  const std::size_t at = token_.begin;
  Advance();
  const std::size_t first = program_.code.size();
  if (!ParseWhole()) return false;
  if (token_.IsSymbol(":")) return Fail(token_.begin, "slices are not available");
  if (!Expect("]", "after the index")) return false;
  const bool constant =
      program_.code.size() == first + 1 && program_.code.back().op == Op::kConstant;
  const Value index = constant ? program_.constants[program_.code.back().operand] : Value();
  if (index.kind() != Value::Kind::kText && index.kind() != Value::Kind::kInt) path = nullptr;
  if (path != nullptr) path->push_back(ToText(index));
  if (index.kind() != Value::Kind::kText) {
    Emit(Spanning(Op::kIndex, begin, at), -1);
    return true;
  }
  program_.code.back().op = Op::kMember;
  --stack_;
  return true;
}

bool ExpressionParser::ParseParenthesis() {
  if (!ParseWhole()) return false;
  if (token_.IsSymbol(",")) return Fail(token_.begin, "a list is written in brackets: [a, b]");
  return Expect(")", "to close the parenthesis");
}

bool ExpressionParser::ParseList() {
  int count = 0;
  while (!token_.IsSymbol("]")) {
    if (!ParseWhole()) return false;
    ++count;
    if (!TakeSymbol(",")) break;
  }
  if (!Expect("]", "or ',' in the list")) return false;
  Emit({Op::kList, static_cast<std::uint32_t>(count)}, 1 - count);
  program_.builds = true;
  return true;
}

bool ExpressionParser::ParseMap() {
  const std::size_t begin = token_.begin;
  int count = 0;
  while (!token_.IsSymbol("}")) {
    if (!ParseWhole() || !Expect(":", "and a value after the key") || !ParseWhole()) return false;
    ++count;
    if (!TakeSymbol(",")) break;
  }
  if (!Expect("}", "or ',' in the map")) return false;
  ExpressionInstruction map = Spanning(Op::kMap, begin, begin);
  map.operand = static_cast<std::uint32_t>(count);
  Emit(map, 1 - 2 * count);
  program_.builds = true;
  return true;
}

bool ExpressionParser::ParseRange(std::size_t begin) {
  int count = 0;
  do {
    if (!ParseWhole()) return false;
    ++count;
  } while (TakeSymbol(","));
  if (!Expect(")", "to close the call")) return false;
  if (count > 3) return Fail(begin, "range() takes at most three numbers: begin, end, step");
  ExpressionInstruction range = Spanning(Op::kRange, begin, begin);
  range.operand = static_cast<std::uint32_t>(count);
  Emit(range, 1 - count);
  program_.builds = true;
  return true;
}

bool ExpressionParser::ParseFilter(std::size_t begin) {
  const std::size_t at = token_.begin;
  Advance();
  if (token_.IsSymbol("|")) return Fail(at, "'||' has no meaning here; write 'or'");
  if (token_.kind != Kind::kName) return FailHere("the name of a filter after '|'");
  ExpressionCall call{FindFilter(token_.text)};
  if (call.filter == nullptr) {
    return Fail(token_.begin, "unknown filter '" + std::string(token_.text) + "'" +
                                  DidYouMean(token_.text, FilterNames()));
  }
  const std::size_t name_at = token_.begin;
  Advance();
  if (TakeSymbol("(") && !ParseArguments(call)) return false;
  for (std::uint8_t i = 0; i < call.filter->required; ++i) {
    const auto given = std::span(call.parameter_of).first(call.arguments);
    if (std::ranges::find(given, i) != given.end()) continue;
    return Fail(name_at, "filter '" + std::string(call.filter->name) + "' needs its argument '" +
                             std::string(call.filter->parameters[i]) + "'");
  }
  ExpressionInstruction instruction = Spanning(Op::kFilter, begin, at);
  instruction.operand = static_cast<std::uint32_t>(program_.calls.size());
  program_.calls.push_back(call);
  Emit(instruction, -call.arguments);
  program_.builds = true;
  return true;
}

bool ExpressionParser::ParseArguments(ExpressionCall& call) {
  while (!token_.IsSymbol(")")) {
    if (!ParseArgument(call)) return false;
    if (!TakeSymbol(",")) break;
  }
  return Expect(")", "or ',' in the arguments");
}

bool ExpressionParser::ParseArgument(ExpressionCall& call) {
  const auto& parameters = call.filter->parameters;
  const std::string filter = "filter '" + std::string(call.filter->name) + "'";
  const std::size_t at = token_.begin;
  const auto known = std::ranges::find(parameters, std::string_view());  // end of the parameters
  std::size_t parameter = call.arguments;
  ExpressionLexer ahead = lexer_;
  if (token_.kind == Kind::kName && ahead.Next().IsSymbol("=")) {
    const auto found = std::find(parameters.begin(), known, token_.text);
    if (found == known) {
      return Fail(at, filter + " has no argument '" + std::string(token_.text) + "'" +
                          DidYouMean(token_.text, {parameters.begin(), known}));
    }
    parameter = static_cast<std::size_t>(found - parameters.begin());
    Advance();
    Advance();
  }
  const auto count = static_cast<std::size_t>(known - parameters.begin());
  if (parameter >= count) {
    return Fail(at, count == 0 ? filter + " takes no arguments"
                               : filter + " takes at most " + std::to_string(count) +
                                     (count == 1 ? " argument" : " arguments"));
  }
  const auto given = std::span(call.parameter_of).first(call.arguments);
  if (std::ranges::find(given, parameter) != given.end()) {
    return Fail(
        at, filter + " is given its argument '" + std::string(parameters[parameter]) + "' twice");
  }
  if (!ParseWhole()) return false;
  call.parameter_of[call.arguments++] = static_cast<std::uint8_t>(parameter);
  return true;
}

bool ExpressionParser::ParseIs(std::size_t begin) {
  const std::size_t at = token_.begin;
  Advance();
  const bool negated = TakeName("not");
  const auto tests = KindTests();
  const auto found =
      token_.kind == Kind::kName ? std::ranges::find(tests, token_.text) : tests.end();
  if (found == tests.end()) {
    if (token_.kind != Kind::kName) return FailHere("the name of a test after 'is'");
    return Fail(token_.begin,
                "unknown test '" + std::string(token_.text) + "'" + DidYouMean(token_.text, tests));
  }
  Advance();
  ExpressionInstruction instruction = Spanning(negated ? Op::kIsNot : Op::kIs, begin, at);
  instruction.operand = static_cast<std::uint32_t>(found - tests.begin());
  Emit(instruction, 0);
  return true;
}

}  // namespace everstep
