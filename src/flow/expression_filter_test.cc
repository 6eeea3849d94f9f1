#include "flow/expression_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "flow/expression.h"
#include "flow/value_names.h"

namespace everstep {
namespace {

constexpr std::string_view kNames = R"({
  "n": 7, "x": 2.5, "t": "Text", "yes": true, "nothing": null, "list": [3, 1, 2], "empty": [],
  "user": {"name": "Ada", "tags": ["a", "b"]}, "mixed": [1, "a"], "nested": [[1], [1.0], [2]],
  "rows": [{"id": 2, "s": "B", "on": true}, {"id": 1, "s": "a", "on": false}, {"id": 3, "s": "B"}],
  "least": -9223372036854775808
})";

struct Case {
  std::string expression;
  std::string expected;  // JSON, "undefined", or "fails: " and a part of the message
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.expression; }

class ExpressionFilterTest : public testing::TestWithParam<Case> {};

TEST_P(ExpressionFilterTest, IsAsExpected) {
  const auto expression = Expression::Parse(GetParam().expression);
  const auto value = expression ? expression->Evaluate(ValueNames(*ValueFromJson(kNames)))
                                : Result<Value>(expression.error());
  const std::string& expected = GetParam().expected;
  if (expected.starts_with("fails: ")) {
    ASSERT_FALSE(value) << ToJson(*value);
    EXPECT_NE(value.error().message.find(expected.substr(7)), std::string::npos)
        << value.error().message;
    return;
  }
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(value->undefined() ? "undefined" : ToJson(*value), expected);
}

const std::vector<Case> kKinds = {
    {"'42' | int", "42"},
    {"' +42 ' | int", "42"},
    {"'-3.9' | int", "-3"},
    {"2.9 | int", "2"},
    {"'1e3' | int", "1000"},
    {"true | int", "1"},
    {"missing | int", "0"},
    {"missing | int(5)", "5"},
    {"nothing | int", "0"},
    {"'abc' | int", "fails: the text is not a number; give a default: int(0)"},
    {"'abc' | int(-1)", "-1"},
    {"'abc' | int(default=9)", "9"},
    {"'' | int(0)", "0"},
    {"'+-1' | int", "fails: not a number"},
    {"'inf' | float", "fails: not a number"},
    {"'nan' | float", "fails: not a number"},
    {"1e300 | int", "fails: too large"},
    {"'9223372036854775808' | int", "fails: too large"},
    {"list | int", "fails: filter 'int' needs a number or text, not a list"},
    {"list | int(0)", "0"},
    {"'2.50' | float", "2.5"},
    {"(2 | float) is float", "true"},
    {"missing | float", "0"},
    {"n | string", R"("7")"},
    {"user | string", R"("{\"name\":\"Ada\",\"tags\":[\"a\",\"b\"]}")"},
    {"missing | string", R"("")"},
    {"['no' | bool, ' OFF ' | bool, 'x' | bool, 0 | bool, missing | bool]",
     "[false,false,true,false,false]"},
    {"'ab' | list", R"(["a","b"])"},
    {"user | list", R"(["name","tags"])"},
    {"missing | list", "[]"},
    {"n | list", "fails: filter 'list' needs a list, not a number"},
    {"missing | default('x')", R"("x")"},
    {"missing.a | d(1)", "1"},
    {"nothing | default('x')", "null"},
    {"nothing | default('x', true)", R"("x")"},
    {"'' | default('x', boolean=true)", R"("x")"},
    {"'no' | default('x', true)", R"("no")"},
    {"missing | default(user.mail)", "undefined"},
    {"missing | default", "fails: needs its argument 'default_value'"},
    {"[list | length, user | len, 'é😀' | count, missing | length]", "[3,2,2,0]"},
    {"n | length", "fails: filter 'length' needs a list, a map or text, not a number"},
    {"t | safe", R"("Text")"},
};

const std::vector<Case> kTexts = {
    {"t | lower", R"("text")"},
    {"t | upper", R"("TEXT")"},
    {"yes | upper", R"("TRUE")"},
    {"n | lower", R"("7")"},
    {"nothing | lower", "fails: filter 'lower' needs text, not none"},
    {"missing.x | lower", "fails: 'missing.x' is undefined; give it a value with default()"},
    {"'two wORDs (of-it)' | title", "\"Two Words (Of-It)\""},
    {"'two WORDS' | capitalize", R"("Two words")"},
    {"' a b\n' | trim", R"("a b")"},
    {"'   ' | trim", R"("")"},
    {"'aXbXc' | replace('X', '--')", R"("a--b--c")"},
    {"'aXbXc' | replace('X', '', 1)", R"("abXc")"},
    {"'aaa' | replace('aa', 'b')", R"("ba")"},
    {"'a' | replace('', 'b')", "fails: cannot replace empty text"},
    {"'a' | replace('a')", "fails: needs its argument 'new'"},
    {"'a' | replace(1, 'b')", "fails: argument 'old' of filter 'replace' must be text"},
    {"'a,b,,c' | split(',')", R"(["a","b","","c"])"},
    {"'a,b,c' | split(',', 1)", R"(["a","b,c"])"},
    {"' a  b ' | split", R"(["a","b"])"},
    {"' a  b c ' | split(none, 1)", R"(["a","b c "])"},
    {"'' | split(',')", R"([""])"},
    {"'a' | split('')", "fails: cannot split at empty text"},
};

const std::vector<Case> kNumbers = {
    {"-3 | abs", "3"},
    {"(0 - x) | abs", "2.5"},
    {"least | abs", "9223372036854776000"},
    {"t | abs", "fails: filter 'abs' needs a number"},
    {"2.5 | round", "3"},
    {"-2.5 | round", "-3"},
    {"2.345 | round(1)", "2.3"},
    {"2.31 | round(1, 'ceil')", "2.4"},
    {"2.39 | round(1, method='floor')", "2.3"},
    {"1234 | round(-2)", "1200"},
    {"7 | round(2)", "7"},
    {"1e300 | round(15)", "1e+300"},
    {"1 | round(99)", "fails: 'precision' must be from -15 to 15"},
    {"1 | round(1, 'up')", "fails: 'method' must be"},
    {"list | min", "1"},
    {"list | max", "3"},
    {"['b', 'A'] | min", R"("A")"},
    {"['b', 'B'] | max(case_sensitive=true)", R"("b")"},
    {"(rows | max(attribute='id')).s", R"("B")"},
    {"empty | min", "undefined"},
    {"missing | max", "undefined"},
    {"mixed | max", "fails: cannot order"},
    {"list | sum", "6"},
    {"empty | sum", "0"},
    {"rows | sum(attribute='id')", "6"},
    {"rows | sum('id', 0.5)", "6.5"},
    {"mixed | sum", "fails: an item is text"},
};

const std::vector<Case> kLists = {
    {"list | first", "3"},
    {"list | last", "2"},
    {"empty | first", "undefined"},
    {"missing | last", "undefined"},
    {"t | first ~ t | last", R"("Tt")"},
    {"user | first", R"("name")"},
    {"n | first", "fails: needs a list"},
    {"(rows | first).id", "2"},
    {"rows | first.id", "fails: parentheses"},
    {"list | join(', ')", R"("3, 1, 2")"},
    {"rows | join('-', attribute='s')", R"("B-a-B")"},
    {"['a', none, true] | join", R"("anulltrue")"},
    {"rows | join(attribute='on')", "fails: is undefined"},
    {"empty | join(',')", R"("")"},
    {"list | reverse", "[2,1,3]"},
    {"'aé😀' | reverse", R"("😀éa")"},
    {"list | sort", "[1,2,3]"},
    {"list | sort(reverse=true)", "[3,2,1]"},
    {"['b', 'A', 'a', 'B'] | sort", R"(["A","a","b","B"])"},
    {"['b', 'A', 'a'] | sort(case_sensitive=true)", R"(["A","a","b"])"},
    {"rows | sort(attribute='id') | map(attribute='id')", "[1,2,3]"},
    {"mixed | sort", "fails: needs numbers only or text only"},
    {"nested | sort", "fails: an item is a list"},
    {"empty | sort", "[]"},
    {"[1, 1.0, 'a', 'A', 1] | unique", R"([1,"a"])"},
    {"['a', 'A'] | unique(true)", R"(["a","A"])"},
    {"nested | unique", "[[1],[2]]"},
    {"rows | unique(attribute='s') | map(attribute='id')", "[2,1]"},
    {"user | keys", R"(["name","tags"])"},
    {"user | values", R"(["Ada",["a","b"]])"},
    {"user | items", R"([["name","Ada"],["tags",["a","b"]]])"},
    {"list | keys", "fails: filter 'keys' needs a map, not a list"},
    {"user | get('name')", R"("Ada")"},
    {"user | get('mail')", "undefined"},
    {"user | get('mail', 'none')", R"("none")"},
    {"list | get(-1)", "2"},
    {"missing | get('a')", "undefined"},
};

const std::vector<Case> kSelections = {
    {"rows | map(attribute='id')", "[2,1,3]"},
    {"rows | map(attribute='on', default=false)", "[true,false,false]"},
    {"[user] | map(attribute='tags.1')", R"(["b"])"},
    {"['a', 'b'] | map('upper')", R"(["A","B"])"},
    {"['a'] | map('uper')", "fails: did you mean 'upper'?"},
    {"['a'] | map('map')", "fails: cannot be used in map()"},
    {"['a'] | map('replace')", "fails: cannot be used in map()"},
    {"[missing] | map('upper')", "fails: is undefined"},
    {"['a'] | map", "fails: needs attribute='name'"},
    {"rows | selectattr('on') | map(attribute='id')", "[2]"},
    {"rows | rejectattr('on') | map(attribute='id')", "[1,3]"},
    {"rows | selectattr('on', 'defined') | length", "2"},
    {"rows | selectattr('s', '==', 'B') | map(attribute='id')", "[2,3]"},
    {"rows | selectattr('id', 'gt', 1) | map(attribute='id')", "[2,3]"},
    {"rows | selectattr('id', 'in', [1]) | map(attribute='id')", "[1]"},
    {"rows | selectattr('id', 'defind')", "fails: did you mean 'defined'?"},
};

const std::vector<Case> kEncodings = {
    {"user | tojson", R"("{\"name\":\"Ada\",\"tags\":[\"a\",\"b\"]}")"},
    {"missing | tojson", "fails: is undefined"},
    {R"('{"a": [1, 2.5, null]}' | fromjson)", R"({"a":[1,2.5,null]})"},
    {"'{' | fromjson", "fails: the text is not JSON"},
    {"n | fromjson", "fails: needs text"},
    {"'a' | b64encode", R"("YQ==")"},
    {"'ab' | b64encode", R"("YWI=")"},
    {"'abc' | b64encode", R"("YWJj")"},
    {"'' | b64encode", R"("")"},
    {"'YQ==' | b64decode ~ 'YWI' | b64decode ~ 'YWJj' | b64decode", R"("aababc")"},
    {"'YQ=' | b64decode", "fails: not base64"},
    {"'====' | b64decode", "fails: not base64"},
    {"'Y' | b64decode", "fails: not base64"},
    {"'Y*==' | b64decode", "fails: not base64"},
    {"'/w==' | b64decode", "fails: not UTF-8 text"},
    {"'a b/c?é' | urlencode", R"("a%20b/c%3F%C3%A9")"},
};

const std::vector<Case> kArguments = {
    {"n | nope", "fails: unknown filter 'nope'"},
    {"n | 5", "fails: expected the name of a filter after '|', not '5'"},
    {"t | lower(1)", "fails: filter 'lower' takes no arguments"},
    {"t | int(1, 2)", "fails: filter 'int' takes at most 1 argument"},
    {"list | sort(revers=true)", "fails: has no argument 'revers'; did you mean 'reverse'?"},
    {"t | replace('T', old='x')", "fails: twice"},
    {"t | replace(new='b', old='T')", R"("bext")"},
    {"t | replace('a', 'b', new='c')", "fails: twice"},
    {"t | replace('a' 'b')", "fails: expected ')' or ',' in the arguments"},
};

INSTANTIATE_TEST_SUITE_P(Kinds, ExpressionFilterTest, testing::ValuesIn(kKinds));
INSTANTIATE_TEST_SUITE_P(Texts, ExpressionFilterTest, testing::ValuesIn(kTexts));
INSTANTIATE_TEST_SUITE_P(Numbers, ExpressionFilterTest, testing::ValuesIn(kNumbers));
INSTANTIATE_TEST_SUITE_P(Lists, ExpressionFilterTest, testing::ValuesIn(kLists));
INSTANTIATE_TEST_SUITE_P(Selections, ExpressionFilterTest, testing::ValuesIn(kSelections));
INSTANTIATE_TEST_SUITE_P(Encodings, ExpressionFilterTest, testing::ValuesIn(kEncodings));
INSTANTIATE_TEST_SUITE_P(Arguments, ExpressionFilterTest, testing::ValuesIn(kArguments));

// A value takes about a hundred bytes for one or two bytes of text, so it is counted before it is
// created.
TEST(ExpressionFiltersTest, FromJsonIsBoundedByTheValuesItCreates) {
  std::string many = "[";
  for (int i = 0; i < 200'000; ++i) many += "1,";
  for (const std::string end : {"1]", "?"}) {
    const Value names = Value::Map({{"text", Value::Text(many + end)}});
    const auto value = Expression::Parse("text | fromjson")->Evaluate(ValueNames(names));
    ASSERT_FALSE(value);
    EXPECT_NE(value.error().message.find("more time or memory"), std::string::npos)
        << end << ": must be rejected before it is parsed: " << value.error().message;
  }
}

TEST(ExpressionFiltersTest, HaveOneNameEach) {
  const auto names = FilterNames();
  EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end());
  for (const std::string_view name : names) EXPECT_EQ(FindFilter(name)->name, name);
}

}  // namespace
}  // namespace everstep
