#include <gtest/gtest.h>

#include <algorithm>

#include "flow/operations_done.h"
#include "flow/plan.h"
#include "testing/plan_text.h"

namespace everstep {
namespace {

std::string Declared(const std::string& inputs) {
  return "inputs:\n" + inputs + PlanOf("- {stepId: a}");
}

// Returns the inputs of a run as JSON, or the faults.
std::string Checked(const std::string& inputs, std::string_view given) {
  const auto plan = ReadWell(Declared(inputs));
  if (plan == nullptr) return "";
  const auto values = CheckInputs(*plan, given);
  if (values) return ToJson(*values);
  EXPECT_EQ(values.error().code, ErrorCode::kInvalidInput);
  std::string lines;
  for (const Fault& fault : values.error().faults)
    lines += fault.pointer + ": " + fault.message + "\n";
  return lines;
}

TEST(PlanInputsTest, DefaultsAreFilledInInTheOrderDeclared) {
  const std::string inputs = "  a: {type: string, default: x}\n  b: {}\n  c: {default: [1]}\n";
  EXPECT_EQ(Checked(inputs, ""), R"({"a":"x","c":[1]})");
  EXPECT_EQ(Checked(inputs, R"({"c": null, "b": 2})"), R"({"a":"x","b":2,"c":null})");
}

TEST(PlanInputsTest, AllFaultsAreReportedAtOnce) {
  const std::string inputs =
      "  who: {type: string, required: true, description: Whom to greet}\n"
      "  count: {type: integer, minimum: 1, maximum: 3}\n"
      "  mode: {enum: [fast, slow]}\n";
  EXPECT_EQ(Checked(inputs, R"({"count": 7, "mode": "fats", "whom": "Ada"})"),
            "/who: the input 'who' is missing: Whom to greet\n"
            "/count: must be at most 3\n"
            "/mode: must be one of [\"fast\",\"slow\"], not \"fats\"\n"
            "/whom: the plan has no input 'whom'; did you mean 'who'?\n");
}

TEST(PlanInputsTest, TypesAreChecked) {
  const std::pair<const char*, const char*> good[] = {
      {"string", "\"a\""}, {"integer", "-5"},   {"integer", "2.0"}, {"number", "1.5"},
      {"number", "1"},     {"boolean", "true"}, {"array", "[]"},    {"object", "{}"}};
  for (const auto& [type, value] : good) {
    const std::string checked =
        Checked("  x: {type: " + std::string(type) + "}\n", "{\"x\": " + std::string(value) + "}");
    EXPECT_TRUE(checked.starts_with("{")) << type << " " << value << " " << checked;
  }
  EXPECT_EQ(Checked("  x: {type: integer}\n", "{\"x\": 2.0}"), "{\"x\":2}");
  const std::pair<const char*, const char*> bad[] = {
      {"string", "1"},     {"integer", "1.5"}, {"integer", "\"1\""},
      {"number", "\"1\""}, {"boolean", "0"},   {"array", "{}"},
      {"object", "[]"},    {"string", "null"}, {"integer", "1e300"}};
  for (const auto& [type, value] : bad) {
    EXPECT_TRUE(
        Checked("  x: {type: " + std::string(type) + "}\n", "{\"x\": " + std::string(value) + "}")
            .starts_with("/x: must be of type"))
        << type << " " << value;
  }
}

TEST(PlanInputsTest, LengthsPatternsAndItemsAreChecked) {
  EXPECT_EQ(Checked("  x: {minLength: 2, maxLength: 3}\n", "{\"x\": \"é\"}"),
            "/x: must have at least 2 characters\n");
  EXPECT_EQ(Checked("  x: {minLength: 2, maxLength: 3}\n", "{\"x\": \"éééé\"}"),
            "/x: must have at most 3 characters\n");
  EXPECT_EQ(Checked("  x: {pattern: '^[a-z]+$'}\n", "{\"x\": \"a1\"}"),
            "/x: must match the pattern ^[a-z]+$\n");
  EXPECT_EQ(Checked("  x: {items: {type: integer}, maxItems: 2}\n", "{\"x\": [1, \"a\", 3]}"),
            "/x: must have at most 2 items\n/x/1: must be of type integer, not \"a\"\n");
}

// Compiled, about the largest pattern that is accepted.
std::string LargePattern() {
  std::string pattern = "(";
  for (int i = 0; i < 15; ++i) pattern += "[a-a]?";
  return pattern + "){150}b";
}

std::string ListOf(int count, const std::string& item) {
  std::string list = "[" + item;
  for (int i = 1; i < count; ++i) list += "," + item;
  return list + "]";
}

TEST(PlanInputsTest, ACheckThatTakesTooLongIsGivenUp) {
  const std::string text = "\"" + std::string(30'000, 'a') + "\"";
  const std::string pattern = "pattern: '" + LargePattern() + "'";
  std::string allowed = ListOf(1'000, "1");
  allowed.back() = ',';
  allowed += "2]";
  const std::pair<std::string, std::string> cases[] = {
      {"  x: {" + pattern + "}\n", text},
      {"  x: {items: {" + pattern + "}}\n", ListOf(10'000, "\"aab\"")},
      {"  x: {items: {enum: " + allowed + "}}\n", ListOf(10'000, "2")},
  };
  for (const auto& [inputs, value] : cases) {
    const std::uint64_t before = OperationsDone();
    const std::string faults = Checked(inputs, "{\"x\": " + value + ", \"y\": 1}");
    EXPECT_NE(faults.find("more work than the limit"), std::string::npos) << faults;
    EXPECT_NE(faults.find("/y: the plan has no input 'y'"), std::string::npos) << faults;
    EXPECT_GE(OperationsDone() - before, 1'000'000u);
  }
}

TEST(PlanInputsTest, LongListsAreChecked) {
  const std::string of_words = "  x: {items: {enum: [alpha, beta, gamma]}}\n";
  EXPECT_TRUE(Checked(of_words, "{\"x\": " + ListOf(100'000, "\"gamma\"") + "}").starts_with("{"));
  EXPECT_TRUE(Checked("  x: {items: {pattern: '^[0-9a-f]{8}-[0-9a-f]{4}$'}}\n",
                      "{\"x\": " + ListOf(10'000, "\"0123abcd-beef\"") + "}")
                  .starts_with("{"));
}

TEST(PlanInputsTest, MessagesShowTheBeginningOfALongValue) {
  EXPECT_EQ(Checked("  x: {type: integer}\n", "{\"x\": " + ListOf(50, "{\"é\": [null]}") + "}"),
            "/x: must be of type integer, not [{\"é\":[null]},{\"é\":[null]},{\"é\":[null…\n");
  EXPECT_EQ(Checked("  x: {type: integer}\n", "{\"x\": {\"a\": [], \"b\": [[], {}, \"\"]}}"),
            "/x: must be of type integer, not {\"a\":[],\"b\":[[],{},\"\"]}\n");
}

TEST(PlanInputsTest, PatternsOfAPlanAreTogetherLimited) {
  std::string inputs;
  for (int i = 0; i < 50; ++i) {
    inputs += "  x" + std::to_string(i) + ": {pattern: '^.{1,500}$'}\n";
  }
  EXPECT_NE(FaultsOf(Declared(inputs)).find("together too large"), std::string::npos);
}

TEST(PlanInputsTest, ManyUnknownInputsAreReported) {
  std::string given = "{";
  for (int i = 0; i < 1'000; ++i) given += "\"y" + std::to_string(i) + "\": 1,";
  const std::string faults = Checked("  x: {}\n", given + "\"x\": 1}");
  EXPECT_EQ(std::ranges::count(faults, '\n'), 100);
}

TEST(PlanInputsTest, QuickChecksHaveNoPatternAndNoLargeEnum) {
  const auto is_quick = [](const std::string& inputs) {
    const auto plan = ReadWell(Declared(inputs));
    return plan != nullptr && plan->quick_input_check;
  };
  EXPECT_TRUE(is_quick("  x: {enum: [a, b], items: {type: string, maxLength: 9}}\n"));
  EXPECT_FALSE(is_quick("  x: {items: {items: {pattern: a}}}\n  y: {}\n"));
  EXPECT_FALSE(is_quick("  x: {enum: " + ListOf(100, "{}") + "}\n"));
}

TEST(PlanInputsTest, InputsThatAreNotAnObjectAreRejected) {
  EXPECT_NE(Checked("  x: {}\n", "[1]").find("must be a JSON object"), std::string::npos);
  EXPECT_NE(Checked("  x: {}\n", "{").find("not JSON"), std::string::npos);
}

TEST(PlanInputsTest, DeclarationsAreChecked) {
  const std::pair<std::string, std::string> cases[] = {
      {"  x: 5\n", "declare the input 'x' as a map"},
      {"  x: {type: text}\n", "must be string, integer, number, boolean, array or object"},
      {"  x: {type: string, default: 5}\n", "the default must be of type string, not 5"},
      {"  x: {required: true, default: 5}\n", "remove 'required' or 'default'"},
      {"  x: {enum: []}\n", "a list of one value or more"},
      {"  x: {pattern: '('}\n", "not a valid pattern"},
      {"  x: {minimum: a}\n", "must be a number"},
      {"  x: {minLength: -1}\n", "must be from 0"},
      {"  x: {requird: true}\n", "did you mean 'required'?"},
      {"  x: {items: {default: 1}}\n", "there is no field 'default' here"},
      {"  'a b': {}\n", "the name of an input"},
  };
  for (const auto& [inputs, expected] : cases) {
    const std::string faults = FaultsOf(Declared(inputs));
    EXPECT_NE(faults.find(expected), std::string::npos) << inputs << faults;
  }
}

}  // namespace
}  // namespace everstep
