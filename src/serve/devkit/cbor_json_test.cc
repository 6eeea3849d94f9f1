#include "serve/devkit/cbor_json.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

std::string Without(std::string_view json, std::string_view member) {
  std::string bytes;
  CborWriter cbor(bytes);
  WriteCborWithout(json, member, cbor);
  const auto parsed = ParseCbor(bytes);
  EXPECT_TRUE(parsed);
  std::string text;
  JsonWriter writer(text);
  EXPECT_TRUE(WriteJson(*parsed, writer));
  return text;
}

TEST(CborJson, AMemberIsLeftOut) {
  EXPECT_EQ(Without(R"({"a":1,"input":[{"input":2}],"b":{"input":3}})", "input"),
            R"({"a":1,"b":{"input":3}})");
  EXPECT_EQ(Without(R"( { "in\u0070ut" : "x\"}" , "b" : [] } )", "input"), R"({"b":[]})");
  EXPECT_EQ(Without(R"({"input":{"__type":"Uint8Array","data":"AAE="}})", "input"), "{}");
  EXPECT_EQ(Without("{}", "input"), "{}");
  EXPECT_EQ(Without(R"({"a":1})", "input"), R"({"a":1})");
}

}  // namespace
}  // namespace everstep
