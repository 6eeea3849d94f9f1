#include "base/value.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_count.h"

namespace everstep {
namespace {

Value Json(std::string_view json) {
  const auto value = ValueFromJson(json);
  EXPECT_TRUE(value) << json;
  return value ? *value : Value();
}

rc::Gen<std::string> SomeText() {
  return rc::gen::map(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4)),
                      [](const std::vector<int>& picks) {
                        static const std::vector<std::string> kParts = {"a", "\n\"\\", "é", "😀"};
                        std::string text;
                        for (const int pick : picks) text += kParts[static_cast<std::size_t>(pick)];
                        return text;
                      });
}

Value SomeValue(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0:
      return Value::Null();
    case 1:
      return Value::Bool(*rc::gen::arbitrary<bool>());
    case 2:
      return Value::Int(*rc::gen::arbitrary<std::int64_t>());
    case 3: {
      const double number = *rc::gen::arbitrary<double>();
      return Value::Double(std::isfinite(number) ? number : 0.5);
    }
    case 4:
      return Value::Text(*SomeText());
    case 5: {
      ValueList items;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) items.push_back(SomeValue(depth - 1));
      return Value::List(std::move(items));
    }
    default: {
      ValueMap members;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
        members.emplace_back(*SomeText() + std::to_string(i), SomeValue(depth - 1));
      }
      return Value::Map(std::move(members));
    }
  }
}

RC_GTEST_PROP(ValueTest, IsReadBackFromItsJson, ()) {
  const Value value = SomeValue(4);
  const std::string json = ToJson(value);
  const auto again = ValueFromJson(json);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == value);
  RC_ASSERT(ToJson(*again) == json);
}

RC_GTEST_PROP(ValueTest, TheSizeEstimateIsWithinAFactorOfSix, ()) {
  const Value value = SomeValue(4);
  const std::size_t bytes = ToJson(value).size();
  RC_ASSERT(FitsJson(value, 6 * bytes));
  RC_ASSERT(!FitsJson(value, (bytes - 1) / 8));
}

TEST(ValueTest, ReadsJson) {
  EXPECT_EQ(Json("9223372036854775807").int_value(), INT64_MAX);
  EXPECT_EQ(Json("9223372036854775808").kind(), Value::Kind::kDouble);
  EXPECT_EQ(Json("123456789012345678901234567890").number(), 123456789012345678901234567890.0);
  EXPECT_EQ(Json("1.0").kind(), Value::Kind::kDouble);
  EXPECT_EQ(Json(" null\n").kind(), Value::Kind::kNull);
  EXPECT_EQ(ToJson(Json(R"({"b": [1, {"a": "\u00e9"}], "a": false})")),
            R"({"b":[1,{"a":"é"}],"a":false})");
}

TEST(ValueTest, ALargeDoubleIsReadBackAsTheSameNumber) {
  const Value value = Value::Double(124'311'123'456'789'024.0);
  EXPECT_EQ(ToJson(value), "124311123456789024");
  EXPECT_EQ(Json(ToJson(value)), value);
  EXPECT_EQ(ToJson(Value::Double(9'223'372'036'854'775'808.0)), "9223372036854776000");
}

TEST(ValueTest, RejectsInvalidJson) {
  for (const std::string_view json :
       {"", " ", "{", "[1,]", "[1 2]", "nul", "1 2", "'a'", "1e999", R"({"a":1,"a":2})", "\"\xff\"",
        "[1]]", "{\"a\"}", "01", "+1", "tru", "[nan]"}) {
    const auto value = ValueFromJson(json);
    ASSERT_FALSE(value) << json;
    EXPECT_EQ(value.error().code, ErrorCode::kInvalidJson);
  }
}

TEST(ValueTest, FindsARepeatedKeyInALargeMapToo) {
  std::string json = "{";
  for (int i = 0; i < 100; ++i) json += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_TRUE(ValueFromJson(json + "\"k100\":1}"));
  EXPECT_FALSE(ValueFromJson(json + "\"k50\":1}"));
}

TEST(ValueJsonTest, ErrorsHaveAPointer) {
  const auto pointer = [](std::string_view json) {
    const auto value = ValueFromJson(json);
    EXPECT_FALSE(value) << json;
    return value || value.error().faults.empty() ? "" : value.error().faults[0].pointer;
  };
  EXPECT_EQ(pointer(R"({"a":1,"b":2,"a":3})"), "/a");
  EXPECT_EQ(pointer(R"({"x":[0,{"p/q":1,"p/q":2}]})"), "/x/1/p~1q");
  EXPECT_EQ(pointer(R"({"x":[0,tru]})"), "/x/1");
  EXPECT_EQ(pointer("[1,2"), "");
  const std::string key(1'000, 'k');
  EXPECT_EQ(pointer("{\"" + key + "\":tru}"), "/" + key.substr(0, 64));
}

TEST(ValueTest, ReadsSixtyFourLevels) {
  const std::string open(64, '[');
  const std::string close(64, ']');
  EXPECT_TRUE(ValueFromJson(open + close));
  EXPECT_FALSE(ValueFromJson("[" + open + close + "]"));
}

TEST(ValueTest, ComparesDeeplyAndInAnyOrderOfMembers) {
  EXPECT_EQ(Value::Int(1), Value::Double(1.0));
  EXPECT_FALSE(Value::Int(9007199254740993) == Value::Double(9007199254740992.0));
  EXPECT_FALSE(Value::Int(INT64_MAX) == Value::Double(9223372036854775808.0));
  EXPECT_FALSE(Value::Int(1) == Value::Bool(true));
  EXPECT_FALSE(Value() == Value::Null());
  EXPECT_EQ(Json(R"({"a": 1, "b": [2]})"), Json(R"({"b": [2.0], "a": 1})"));
  EXPECT_FALSE(Json(R"({"a": 1, "b": 1})") == Json(R"({"a": 1, "c": 1})"));
  ValueMap forward;
  ValueMap backward;
  for (int i = 0; i < 40; ++i) {
    forward.emplace_back(std::to_string(i), Value::Int(i));
    backward.emplace_back(std::to_string(39 - i), Value::Int(39 - i));
  }
  EXPECT_EQ(Value::Map(forward), Value::Map(backward));
  backward.front().second = Value::Int(-1);
  EXPECT_FALSE(Value::Map(forward) == Value::Map(backward));
}

TEST(ValueTest, MissingMembersAndItemsAreUndefined) {
  const Value value = Json(R"({"a": [1, 2], "t": "é"})");
  EXPECT_EQ(value.Get("a").At(-1).int_value(), 2);
  EXPECT_TRUE(value.Get("b").undefined());
  EXPECT_TRUE(value.Get("b").Get("c").At(0).undefined());
  EXPECT_TRUE(value.Get("a").At(2).undefined());
  EXPECT_TRUE(value.Get("a").At(INT64_MIN).undefined());
  EXPECT_TRUE(value.At(0).undefined());
  EXPECT_EQ(value.Get("t").At(0).text(), "é");
  EXPECT_TRUE(value.Get("t").At(1).undefined());
}

class Squares final : public Lookup {
 public:
  Value Get(std::string_view key) const override {
    return key == "two" ? Value::Int(4) : key == "three" ? Value::Int(9) : Value();
  }
  ValueMap Members() const override { return {{"two", Get("two")}, {"three", Get("three")}}; }
};

TEST(ValueTest, ALookupIsAMap) {
  const Value value = Value::Map(std::make_shared<Squares>());
  EXPECT_EQ(value.kind(), Value::Kind::kMap);
  EXPECT_EQ(value.Get("three").int_value(), 9);
  EXPECT_TRUE(value.Get("four").undefined());
  EXPECT_EQ(ToJson(value), R"({"two":4,"three":9})");
  EXPECT_EQ(value, Json(R"({"three": 9, "two": 4})"));
  EXPECT_TRUE(IsTrue(value));
}

TEST(ValueTest, ToTextKeepsTextAndWritesTheRestAsJson) {
  EXPECT_EQ(ToText(Value()), "");
  EXPECT_EQ(ToText(Value::Text("a\"b")), "a\"b");
  EXPECT_EQ(ToText(Json("[1,\"a\"]")), "[1,\"a\"]");
  EXPECT_EQ(ToText(Value::Null()), "null");
  EXPECT_EQ(ToJson(Value::List({Value()})), "[null]");
}

TEST(ValueTest, IsTrueReturnsFalseForEachFalseValue) {
  for (const std::string_view json :
       {"null", "false", "0", "0.0", "-0.0", "[]", "{}", R"("")", R"(" ")", R"("False")", R"("0")",
        R"(" NO\n")", R"("none")", R"("Null")", R"("off")", R"("{}")", R"("[]")"}) {
    EXPECT_FALSE(IsTrue(Json(json))) << json;
  }
  for (const std::string_view json :
       {"true", "1", "-0.5", "[0]", R"({"a":null})", R"("x")", R"("00")", R"("noo")", R"("{ }")"}) {
    EXPECT_TRUE(IsTrue(Json(json))) << json;
  }
  EXPECT_FALSE(IsTrue(Value()));
}

TEST(ValueTest, SharedPartsAreCountedEachTime) {
  Value value = Value::Text("0123456789");
  for (int i = 0; i < 60; ++i) value = Value::List({value, value});
  EXPECT_FALSE(FitsJson(value, 1 << 20));
}

TEST(ValueTest, ValuesAreBounded) {
  std::string list = "[1";
  for (std::size_t i = 2; i < kContentValuesMax; ++i) list += ",1";
  EXPECT_TRUE(ValueFromJson(list + "]"));
  const auto many = ValueFromJson(list + ",1]");
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message.find("more than 1,000,000 values"), std::string::npos);
}

}  // namespace
}  // namespace everstep
