#include "flow/document.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json.h"

namespace everstep {
namespace {

constexpr std::size_t kBytesMax = 1 << 20;

std::string JsonOf(std::string_view text) {
  const auto document = ParseDocument(text, kBytesMax);
  if (!document) return ToString(document.error());
  return ToJson(document->root);
}

Fault FaultOf(std::string_view text) {
  const auto document = ParseDocument(text, kBytesMax);
  if (!document) return document.error().faults.at(0);
  return document->faults.empty() ? Fault{} : document->faults[0];
}

TEST(DocumentTest, YamlAndJsonGiveTheSameTree) {
  EXPECT_EQ(JsonOf("a: 1\nb: [x, 2.5, null]\nc: {d: true}\n"),
            R"({"a":1,"b":["x",2.5,null],"c":{"d":true}})");
  EXPECT_EQ(JsonOf(R"( {"a":1,"b":["x",2.5,null],"c":{"d":true}} )"),
            R"({"a":1,"b":["x",2.5,null],"c":{"d":true}})");
}

TEST(DocumentTest, YamlScalarsFollowTheCoreSchema) {
  EXPECT_EQ(JsonOf("[x]\n"),
            "INVALID_PLAN: the document cannot be read\n"
            "  1:2 (document): not a JSON value; put text in double quotes");
  EXPECT_EQ(JsonOf("- no\n- yes\n- on\n- n\n- 012\n- 1_000\n- 0x1F\n- 0o17\n- ~\n- 1e3\n- .5\n- "
                   "'1'\n- 2026-01-01\n- 1:30\n- True\n- !!str 5\n- +7\n-\n"),
            R"(["no","yes","on","n",12,"1_000",31,15,null,1000,0.5,"1","2026-01-01","1:30",true,)"
            R"("5",7,null])");
}

TEST(DocumentTest, PositionsCountFromOneInCharacters) {
  const auto yaml = ParseDocument("a:\n  - é: x\n    b: 2\n", kBytesMax);
  ASSERT_TRUE(yaml);
  const Node& item = yaml->root.children()[0].children()[0];
  EXPECT_EQ(item.line, 2U);
  EXPECT_EQ(item.column, 5U);
  EXPECT_EQ(item.children()[0].column, 8U);
  EXPECT_EQ(item.children()[1].key_line, 3U);

  const auto json = ParseDocument("{\n \"é\": \"ü\", \"b\": 2}", kBytesMax);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->root.children()[1].key_line, 2U);
  EXPECT_EQ(json->root.children()[1].key_column, 12U);
  EXPECT_EQ(json->root.children()[1].column, 17U);
}

TEST(DocumentTest, ARepeatedKeyIsReportedWithBothPositions) {
  for (const std::string_view text : {"a: 1\nb: 2\na: 3\n", "{\"a\": 1,\n\"b\": 2,\n\"a\": 3}"}) {
    const Fault fault = FaultOf(text);
    EXPECT_EQ(fault.line, 3U) << text;
    EXPECT_EQ(fault.column, 1U) << text;
    EXPECT_NE(fault.message.find("the first is at line 1"), std::string::npos) << fault.message;
  }
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i % 99) + "\": 1,\n";
  many.replace(many.size() - 2, 2, "}");
  EXPECT_EQ(FaultOf(many).line, 100U);
}

TEST(DocumentTest, JsonIsReadStrictly) {
  for (const std::string_view text :
       {"{",        "{\"a\"}",   "{\"a\":1,}",    "[1,]",          "[1 2]",
        "{a:1}",    "[01]",      "[1.]",          "[.5]",          "[+1]",
        "[\"\t\"]", "[\"\\x\"]", "[\"\\ud800\"]", "[\"\\udc00\"]", "[\"\\u12\"]",
        "[\"a]",    "[nul]",     "[1] 2",         "[NaN]",         "[9223372036854775808]",
        "[1e999]",  "['a']",     "[\"\xff\"]"}) {
    EXPECT_FALSE(ParseDocument(text, kBytesMax)) << text;
  }
  EXPECT_EQ(JsonOf(R"(["\u00e9\ud83d\ude00\n\/", -0, 1E2])"), "[\"é😀\\n/\",0,100]");
}

TEST(DocumentTest, UnsupportedYamlIsRejected) {
  EXPECT_EQ(FaultOf("a: 1\n---\nb: 2\n").line, 2U);
  EXPECT_EQ(FaultOf("a: *x\n").message, "*x refers to no value; &x must come before it");
  EXPECT_NE(FaultOf("a: &x {b: 1}\nc:\n  <<: *x\n").message.find("merge key"), std::string::npos);
  EXPECT_NE(FaultOf("a: !!binary aGk=\n").message.find("tag"), std::string::npos);
  EXPECT_NE(FaultOf("a: .inf\n").message.find("finite"), std::string::npos);
  EXPECT_NE(FaultOf("? [a]\n: 1\n").message.find("key"), std::string::npos);
  EXPECT_EQ(FaultOf("a: b\n  c: [\n").line, 2U);
  EXPECT_NE(FaultOf("").message.find("empty"), std::string::npos);
  EXPECT_NE(FaultOf("# nothing\n").message.find("empty"), std::string::npos);
}

TEST(DocumentTest, AliasesStandForTheirValue) {
  EXPECT_EQ(JsonOf("a: &x {b: [1]}\nc: *x\n"), R"({"a":{"b":[1]},"c":{"b":[1]}})");
  EXPECT_FALSE(ParseDocument("a: &x [*x]\n", kBytesMax)) << "a value cannot contain itself";
}

TEST(DocumentTest, AliasesCannotMakeALargeDocument) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_NE(FaultOf(bomb).message.find("aliases"), std::string::npos);
  std::string nested;
  for (int i = 0; i < 60; ++i) nested += "&n" + std::to_string(i) + " [";
  nested = "a: " + nested + "1" + std::string(60, ']') + "\nb: [[[[[[*n0]]]]]]\n";
  EXPECT_NE(FaultOf(nested).message.find("deeper"), std::string::npos);
}

TEST(DocumentTest, AliasesAreChargedByTheSizeOfTheirValue) {
  const std::string large = "a: &a " + std::string(100'000, 'x') + "\nb:\n";
  std::string text = large;
  for (int i = 0; i < 41; ++i) text += "- *a\n";
  EXPECT_TRUE(ParseDocument(text, kBytesMax)) << "41 copies are less than 4 MiB";
  text += "- *a\n";
  const Fault fault = FaultOf(text);
  EXPECT_NE(fault.message.find("aliases"), std::string::npos) << fault.message;
  EXPECT_EQ(fault.line, 44U) << "the first alias over the limit";
  EXPECT_EQ(fault.column, 3U);
  std::string keys = "a: &a {" + std::string(1'000, 'k') + ": 1}\nb:\n";
  for (int i = 0; i < 5'000; ++i) keys += "- *a\n";
  EXPECT_NE(FaultOf(keys).message.find("aliases"), std::string::npos) << "keys are copied too";
}

TEST(DocumentTest, AnchorsAndValuesAreBounded) {
  std::string anchors = "a:\n";
  for (int i = 0; i < 10'001; ++i) anchors += "- &n" + std::to_string(i) + " x\n";
  EXPECT_EQ(FaultOf(anchors).line, 10'002U);
  EXPECT_NE(FaultOf(anchors).message.find("anchors"), std::string::npos);
  std::string values = "[1";
  for (std::size_t i = 0; i < kDocumentNodesMax; ++i) values += ",1";
  for (const std::string& text : {values + "]", "a: " + values + "]"}) {
    const auto document = ParseDocument(text, 8 << 20);
    ASSERT_FALSE(document);
    EXPECT_NE(document.error().faults[0].message.find("more than 1000000 values"),
              std::string::npos);
  }
  std::string repeated = "{\"k\":1";
  for (int i = 0; i < 1'000; ++i) repeated += ",\"k\":1";
  EXPECT_EQ(ParseDocument(repeated + "}", kBytesMax)->faults.size(), 100U);
}

TEST(DocumentTest, DepthAndSizeAreBounded) {
  const auto nested = [](std::size_t depth, std::string_view before) {
    return std::string(before) + std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ParseDocument(nested(64, ""), kBytesMax));
  EXPECT_FALSE(ParseDocument(nested(65, ""), kBytesMax));
  EXPECT_TRUE(ParseDocument(nested(63, "a: "), kBytesMax));
  EXPECT_FALSE(ParseDocument(nested(64, "a: "), kBytesMax));
  EXPECT_FALSE(ParseDocument(nested(100'000, ""), kBytesMax));
  EXPECT_FALSE(ParseDocument(nested(100'000, "a: "), kBytesMax));
  EXPECT_FALSE(ParseDocument("{}   ", 4));
}

TEST(DocumentTest, PositionsInsideTextsAreFound) {
  const auto at = [](std::string_view source, std::string_view needle) {
    const auto document = ParseDocument(source, kBytesMax);
    const Node& node = document->root.children()[0];
    const Position place = Locate(source, node, node.text().find(needle));
    return std::pair(place.line, place.column);
  };
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(at("a: hello {{ x }}", "x"), Pair(1, 13));
  EXPECT_EQ(at("a: \"é {{ x }}\"", "x"), Pair(1, 10));
  EXPECT_EQ(at("{\"a\": \"\\\"q\\\" {{ y }} {{ \\\"s\\\" + x }}\"}", "x"), Pair(1, 33));
  EXPECT_EQ(at("a: |\n  one\n  two {{ x }}\n", "x"), Pair(3, 10));
  EXPECT_EQ(at("a: >\n  one\n  two {{ y }} and\n  {{ x }}\n", "x"), Pair(4, 6));
  EXPECT_EQ(at("a: &t 'it''s {{ x }}'", "x"), Pair(1, 17));
  EXPECT_EQ(at("a: steps.b > x", "x"), Pair(1, 14));
}

TEST(DocumentTest, PointersFindTheirNode) {
  const auto document = ParseDocument(R"({"a/b": [0, {"~": 7}]})", kBytesMax);
  ASSERT_TRUE(document);
  EXPECT_EQ(NodeAt(document->root, "/a~1b/1/~0").int_value(), 7);
  EXPECT_TRUE(NodeAt(document->root, "/a~1b/9").is_list()) << "the nearest existing ancestor";
  EXPECT_TRUE(NodeAt(document->root, "/none").is_map());
}

RC_GTEST_PROP(DocumentTest, WhatIsWrittenAsJsonIsReadBack, (const std::string& bytes)) {
  std::string text;
  for (const char c : bytes) text.push_back(static_cast<char>(c & 0x7f));
  const std::string json = "[" + JsonQuote(text) + "]";
  RC_ASSERT(JsonOf(json) == json);
}

RC_GTEST_PROP(DocumentTest, AnyBytesGiveADocumentOrAFaultInIt, (const std::string& bytes)) {
  for (const std::string& text : {bytes, "{" + bytes, "a: " + bytes, "- " + bytes}) {
    const auto document = ParseDocument(text, kBytesMax);
    if (document) continue;
    RC_ASSERT(document.error().code == ErrorCode::kInvalidPlan);
    RC_ASSERT(document.error().faults.size() == 1U);
  }
}

}  // namespace
}  // namespace everstep
