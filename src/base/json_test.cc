#include "base/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/json_number.h"

namespace everstep {
namespace {

std::string NumberText(double value) {
  std::string text;
  AppendJsonNumber(value, text);
  return text;
}

TEST(JsonWriterTest, PutsCommasWhereTheyBelong) {
  std::string out = "before ";
  JsonWriter json(out);
  json.BeginObject();
  json.Member("text", "a\"b");
  json.Member("view", std::string_view("v"));
  json.Member("yes", true);
  json.Member("count", std::uint64_t{18'446'744'073'709'551'615ULL});
  json.RawMember("raw", R"({"x": [1, 2]})");
  json.Key("list");
  json.BeginArray();
  json.Int(-9'223'372'036'854'775'807);
  json.Double(0.5);
  json.Bool(false);
  json.Null();
  json.BeginArray();
  json.EndArray();
  json.BeginObject();
  json.EndObject();
  json.String("");
  json.EndArray();
  json.Key("last");
  json.Uint(0);
  json.EndObject();
  EXPECT_EQ(
      out,
      R"(before {"text":"a\"b","view":"v","yes":true,"count":18446744073709551615,)"
      R"("raw":{"x": [1, 2]},"list":[-9223372036854775807,0.5,false,null,[],{},""],"last":0})");
}

TEST(JsonQuoteTest, EscapesWhatItMustAndNothingElse) {
  EXPECT_EQ(JsonQuote(""), "\"\"");
  EXPECT_EQ(JsonQuote("plain / text"), "\"plain / text\"");
  EXPECT_EQ(JsonQuote("\b\t\n\f\r\"\\"), R"("\b\t\n\f\r\"\\")");
  EXPECT_EQ(JsonQuote(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(JsonQuote("é 🚀"), "\"é 🚀\"");
}

RC_GTEST_PROP(JsonQuoteTest, AnyAsciiTextReadsBack, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  simdjson::dom::parser parser;
  RC_ASSERT(parser.parse(JsonQuote(text)).get_string().value() == text);
}

TEST(JsonNumberTest, IsWrittenAsInEcmaScript) {
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(-0.0), "0");
  EXPECT_EQ(NumberText(1), "1");
  EXPECT_EQ(NumberText(-1.5), "-1.5");
  EXPECT_EQ(NumberText(100), "100");
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(0.000001), "0.000001");
  EXPECT_EQ(NumberText(0.0000001), "1e-7");
  EXPECT_EQ(NumberText(1.5e-7), "1.5e-7");
  EXPECT_EQ(NumberText(123456789012345680000.0), "123456789012345680000");
  EXPECT_EQ(NumberText(1e21), "1e+21");
  EXPECT_EQ(NumberText(-1.25e300), "-1.25e+300");
}

// RFC 8785, appendix B.
TEST(JsonNumberTest, GivesTheAnswersOfRfc8785) {
  const auto of_bits = [](std::uint64_t bits) { return NumberText(std::bit_cast<double>(bits)); };
  EXPECT_EQ(of_bits(0x0000000000000000), "0");
  EXPECT_EQ(of_bits(0x8000000000000000), "0");
  EXPECT_EQ(of_bits(0x0000000000000001), "5e-324");
  EXPECT_EQ(of_bits(0x8000000000000001), "-5e-324");
  EXPECT_EQ(of_bits(0x7fefffffffffffff), "1.7976931348623157e+308");
  EXPECT_EQ(of_bits(0xffefffffffffffff), "-1.7976931348623157e+308");
  EXPECT_EQ(of_bits(0x4340000000000000), "9007199254740992");
  EXPECT_EQ(of_bits(0xc340000000000000), "-9007199254740992");
  EXPECT_EQ(of_bits(0x4430000000000000), "295147905179352830000");
  EXPECT_EQ(of_bits(0x44b52d02c7e14af5), "9.999999999999997e+22");
  EXPECT_EQ(of_bits(0x44b52d02c7e14af6), "1e+23");
  EXPECT_EQ(of_bits(0x44b52d02c7e14af7), "1.0000000000000001e+23");
  EXPECT_EQ(of_bits(0x444b1ae4d6e2ef4e), "999999999999999700000");
  EXPECT_EQ(of_bits(0x444b1ae4d6e2ef4f), "999999999999999900000");
  EXPECT_EQ(of_bits(0x444b1ae4d6e2ef50), "1e+21");
  EXPECT_EQ(of_bits(0x3eb0c6f7a0b5ed8c), "9.999999999999997e-7");
  EXPECT_EQ(of_bits(0x3eb0c6f7a0b5ed8d), "0.000001");
  EXPECT_EQ(of_bits(0x41b3de4355555553), "333333333.3333332");
  EXPECT_EQ(of_bits(0x41b3de4355555554), "333333333.33333325");
  EXPECT_EQ(of_bits(0x41b3de4355555555), "333333333.3333333");
  EXPECT_EQ(of_bits(0x41b3de4355555556), "333333333.3333334");
  EXPECT_EQ(of_bits(0x41b3de4355555557), "333333333.33333343");
  EXPECT_EQ(of_bits(0xbecbf647612f3696), "-0.0000033333333333333333");
  EXPECT_EQ(of_bits(0x43143ff3c1cb0959), "1424953923781206.2");
}

RC_GTEST_PROP(JsonNumberTest, EveryFiniteNumberReadsBack, (std::uint64_t seed)) {
  // Spread over all exponents.
  const auto value = std::bit_cast<double>(seed * 0x9e3779b97f4a7c15ULL);
  RC_PRE(std::isfinite(value));
  RC_ASSERT(std::strtod(NumberText(value).c_str(), nullptr) == value);
}

TEST(RawMemberTest, ReturnsTheUnmodifiedText) {
  const std::string_view object = R"( { "a" : 1.50 , "b":"x\"},{" ,"c": [ 1, {"a": 2}, "]" ] ,)"
                                  R"("d":{"e":{}} , "n":null,"t":true } )";
  EXPECT_EQ(RawMember(object, "a"), "1.50");
  EXPECT_EQ(RawMember(object, "b"), R"("x\"},{")");
  EXPECT_EQ(RawMember(object, "c"), R"([ 1, {"a": 2}, "]" ])");
  EXPECT_EQ(RawMember(object, "d"), R"({"e":{}})");
  EXPECT_EQ(RawMember(object, "n"), "null");
  EXPECT_EQ(RawMember(object, "t"), "true");
}

TEST(RawMemberTest, SearchesTheOuterObjectOnly) {
  EXPECT_EQ(RawMember(R"({"outer":{"inner":1}})", "inner"), std::nullopt);
  EXPECT_EQ(RawMember(R"({"outer":"inner"})", "inner"), std::nullopt);
  EXPECT_EQ(RawMember("{}", "a"), std::nullopt);
  EXPECT_EQ(RawMember(" { } ", "a"), std::nullopt);
  EXPECT_EQ(RawMember(R"(["a",1])", "a"), std::nullopt);
}

TEST(RawMemberTest, FindsEscapedKeys) {
  EXPECT_EQ(RawMember(R"({"p\u0061yload":7})", "payload"), "7");
  EXPECT_EQ(RawMember(R"({"a\"b":1,"b":2})", "b"), "2");
  EXPECT_EQ(RawMember(R"({"payload\\":1})", "payload"), std::nullopt);
  EXPECT_EQ(RawMember(R"({"größe":1})", "größe"), "1");
}

RC_GTEST_PROP(RawMemberTest, NeverReadsPastTheText, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("{}[]\",:\\ a1")));
  const auto found = RawMember("{" + text, "a");
  // In parentheses, because RC_ASSERT decomposes the expression and would evaluate both sides.
  RC_ASSERT((!found || found->size() <= text.size()));
}

}  // namespace
}  // namespace everstep
