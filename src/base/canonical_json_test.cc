#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"

namespace everstep {
namespace {

// The canonical text, or "refused".
std::string Canonical(std::string_view json) {
  const Result<std::string> text = CanonicalJson(json);
  if (!text) {
    EXPECT_EQ(text.error().code, ErrorCode::kInvalidJson);
    return "refused";
  }
  return *text;
}

std::string Nested(int depth) {
  const auto size = static_cast<std::size_t>(depth);
  return std::string(size, '[') + std::string(size, ']');
}

// RFC 8785 §3.2.2 and §3.2.3.
TEST(CanonicalJsonTest, GivesTheAnswerOfRfc8785) {
  EXPECT_EQ(Canonical(R"({
              "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
              "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
              "literals": [null, true, false]
            })"),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

// RFC 8785 §3.2.3.
TEST(CanonicalJsonTest, SortsKeysByUtf16CodeUnits) {
  EXPECT_EQ(Canonical(R"({
              "\u20ac": "Euro Sign",
              "\r": "Carriage Return",
              "\ufb33": "Hebrew Letter Dalet With Dagesh",
              "1": "One",
              "\ud83d\ude00": "Emoji: Grinning Face",
              "\u0080": "Control",
              "\u00f6": "Latin Small Letter O With Diaeresis"
            })"),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\","
            "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\","
            "\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJsonTest, APrefixSortsBeforeALongerKey) {
  EXPECT_EQ(Canonical(R"({"ab":1,"a":2,"":3,"b":4,"B":5})"), R"({"":3,"B":5,"a":2,"ab":1,"b":4})");
}

TEST(CanonicalJsonTest, SortsAtEveryDepth) {
  EXPECT_EQ(Canonical(R"([{"b":{"d":1,"c":[{"z":1,"y":2}]},"a":0}])"),
            R"([{"a":0,"b":{"c":[{"y":2,"z":1}],"d":1}}])");
}

TEST(CanonicalJsonTest, AcceptsScalarsAndSurroundingSpace) {
  EXPECT_EQ(Canonical(" null \n"), "null");
  EXPECT_EQ(Canonical("null "), "null");
  EXPECT_EQ(Canonical("true"), "true");
  EXPECT_EQ(Canonical("\t-0.0 "), "0");
  EXPECT_EQ(Canonical(" \"a\" "), "\"a\"");
  EXPECT_EQ(Canonical(" [ ] "), "[]");
  EXPECT_EQ(Canonical(" { } "), "{}");
}

TEST(CanonicalJsonTest, EveryNumberIsADouble) {
  EXPECT_EQ(Canonical("[-0,1.0,100e-2,10,9007199254740993]"), "[0,1,1,10,9007199254740992]");
  EXPECT_EQ(Canonical("[18446744073709551616,123456789012345678901]"),
            "[18446744073709552000,123456789012345680000]");
  EXPECT_EQ(Canonical("[1e-400]"), "[0]");
  EXPECT_EQ(Canonical("[1e400]"), "refused");
}

TEST(CanonicalJsonTest, RefusesRepeatedKeysInEverySpelling) {
  EXPECT_EQ(Canonical(R"({"a":1,"b":2,"a":1})"), "refused");
  EXPECT_EQ(Canonical(R"({"a":1,"\u0061":2})"), "refused");
  EXPECT_EQ(Canonical(R"([{"x":{"a":1,"a":2}}])"), "refused");
  EXPECT_EQ(Canonical(R"([{"a":1},{"a":2}])"), R"([{"a":1},{"a":2}])");
}

TEST(CanonicalJsonTest, RefusesInvalidJson) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[1",
                                      "[1,]",
                                      "[1 2]",
                                      "[1}",
                                      "{\"a\":1]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{a:1}",
                                      "{\"a\":1,}",
                                      "{\"a\":1 \"b\":2}",
                                      "{1:2}",
                                      "[,1]",
                                      "[1] x",
                                      "5 5",
                                      "null x",
                                      "nulll",
                                      "nul",
                                      "[tru]",
                                      "[01]",
                                      "[1.]",
                                      "[.5]",
                                      "[+1]",
                                      "[-]",
                                      "[NaN]",
                                      "'a'",
                                      "\"a",
                                      "\"a\nb\"",
                                      "\"\\x\"",
                                      "\"\\ud800\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\xff\"",
                                      "\"\xed\xa0\x80\"",
                                      "{} {}",
                                      "\xef\xbb\xbf{}"}) {
    EXPECT_EQ(Canonical(text), "refused") << text;
  }
}

TEST(CanonicalJsonTest, RefusesNestingDeeperThan256) {
  EXPECT_EQ(Canonical(Nested(256)), Nested(256));
  EXPECT_EQ(Canonical(Nested(257)), "refused");
  EXPECT_EQ(Canonical(Nested(100'000)), "refused");
  std::string objects;
  for (int i = 0; i < 255; ++i) objects += "{\"a\":";
  EXPECT_NE(Canonical(objects + "{}" + std::string(255, '}')), "refused");
  EXPECT_EQ(Canonical(objects + "{\"a\":{}}" + std::string(255, '}')), "refused");
}

RC_GTEST_PROP(CanonicalJsonTest, TheOrderOfMembersDoesNotMatter,
              (const std::vector<std::int32_t>& values)) {
  std::vector<std::string> members;
  for (std::size_t i = 0; i < values.size(); ++i) {
    members.push_back(JsonQuote("k" + std::to_string(i)) + " : " + std::to_string(values[i]));
  }
  const auto joined = [&members] {
    std::string text = "{";
    for (const std::string& member : members) text += (text.size() > 1 ? "," : "") + member;
    return text + "}";
  };
  const std::string forwards = Canonical(joined());
  std::ranges::reverse(members);
  RC_ASSERT(Canonical(joined()) == forwards);
  RC_ASSERT(Canonical(forwards) == forwards);
}

RC_GTEST_PROP(CanonicalJsonTest, CanonicalTextIsAFixedPoint, ()) {
  std::string text = R"({"a":[1,-2.5e3,true,null,"x\u00e9"],"b":{"":{}},"A":"\n"})";
  for (int i = *rc::gen::inRange(0, 3); i > 0 && !text.empty(); --i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = *rc::gen::elementOf(std::string("{}[]\",:\\ 0123e.-u"));
  }
  const std::string canonical = Canonical(text);
  if (canonical != "refused") RC_ASSERT(Canonical(canonical) == canonical);
}

}  // namespace
}  // namespace everstep
