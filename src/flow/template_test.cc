#include "flow/template.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "flow/operations_done.h"
#include "flow/value_names.h"

namespace everstep {
namespace {

const ValueNames& SomeNames() {
  static const ValueNames names(*ValueFromJson(
      R"({"n": 7, "t": "text", "list": [1, 2], "user": {"name": "Ada"}, "yes": true})"));
  return names;
}

// The rendered value as JSON, "undefined", or the error message.
std::string Rendered(const Result<Template>& compiled) {
  if (!compiled) return compiled.error().message;
  const auto value = compiled->Render(SomeNames());
  if (!value) return value.error().message;
  return value->undefined() ? "undefined" : ToJson(*value);
}

std::string RenderedText(std::string_view text) {
  return Rendered(Template::Compile(Value::Text(std::string(text))));
}

TEST(TemplateTest, OneExpressionKeepsItsType) {
  EXPECT_EQ(RenderedText("{{ n }}"), "7");
  EXPECT_EQ(RenderedText("{{list}}"), "[1,2]");
  EXPECT_EQ(RenderedText("{{ missing }}"), "undefined");
  EXPECT_EQ(RenderedText("{# why #}{{ yes }}"), "true");
  EXPECT_EQ(RenderedText("\n  {{ n }}\n"), "7");
}

TEST(TemplateTest, HolesOfLargerTextBecomeText) {
  EXPECT_EQ(RenderedText("n is {{ n }}, {{ user }}"), R"("n is 7, {\"name\":\"Ada\"}")");
  EXPECT_EQ(RenderedText("{{ n }}{{ n }}"), R"("77")");
  EXPECT_EQ(RenderedText("a }} b { c"), R"("a }} b { c")");
}

TEST(TemplateTest, AnUndefinedHoleOfLargerTextIsAnErrorThatNamesIt) {
  EXPECT_EQ(RenderedText("a {{ user.mail }}"),
            "'user.mail' is undefined; give it a value with default()");
  EXPECT_EQ(RenderedText("a {{ user.mail | default('-') }}"), R"("a -")");
  const auto compiled = Template::Compile(*ValueFromJson(R"({"a/b": ["x {{ gone }}"]})"));
  const auto value = compiled->Render(SomeNames());
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kExpressionFailed);
  ASSERT_EQ(value.error().faults.size(), 1U);
  EXPECT_EQ(value.error().faults[0].pointer, "/a~1b/0");
}

TEST(TemplateTest, BracesOfMapsAndTextDoNotEndAHole) {
  EXPECT_EQ(RenderedText("{{ {'a': {'b': n}}}}"), R"({"a":{"b":7}})");
  EXPECT_EQ(RenderedText("{{ '}}' }}"), R"("}}")");
  EXPECT_EQ(RenderedText("{{ '{{' ~ \"it's }}\" }}"), R"("{{it's }}")");
  EXPECT_EQ(RenderedText("{{ 'a\\'}}' }}"), R"("a'}}")");
}

TEST(TemplateTest, DashesTakeTheSpaceAround) {
  EXPECT_EQ(RenderedText("a \n {{- n -}} \n b"), R"("a7b")");
  EXPECT_EQ(RenderedText("a \n {{- n }} b"), R"("a7 b")");
  EXPECT_EQ(RenderedText("{{-1}}"), "-1");
}

TEST(TemplateTest, CommentsAreLeftOut) {
  EXPECT_EQ(RenderedText("a{# {{ nothing }} #}b"), R"("ab")");
  const auto compiled = Template::Compile(Value::Text("a{# c #}"));
  EXPECT_TRUE(compiled->constant());
}

TEST(TemplateTest, ValuesWithoutHolesAreReturnedUnchanged) {
  const Value source = *ValueFromJson(R"({"a": [1, "x {y}", null], "b": {"c": true}})");
  const auto compiled = Template::Compile(source);
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled->constant());
  const auto value = compiled->Render(SomeNames());
  EXPECT_EQ(value->shared_members(), source.shared_members());
}

TEST(TemplateTest, RendersInsideListsAndMapsAndKeepsTheirOrder) {
  const auto compiled = Template::Compile(
      *ValueFromJson(R"({"z": "{{ n }}", "a": ["{{ t }}", 1, {"{{ t }}s": "{{ missing }}"}]})"));
  EXPECT_EQ(Rendered(compiled), R"({"z":7,"a":["text",1,{"texts":null}]})");
}

TEST(TemplateTest, AKeyMustRenderToUniqueText) {
  EXPECT_EQ(Rendered(Template::Compile(*ValueFromJson(R"({"{{ n }}": 1})"))),
            "the key of a map must be text");
  EXPECT_EQ(Rendered(Template::Compile(*ValueFromJson(R"({"{{ t }}": 1, "text": 2})"))),
            "a key of the map is repeated after rendering");
}

TEST(TemplateTest, ReportsAllFaultsWithTheirPositions) {
  std::vector<Template::Fault> faults;
  const auto compiled = Template::Compile(*ValueFromJson(R"({
      "a": "ok {{ n }} {{ 1 + }} {{ n | lenght }}",
      "b": ["{% if n %}x{% endif %}", "{{ open", "{# open"]})"),
                                          &faults);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::kExpressionFailed);
  std::vector<std::pair<std::string, std::size_t>> places;
  for (const auto& fault : faults) places.emplace_back(fault.pointer, fault.offset);
  EXPECT_EQ(places, (std::vector<std::pair<std::string, std::size_t>>{
                        {"/a", 18},
                        {"/a", 28},
                        {"/b/0", 0},
                        {"/b/0", 11},
                        {"/b/1", 0},
                        {"/b/2", 0},
                    }));
  EXPECT_EQ(faults[1].message, "unknown filter 'lenght'; did you mean 'length'?");
  EXPECT_NE(faults[2].message.find("statements {% … %} are not available"), std::string::npos);
  EXPECT_EQ(compiled.error().faults.size(), 6U);
}

TEST(TemplateTest, ReportsThePathsOfAllHoles) {
  const auto compiled =
      Template::Compile(*ValueFromJson(R"(["{{ b.c }}", {"k": "x {{ a }} {{ b.c }}"}])"));
  EXPECT_EQ(compiled->paths(), (std::vector<Expression::Path>{{"a"}, {"b", "c"}}));
}

TEST(TemplateTest, AConditionMayLeaveOutItsBraces) {
  EXPECT_EQ(Rendered(Template::Condition("n > 5")), "true");
  EXPECT_EQ(Rendered(Template::Condition(" {{ n > 5 }}\n")), "true");
  EXPECT_EQ(Rendered(Template::Condition("list")), "[1,2]");
  EXPECT_EQ(Rendered(Template::Condition("t == '{{'")), "false");
}

TEST(TemplateTest, AConditionIsOneExpression) {
  for (const std::string_view text : {"{{ n }} == 7", "n == {{ 7 }}", "{{ n }}{{ n }}"}) {
    EXPECT_NE(Rendered(Template::Condition(text)).find("a condition is one expression"),
              std::string::npos)
        << text;
  }
  std::vector<Template::Fault> faults;
  EXPECT_FALSE(Template::Condition("  {{ n > }}", &faults));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].offset, 9U);
  EXPECT_FALSE(Template::Condition("", &faults));
}

TEST(TemplateTest, AnEmptyOneRendersAsUndefined) {
  EXPECT_TRUE(Template().empty());
  EXPECT_TRUE(Template().constant());
  EXPECT_TRUE(Template().Render(SomeNames())->undefined());
  EXPECT_TRUE(Template().paths().empty());
}

TEST(TemplateTest, TextAndResultHaveALimit) {
  const auto text = Template::Compile(Value::Text("{{ 'x' * 60 }}-{{ 'x' * 60 }}"));
  EXPECT_TRUE(text->Render(SomeNames(), {1000, 200}));
  EXPECT_FALSE(text->Render(SomeNames(), {1000, 100}));

  Value deep = Value::Text("{{ deep }}");
  for (std::size_t i = 0; i < 40; ++i) deep = Value::List({deep});
  const auto nested = Template::Compile(deep);
  Value other = Value::Int(1);
  for (std::size_t i = 0; i < 40; ++i) other = Value::List({other});
  EXPECT_FALSE(nested->Render(ValueNames(Value::Map(ValueMap{{"deep", other}}))));
  EXPECT_TRUE(nested->Render(ValueNames(Value::Map(ValueMap{{"deep", Value::Int(1)}}))));
}

// Charges 600,000 operations for each lookup.
class CostlyNames final : public Names {
 public:
  Value Find(std::string_view) const override {
    AddOperations(600'000);
    return Value::Int(1);
  }
};

TEST(TemplateTest, TheCostOfANameLookupCountsAgainstTheLimit) {
  const auto once = Template::Compile(*ValueFromJson(R"({"a": "{{ x }}"})"));
  const auto twice = Template::Compile(*ValueFromJson(R"({"a": "{{ x }}", "b": "{{ x + 1 }}"})"));
  const std::uint64_t before = OperationsDone();
  EXPECT_TRUE(once->Render(CostlyNames()));
  const std::uint64_t cost = OperationsDone() - before;
  EXPECT_GE(cost, 600'000u);
  EXPECT_LE(cost, 600'100u);
  const auto refused = twice->Render(CostlyNames());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExpressionFailed);
  EXPECT_EQ(OperationsDone() - before, cost + kTemplateOperationsMax);
}

TEST(TemplateTest, AMemberOfALargeMapCostsWhatTheSearchTakes) {
  ValueMap members;
  for (int i = 0; i < 64'000; ++i) members.emplace_back("k" + std::to_string(i), Value::Int(i));
  const ValueNames names(Value::Map(ValueMap{{"map", Value::Map(std::move(members))}}));
  const auto one = Template::Compile(Value::Text("{{ map.k63999 }}"));
  const std::uint64_t before = OperationsDone();
  EXPECT_TRUE(one->Render(names));
  EXPECT_GE(OperationsDone() - before, 2'000u);
  ValueList many(1'000, Value::Text("{{ map['k63999'] }}"));
  const auto refused = Template::Compile(Value::List(std::move(many)))->Render(names);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kExpressionFailed);
}

}  // namespace
}  // namespace everstep
