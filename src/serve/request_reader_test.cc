#include "serve/request_reader.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

using enum Presence;
constexpr auto kRefused = JsonRequest::Empty::kRefused;
constexpr std::string_view kColours[] = {"red", "green"};

// "pointer message (line:column)", one per line.
std::string FaultsOf(JsonRequest& request) {
  const Status read = request.Finish();
  if (read) return "";
  std::string text(Name(read.error().code));
  for (const Fault& fault : read.error().faults) {
    text += "\n" + fault.pointer + " " + fault.message + " (" + std::to_string(fault.line) + ":" +
            std::to_string(fault.column) + ")";
  }
  return text;
}

TEST(RequestReaderTest, ReadsMembersOfEveryKind) {
  JsonRequest request(
      R"({"id":"r1","n":7,"on":true,"wait":"1m30s","ms":250,"at":"2026-02-11T10:30:00Z",)"
      R"("colour":"green","tags":["a","b"],"any":[1, 2.50],"inputs":{ "x":1.0},"deep":{"y":"z"},)"
      R"("items":[{"k":1},{"k":2}]})",
      kRefused);
  ObjectReader root = request.root();
  EXPECT_EQ(root.Text("id", kRequired, kIdentifierText), "r1");
  EXPECT_EQ(root.Integer("n", kRequired, 1, 9), 7);
  EXPECT_EQ(root.Flag("on", kOptional), true);
  EXPECT_EQ(root.Duration("wait", kOptional), std::chrono::seconds(90));
  EXPECT_EQ(root.Duration("ms", kOptional), std::chrono::milliseconds(250));
  EXPECT_EQ(root.Time("at", kOptional), ParseTimestamp("2026-02-11T10:30:00Z"));
  EXPECT_EQ(root.Word("colour", kOptional, kColours), 1U);
  EXPECT_EQ(root.Texts("tags", kOptional, 2, kNameText), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(root.Json("any", kOptional), "[1, 2.50]");
  EXPECT_EQ(root.JsonObject("inputs", kOptional), "{ \"x\":1.0}");
  auto deep = root.Object("deep", kRequired);
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->Text("y", kRequired), "z");
  auto items = root.Objects("items", kRequired, 2);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].Integer("k", kRequired, 0, 9), 1);
  EXPECT_EQ(items[1].Integer("k", kRequired, 0, 9), 2);
  EXPECT_EQ(FaultsOf(request), "");
}

TEST(RequestReaderTest, WhatIsNotThereIsNothing) {
  JsonRequest request("{}", kRefused);
  ObjectReader root = request.root();
  EXPECT_EQ(root.Text("id", kOptional), std::nullopt);
  EXPECT_EQ(root.Json("x", kOptional), std::nullopt);
  EXPECT_FALSE(root.Object("y", kOptional));
  EXPECT_TRUE(root.Texts("z", kOptional, 9, kAnyText).empty());
  EXPECT_FALSE(root.Has("id"));
  EXPECT_EQ(FaultsOf(request), "");
}

TEST(RequestReaderTest, AllFaultsComeAtOnceWithTheirPlaces) {
  JsonRequest request("{\"id\":\"a|b\",\n \"n\":10,\n \"runID\":1, \"deep\":{\"y\":5,\"q/~\":0}}",
                      kRefused);
  ObjectReader root = request.root();
  root.Text("id", kRequired, kNameText);
  root.Integer("n", kRequired, 1, 9);
  root.Text("runId", kRequired);
  auto deep = root.Object("deep", kRequired);
  ASSERT_TRUE(deep);
  deep->Text("y", kRequired);
  EXPECT_EQ(FaultsOf(request),
            "SCHEMA_VALIDATION_FAILED\n"
            "/id must be a name of 1 to 256 characters without '|' and control characters (1:7)\n"
            "/n must be a whole number from 1 to 9 (2:6)\n"
            "/runId is required (1:1)\n"
            "/deep/y must be text, not a number (3:25)\n"
            "/runID there is no member 'runID' here; did you mean 'runId'? (3:2)\n"
            "/deep/q~1~0 there is no member 'q/~' here (3:27)");
}

TEST(RequestReaderTest, WrongKindsAreFaults) {
  JsonRequest request(
      R"({"a":null,"b":1.5,"c":"true","d":"soon","e":"tomorrow","f":"rd","g":"x","h":[1],)"
      R"("i":[],"j":[{},3]})",
      kRefused);
  ObjectReader root = request.root();
  EXPECT_FALSE(root.Text("a", kOptional));
  EXPECT_FALSE(root.Integer("b", kOptional, 0, 9));
  EXPECT_FALSE(root.Flag("c", kOptional));
  EXPECT_FALSE(root.Duration("d", kOptional));
  EXPECT_FALSE(root.Time("e", kOptional));
  EXPECT_FALSE(root.Word("f", kOptional, kColours));
  EXPECT_TRUE(root.Texts("g", kOptional, 9, kAnyText).empty());
  EXPECT_TRUE(root.Texts("h", kOptional, 9, kAnyText).empty());
  EXPECT_FALSE(root.JsonObject("i", kOptional));
  EXPECT_EQ(root.Objects("j", kOptional, 9).size(), 1U);
  const Status read = request.Finish();
  ASSERT_FALSE(read);
  std::vector<std::string> pointers;
  for (const Fault& fault : read.error().faults) pointers.push_back(fault.pointer);
  EXPECT_EQ(pointers, (std::vector<std::string>{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h/0",
                                                "/i", "/j/1"}));
  EXPECT_EQ(read.error().faults[5].message, "must be one of red, green; did you mean 'red'?");
}

TEST(RequestReaderTest, LimitsHold) {
  JsonRequest request(R"({"t":"abcd","l":["a","b","c"],"o":[{},{}]})", kRefused);
  ObjectReader root = request.root();
  EXPECT_FALSE(root.Text("t", kOptional, TextRule{3, nullptr, ""}));
  EXPECT_TRUE(root.Texts("l", kOptional, 2, kAnyText).empty());
  EXPECT_TRUE(root.Objects("o", kOptional, 1).empty());
  EXPECT_EQ(FaultsOf(request),
            "SCHEMA_VALIDATION_FAILED\n/t has 4 bytes; at most 3 are taken (1:6)\n"
            "/l has more than 2 items (1:17)\n/o has more than 1 items (1:35)");
}

TEST(RequestReaderTest, WhatIsNotJsonIsInvalidJson) {
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  for (const std::string& body :
       {std::string(""), std::string("  "), std::string("{"), std::string("{'a':1}"),
        std::string("a: 1"), std::string("{\"a\":1,}"), std::string("{\"a\":\"\xff\"}"),
        std::string("{\"a\":1}x"), std::string("{\"a\":01}"), "{\"a\":" + deep + "}"}) {
    JsonRequest request(body, kRefused);
    request.root().Json("a", kOptional);
    const Status read = request.Finish();
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidJson) << body;
    EXPECT_EQ(read.error().faults.size(), 1U) << body;
  }
}

TEST(RequestReaderTest, AKeyThatStandsTwiceIsInvalidJson) {
  JsonRequest request(R"({"a":1,"b":{"c":1,"c":2},"a":3})", kRefused);
  const Status read = request.Finish();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidJson);
  EXPECT_EQ(read.error().faults.size(), 2U);
}

TEST(RequestReaderTest, TheBodyMustBeAnObject) {
  JsonRequest request("[1]", kRefused);
  EXPECT_EQ(FaultsOf(request), "SCHEMA_VALIDATION_FAILED\n must be an object, not a list (1:1)");
}

TEST(RequestReaderTest, AnEmptyBodyMayStandForAnEmptyObject) {
  JsonRequest request("", JsonRequest::Empty::kIsObject);
  EXPECT_FALSE(request.root().Text("reason", kOptional));
  EXPECT_EQ(FaultsOf(request), "");
  JsonRequest needy("", JsonRequest::Empty::kIsObject);
  needy.root().Text("reason", kRequired);
  EXPECT_EQ(FaultsOf(needy), "SCHEMA_VALIDATION_FAILED\n/reason is required (0:0)");
}

TEST(RequestReaderTest, AValueUnderAnEscapedKeyIsFoundAllTheSame) {
  JsonRequest request(R"({"inp\u0075ts":{"x":1}})", kRefused);
  EXPECT_EQ(request.root().Json("inputs", kRequired), "{\"x\":1}");
  EXPECT_EQ(FaultsOf(request), "");
}

TEST(RequestReaderTest, AFloodOfFaultsIsBounded) {
  std::string body = "{";
  for (int i = 0; i < 5'000; ++i) body += "\"k" + std::to_string(i) + "\":0,";
  body.back() = '}';
  JsonRequest request(body, kRefused);
  const Status read = request.Finish();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().faults.size(), 100U);
}

TEST(RequestReaderTest, ACallerCanRefuseAMember) {
  JsonRequest request(R"({"a":1,"b":2})", kRefused);
  ObjectReader root = request.root();
  root.Integer("a", kOptional, 0, 9);
  root.Integer("b", kOptional, 0, 9);
  root.Refuse("b", "does not go with 'a'");
  EXPECT_EQ(FaultsOf(request), "SCHEMA_VALIDATION_FAILED\n/b does not go with 'a' (1:12)");
}

}  // namespace
}  // namespace everstep
