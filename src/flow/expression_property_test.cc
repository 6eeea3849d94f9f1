#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "flow/expression.h"
#include "flow/expression_filter.h"
#include "flow/template.h"
#include "flow/value_names.h"

namespace everstep {
namespace {

const ValueNames& SomeNames() {
  static const ValueNames names(*ValueFromJson(
      R"({"a": 1, "b": "x,y", "c": [3, 1, 2.5], "d": {"e": [true, null], "f": "2"}, "g": []})"));
  return names;
}

// Random text of pieces of expressions: mostly invalid, sometimes valid.
std::string SomeExpression() {
  static const std::vector<std::string> kPieces = [] {
    std::vector<std::string> pieces = {
        "a",   "b",           "c",  "d",    "d.e",  "g",    "missing",  "1",       "2.5",
        "'x'", "\"\\u00e9\"", "(",  ")",    "[",    "]",    "{",        "}",       ",",
        ":",   ".",           "|",  "+",    "-",    "*",    "/",        "//",      "%",
        "**",  "~",           "==", "<",    ">=",   " in ", " if",      "is",      "not",
        "and", "or",          "if", "else", "none", "true", "range(3)", "defined", "attribute=",
        "é",   "{{",          "}}", "{#",   "#}",   "{%",   "\\",       "'"};
    for (const std::string_view filter : FilterNames()) pieces.push_back("|" + std::string(filter));
    return pieces;
  }();
  std::string text;
  for (int i = *rc::gen::inRange(1, 12); i > 0; --i) {
    text += *rc::gen::elementOf(kPieces) + (*rc::gen::arbitrary<bool>() ? " " : "");
  }
  return text;
}

// Mostly valid expressions: operands joined by operators and followed by filters.
std::string SomeOperand(int depth) {
  static const std::vector<std::string> kOperands = {"a",    "b",       "c",    "d.e", "d['f']",
                                                     "c[0]", "g",       "1",    "-2",  "0.5",
                                                     "'no'", "missing", "true", "none"};
  std::string text = *rc::gen::elementOf(kOperands);
  if (depth > 0 && *rc::gen::inRange(0, 3) > 0) {
    static const std::vector<std::string> kOperators = {" + ",  " - ",   " * ",  " / ",     " // ",
                                                        " % ",  " ~ ",   " == ", " < ",     " in ",
                                                        " or ", " and ", " if ", " not in "};
    text = "(" + SomeOperand(depth - 1) + *rc::gen::elementOf(kOperators) + SomeOperand(depth - 1) +
           ")";
  } else if (depth > 0) {
    text = "[" + text + ", " + SomeOperand(depth - 1) + "]";
  }
  if (*rc::gen::arbitrary<bool>()) {
    const auto names = FilterNames();
    text += " | " + std::string(names[*rc::gen::inRange<std::size_t>(0, names.size())]);
  }
  return text;
}

void RequireSound(const std::string& text) {
  ExpressionFault fault;
  const auto expression = Expression::Parse(text, &fault);
  if (!expression) {
    RC_ASSERT(fault.offset <= text.size());
    RC_ASSERT(!fault.message.empty());
    return;
  }
  const auto value = expression->Evaluate(SomeNames());
  const auto again = expression->Evaluate(SomeNames());
  RC_ASSERT(value.has_value() == again.has_value());
  if (!value) {
    RC_ASSERT(value.error().code == ErrorCode::kExpressionFailed);
    RC_ASSERT(value.error().message == again.error().message);
    return;
  }
  RC_ASSERT(ToJson(*value) == ToJson(*again));
  const auto read = ValueFromJson(ToJson(*value));
  RC_ASSERT(read.has_value());
  RC_ASSERT(ToJson(*read) == ToJson(*value));
}

RC_GTEST_PROP(ExpressionPropertyTest, AnyTextIsRejectedOrHasOneResult, ()) {
  RequireSound(SomeExpression());
}

RC_GTEST_PROP(ExpressionPropertyTest, AnyExpressionHasOneResultThatIsJson, ()) {
  RequireSound(SomeOperand(3));
}

RC_GTEST_PROP(ExpressionPropertyTest, NoTextBreaksATemplate, ()) {
  const std::string text = SomeExpression() + "{{" + SomeExpression() + "}}" + SomeExpression();
  std::vector<Template::Fault> faults;
  const auto compiled = Template::Compile(Value::Text(text), &faults);
  RC_ASSERT(compiled.has_value() == faults.empty());
  for (const auto& fault : faults) RC_ASSERT(fault.offset <= text.size());
  if (!compiled) return;
  const auto value = compiled->Render(SomeNames());
  const auto again = compiled->Render(SomeNames());
  RC_ASSERT(value.has_value() == again.has_value());
  if (value) RC_ASSERT(ToJson(*value) == ToJson(*again));
}

RC_GTEST_PROP(ExpressionPropertyTest, LimitsHoldForEveryExpression, ()) {
  const auto expression = Expression::Parse(SomeOperand(3));
  if (!expression) return;
  const ExpressionLimits small{*rc::gen::inRange<std::uint32_t>(0, 30), 64};
  const auto value = expression->Evaluate(SomeNames(), small);
  const auto unlimited = expression->Evaluate(SomeNames());
  if (value) RC_ASSERT(unlimited && ToJson(*value) == ToJson(*unlimited));
}

}  // namespace
}  // namespace everstep
