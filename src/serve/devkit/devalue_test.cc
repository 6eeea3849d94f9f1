#include "serve/devkit/devalue.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

std::string PayloadOf(std::string_view json) {
  const auto payload = DevaluePayload(*ValueFromJson(json));
  return payload ? *payload : std::string(Name(payload.error().code));
}

TEST(DevalueTest, PlainValuesAreSingleElements) {
  EXPECT_EQ(PayloadOf("null"), "devl[null]");
  EXPECT_EQ(PayloadOf("true"), "devl[true]");
  EXPECT_EQ(PayloadOf("1.5"), "devl[1.5]");
  EXPECT_EQ(PayloadOf(R"("a\"b\n")"), R"(devl["a\"b\n"])");
  EXPECT_EQ(*DevaluePayload(Value()), "devl-1");
}

TEST(DevalueTest, NestedValuesAreReferencedByIndex) {
  EXPECT_EQ(PayloadOf("[]"), "devl[[]]");
  EXPECT_EQ(PayloadOf("{}"), "devl[{}]");
  EXPECT_EQ(PayloadOf("[7,8]"), "devl[[1,2],7,8]");
  EXPECT_EQ(PayloadOf(R"({"ok":true,"who":{"names":["Ada"]}})"),
            R"(devl[{"ok":1,"who":2},true,{"names":3},[4],"Ada"])");
}

TEST(DevalueTest, RefusesMembersThatTheParserRefuses) {
  EXPECT_EQ(PayloadOf(R"({"a":[{"__proto__":1}]})"), "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace everstep
