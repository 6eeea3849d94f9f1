#include "flow/expression.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "flow/value_names.h"

namespace everstep {
namespace {

constexpr std::string_view kNames = R"({
  "n": 7, "x": 2.5, "t": "Text", "yes": true, "no": false, "nothing": null,
  "list": [3, 1, 2], "empty": [], "word": "no",
  "user": {"name": "Ada", "items": "a key", "tags": ["a", "b"], "in": 1, "first-name": "A"},
  "rows": [{"id": 2, "s": "B", "on": true}, {"id": 1, "s": "a", "on": false}, {"id": 3, "s": "B"}],
  "big": 9223372036854775807, "least": -9223372036854775808, "two53": 9007199254740993
})";

struct Case {
  std::string expression;
  std::string expected;  // JSON, "undefined", or "fails: " and a part of the message
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.expression; }

class ExpressionTest : public testing::TestWithParam<Case> {};

std::string Outcome(std::string_view text, const ExpressionLimits& limits = {}) {
  const ValueNames names(*ValueFromJson(kNames));
  const Result<Expression> expression = Expression::Parse(text);
  if (!expression) return "fails: " + expression.error().message;
  const Result<Value> value = expression->Evaluate(names, limits);
  if (!value) {
    EXPECT_EQ(value.error().code, ErrorCode::kExpressionFailed);
    return "fails: " + value.error().message;
  }
  return value->undefined() ? "undefined" : ToJson(*value);
}

TEST_P(ExpressionTest, IsAsExpected) {
  const std::string outcome = Outcome(GetParam().expression);
  const std::string& expected = GetParam().expected;
  if (!expected.starts_with("fails: ")) {
    EXPECT_EQ(outcome, expected);
    return;
  }
  EXPECT_TRUE(outcome.starts_with("fails: ")) << outcome;
  EXPECT_NE(outcome.find(expected.substr(7)), std::string::npos) << outcome;
}

const std::vector<Case> kLiterals = {
    {"1", "1"},
    {"-1", "-1"},
    {"- -1", "1"},
    {"1.5", "1.5"},
    {"1e3", "1000"},
    {"1.5E-1", "0.15"},
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9223372036854776000"},
    {"-9223372036854775808 == least", "true"},
    {"1e999", "fails: too large"},
    {"1x", "fails: a name cannot begin with a digit"},
    {"'a'", R"("a")"},
    {R"("it's")", R"("it's")"},
    {R"('it\'s \\ \n \t \/ \u00e9 \ud83d\ude00')", "\"it's \\\\ \\n \\t / é 😀\""},
    {R"('\ud83d')", "fails: half of a surrogate pair"},
    {R"('\q')", "fails: an escape is one of"},
    {R"('\u12')", "fails: four hexadecimal digits"},
    {"'open", "fails: not closed by '"},
    {"'open\\", "fails: an escape"},
    {"'", "fails: not closed"},
    {"true", "true"},
    {"True", "true"},
    {"false", "false"},
    {"False", "false"},
    {"none", "null"},
    {"None", "null"},
    {"null", "null"},
    {"[]", "[]"},
    {"[1, 'a', [2],]", R"([1,"a",[2]])"},
    {"{}", "{}"},
    {"{'a': 1, \"b\": {'c': n},}", R"({"a":1,"b":{"c":7}})"},
    {"{t: 1}", R"({"Text":1})"},
    {"{1: 2}", "fails: the key of a map must be text"},
    {"{'a': 1, 'a': 2}", "fails: a key is repeated"},
    {"[missing]", "[null]"},
    {"(1)", "1"},
    {"(1, 2)", "fails: a list is written in brackets"},
    {"", "fails: empty"},
    {"  ", "fails: empty"},
    {"(1", "fails: expected ')' to close the parenthesis, not the end"},
    {"[1", "fails: expected ']'"},
    {"{'a' 1}", "fails: expected ':'"},
    {"1 2", "fails: expected an operator or the end, not '2'"},
};

const std::vector<Case> kPaths = {
    {"n", "7"},
    {"user.name", R"("Ada")"},
    {"user.items", R"("a key")"},
    {"user.in", "1"},
    {"user['name']", R"("Ada")"},
    {"user['first-name']", R"("A")"},
    {"user.tags[0]", R"("a")"},
    {"user.tags.1", R"("b")"},
    {"user.tags[-1]", R"("b")"},
    {"user.tags[2]", "undefined"},
    {"user.tags[-3]", "undefined"},
    {"list[least]", "undefined"},
    {"rows.0.id", "2"},
    {"rows[n - 6].id", "1"},
    {"user[t | lower]", "undefined"},
    {"missing", "undefined"},
    {"missing.a.b[0]['c']", "undefined"},
    {"n.a.b", "undefined"},
    {"nothing.a", "undefined"},
    {"list['a']", "undefined"},
    {"user[0]", "undefined"},
    {"user[none]", "undefined"},
    {"t[0]", R"("T")"},
    {"'é😀'[-1]", R"("😀")"},
    {"{'a': 5}.a", "5"},
    {"[4, 5][1]", "5"},
    {"(user).name", R"("Ada")"},
    {"user.", "fails: the name of a member"},
    {"user.name()", "fails: there are no methods"},
    {"t.upper()", "fails: write 'value | upper'"},
    {"user['name'](1)", "fails: cannot be called"},
    {"list[0:1]", "fails: slices"},
    {"list[99999999999999999999]", "undefined"},
    {"rows.99999999999999999999", "fails: the index is too large"},
    {"$n", "fails: '$' has no meaning"},
};

const std::vector<Case> kOperators = {
    {"1 + 2 * 3", "7"},
    {"(1 + 2) * 3", "9"},
    {"7 - 2 - 1", "4"},
    {"2 * 3 % 4", "2"},
    {"7 / 2", "3.5"},
    {"6 / 2", "3"},
    {"(6 / 2) is float", "true"},
    {"1 + '2' | int", "3"},
    {"-3 | abs", "3"},
    {"7 // 2", "3"},
    {"-7 // 2", "-4"},
    {"7 // -2", "-4"},
    {"-7 % 3", "2"},
    {"7 % -3", "-2"},
    {"6 % -3", "0"},
    {"7.5 // 2", "3"},
    {"-7.5 % 2", "0.5"},
    {"least // -1", "9223372036854776000"},
    {"least % -1", "0"},
    {"-least", "9223372036854776000"},
    {"big + 1", "9223372036854776000"},
    {"least - 1", "-9223372036854776000"},
    {"big * 2", "18446744073709552000"},
    {"big + 0", "9223372036854775807"},
    {"1 / 0", "fails: division by zero"},
    {"1 // 0", "fails: division by zero"},
    {"1 % 0", "fails: division by zero"},
    {"1 / 0.0", "fails: division by zero"},
    {"1e308 * 10", "fails: too large for a number"},
    {"2 ** 10", "1024"},
    {"2 ** 62", "4611686018427387904"},
    {"2 ** 63", "9223372036854776000"},
    {"(-2) ** 63 == least", "true"},
    {"2 ** -1", "0.5"},
    {"0 ** 0", "1"},
    {"0 ** -1", "fails: division by zero"},
    {"(-8) ** 0.5", "fails: only to a whole power"},
    {"10 ** 400", "fails: too large for a number"},
    {"1 ** big", "1"},
    {"-2 ** 2", "fails: use parentheses"},
    {"2 ** 3 ** 2", "fails: use parentheses"},
    {"2 * 3 ** 2", "18"},
    {"-n", "-7"},
    {"-t", "fails: cannot negate text"},
    {"'a' + 'b'", R"("ab")"},
    {"[1] + [2]", "[1,2]"},
    {"'a' + 1", "fails: join text with '~'"},
    {"'a' - 1", "fails: convert the text to a number"},
    {"true + 1", "fails: cannot add a boolean and a number"},
    {"'ab' * 3", R"("ababab")"},
    {"'ab' * -3", R"("")"},
    {"'a' * big", "fails: more time or memory"},
    {"'a' ~ 1 ~ true ~ [1] ~ none", R"("a1true[1]null")"},
    {"1 ~ 2 + 3", "fails: cannot add text and a number"},
    {"missing + 1", "fails: 'missing' is undefined; give it a value with default()"},
    {"1 + user.mail", "fails: 'user.mail' is undefined"},
    {"n * 2 + user.mail", "fails: 'user.mail' is undefined"},
    {"'a' ~ missing", "fails: 'missing' is undefined"},
    {"-missing", "fails: 'missing' is undefined"},
    {"missing < 1", "fails: 'missing' is undefined"},
    {"1 == 1.0", "true"},
    {"two53 == 9007199254740992.0", "false"},
    {"two53 > 9007199254740992.0", "true"},
    {"9007199254740992.0 < two53", "true"},
    {"big < 9223372036854775808", "true"},
    {"big >= 9223372036854775808", "false"},
    {"'a' == 'a'", "true"},
    {"'1' == 1", "false"},
    {"1 != 2", "true"},
    {"[1, {'a': 2}] == [1.0, {'a': 2}]", "true"},
    {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"},
    {"{'a': 1} == {'a': 1, 'b': 2}", "false"},
    {"missing == none", "false"},
    {"missing == also_missing", "true"},
    {"1 < 2", "true"},
    {"2 <= 2", "true"},
    {"1 > 2.5", "false"},
    {"x >= 2.5", "true"},
    {"'a' < 'b'", "true"},
    {"'1' < 2", "fails: cannot order text and a number"},
    {"[1] < [2]", "fails: cannot order"},
    {"1 < 2 < 3", "fails: comparisons do not chain"},
    {"1 == 2 and 2 == 2 or 3 == 3", "true"},
    {"1 in [1, 2]", "true"},
    {"1 not in [1, 2]", "false"},
    {"'x' in 'text'", "true"},
    {"1 in 'text'", "fails: text can only contain text"},
    {"'name' in user", "true"},
    {"'mail' in user", "false"},
    {"1 in user", "false"},
    {"1 in missing", "false"},
    {"1 not in missing", "true"},
    {"1 in 5", "fails: 'in' cannot search a number"},
    {"1 not 2", "fails: expected 'in' after 'not'"},
    {"not 1 in [1]", "false"},
    {"not true", "false"},
    {"not not n", "true"},
    {"1 + not 2", "fails: in parentheses"},
    {"n and t", R"("Text")"},
    {"no and 1 / 0", "false"},
    {"n or 1 / 0", "7"},
    {"missing or 'x'", R"("x")"},
    {"empty and n or 'y'", R"("y")"},
    {"word or 'truth is as in conditions'", R"("truth is as in conditions")"},
    {"1 if yes else 2", "1"},
    {"1 if no else 2", "2"},
    {"1 if no", "undefined"},
    {"1 / 0 if no else 2", "2"},
    {"1 if no else 2 if no else 3", "3"},
    {"(1 if yes else 2) + (10 if no else 20)", "21"},
    {"(1 if n > 5 and t else 2) if yes or no else 3", "1"},
    {"[1 if no else 2, 3 if yes else 4]", "[2,3]"},
    {"a = 1", "fails: compare with '=='"},
    {"a && b", "fails: write 'and'"},
    {"a || b", "fails: write 'or'"},
    {"!a", "fails: write 'not'"},
    {"a ? b : c", "fails: a if condition else b"},
    {"and", "fails: expected a value, not 'and'"},
    {"1 +", "fails: expected a value, not the end"},
};

const std::vector<Case> kTests = {
    {"n is defined", "true"},
    {"missing is defined", "false"},
    {"missing.a is not defined", "true"},
    {"missing is undefined", "true"},
    {"not missing is defined", "true"},
    {"nothing is none", "true"},
    {"nothing is not null", "false"},
    {"missing is none", "false"},
    {"t is string", "true"},
    {"n is number and x is number", "true"},
    {"yes is number", "false"},
    {"n is integer and not x is integer", "true"},
    {"x is float", "true"},
    {"no is boolean", "true"},
    {"no is false and yes is true and 1 is not true", "true"},
    {"user is mapping", "true"},
    {"list is sequence", "true"},
    {"t is sequence", "false"},
    {"[user is iterable, list is iterable, t is iterable, n is iterable]",
     "[true,true,true,false]"},
    {"n is defned", "fails: unknown test 'defned'; did you mean 'defined'?"},
    {"n is 5", "fails: expected the name of a test after 'is', not '5'"},
    {"range(3)", "[0,1,2]"},
    {"range(1, 3)", "[1,2]"},
    {"range(5, 0, -2)", "[5,3,1]"},
    {"range(big - 1, big, 5)", "[9223372036854775806]"},
    {"range(0)", "[]"},
    {"range(1, 2, 0)", "fails: the step of range() is zero"},
    {"range('a')", "fails: range() takes whole numbers"},
    {"range(1, 2, 3, 4)", "fails: at most three"},
    {"range(big)", "fails: more time or memory"},
    {"now()", "fails: cannot read the clock; use run.startedAt"},
    {"random()", "fails: the same result each time"},
    {"int(x)", "fails: int is a filter; write 'value | int'"},
    {"token('a')", "fails: there is no function 'token'"},
};

INSTANTIATE_TEST_SUITE_P(Literals, ExpressionTest, testing::ValuesIn(kLiterals));
INSTANTIATE_TEST_SUITE_P(Paths, ExpressionTest, testing::ValuesIn(kPaths));
INSTANTIATE_TEST_SUITE_P(Operators, ExpressionTest, testing::ValuesIn(kOperators));
INSTANTIATE_TEST_SUITE_P(Tests, ExpressionTest, testing::ValuesIn(kTests));

TEST(ExpressionParseTest, SaysWhereTheFaultIs) {
  ExpressionFault fault;
  EXPECT_FALSE(Expression::Parse("user.name | lenght", &fault));
  EXPECT_EQ(fault.offset, 12U);
  EXPECT_EQ(fault.message, "unknown filter 'lenght'; did you mean 'length'?");
}

TEST(ExpressionParseTest, ReportsThePathsThatAreRead) {
  const auto expression = Expression::Parse(
      "steps.fetch.result['items'][0].name ~ steps[inputs.which].x | default(item) ~ inputs.which "
      "if run.ok else (steps.b).c");
  ASSERT_TRUE(expression);
  EXPECT_EQ(expression->paths(), (std::vector<Expression::Path>{
                                     {"inputs", "which"},
                                     {"item"},
                                     {"run", "ok"},
                                     {"steps"},
                                     {"steps", "b"},
                                     {"steps", "fetch", "result", "items", "0", "name"},
                                 }));
}

TEST(ExpressionParseTest, RefusesTextThatIsTooLongOrNotUtf8) {
  EXPECT_FALSE(Expression::Parse(std::string(kExpressionBytesMax, ' ') + "1"));
  EXPECT_TRUE(Expression::Parse("1" + std::string(kExpressionBytesMax - 1, ' ')));
  EXPECT_FALSE(Expression::Parse("'\xff'"));
}

std::string Repeat(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(ExpressionParseTest, LimitsNestingHoweverItIsWritten) {
  for (const std::string_view open : {"(", "[", "{'a':", "- ", "not ", "a[", "1 if 1 else "}) {
    EXPECT_NE(Outcome(Repeat(open, 100) + "1").find("nested deeper than 64"), std::string::npos)
        << open;
  }
  EXPECT_EQ(Outcome(Repeat("(", 60) + "1" + Repeat(")", 60)), "1");
}

TEST(ExpressionLimitsTest, LongChainsNeedNoDepth) {
  EXPECT_EQ(Outcome("0" + Repeat("+1", 5000)), "5000");
  EXPECT_EQ(Outcome("n" + Repeat("|int", 3000)), "7");
  EXPECT_EQ(Outcome("n" + Repeat(".a", 5000)), "undefined");
  EXPECT_EQ(Outcome("false" + Repeat(" or false", 1000)), "false");
}

TEST(ExpressionLimitsTest, WorkAndMemoryAreBounded) {
  const std::string over = "fails: the expression needs more time or memory";
  for (const std::string expression :
       {"range(1000000000)", "range(30000) | map('string') | join(',') * 10",
        "('a' * 100000) | replace('a', 'b' * 1000)", "('x' * 900000) ~ ('y' * 900000)",
        "range(20000) | sort | sort | sort", "('[' * 30 ~ '1' ~ ']' * 30) * 100000",
        "'a' * 1000000 | list", "('1,' * 100000) | split(',')"}) {
    const std::string outcome = Outcome(expression);
    EXPECT_TRUE(outcome.starts_with("fails: ")) << expression << " → " << outcome.substr(0, 100);
  }
  EXPECT_TRUE(Outcome("1 + 1 + 1", {4, 1 << 20}).starts_with(over));
  EXPECT_EQ(Outcome("1 + 1 + 1", {5, 1 << 20}), "3");
  EXPECT_NE(Outcome("'a' * 11", {1000, 10}).find("more time or memory"), std::string::npos);
  EXPECT_EQ(Outcome("'a' * 10", {1000, 10}), "\"aaaaaaaaaa\"");
}

TEST(ExpressionLimitsTest, AResultThatSharesItsPartsCannotExplode) {
  ValueList items(1000, Value::Text(std::string(1000, 'x')));
  const ValueNames names(Value::Map(ValueMap{{"big", Value::List(std::move(items))}}));
  const auto expression = Expression::Parse("[" + Repeat("big,", 1000) + "]");
  ASSERT_TRUE(expression);
  const auto value = expression->Evaluate(names);
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message.find("the result is larger"), std::string::npos);
}

TEST(ExpressionLimitsTest, AResultNestsNoDeeperThanJsonIsRead) {
  Value deep = Value::Int(1);
  for (std::size_t i = 0; i < kValueDepthMax; ++i) deep = Value::List({deep});
  const ValueNames names(Value::Map(ValueMap{{"deep", deep}}));
  EXPECT_TRUE(Expression::Parse("deep")->Evaluate(names));
  EXPECT_FALSE(Expression::Parse("[deep]")->Evaluate(names));
}

}  // namespace
}  // namespace everstep
