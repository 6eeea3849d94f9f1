#include "flow/plan_schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/value.h"
#include "flow/plan.h"

namespace everstep {
namespace {

TEST(PlanSchemaTest, ThePublishedFileIsTheOneInTheCode) {
  std::ostringstream text;
  text << std::ifstream(EVERSTEP_SOURCE_DIR "/schemas/plan.schema.json").rdbuf();
  EXPECT_EQ(text.str(), PlanSchema());
}

// Returns the faults of a plan, or "" if it is valid.
std::string FaultsOf(const std::string& plan) {
  const auto read = ReadPlan(plan);
  return read ? "" : ToString(read.error());
}

std::string WithStep(const std::string& fields) {
  return R"({"metadata":{"planId":"p","planVersion":"1"},"steps":[{"stepId":"a")" + fields + "}]}";
}

TEST(PlanSchemaTest, EveryFieldOfTheSchemaIsKnownToTheReader) {
  const auto schema = ValueFromJson(PlanSchema());
  ASSERT_TRUE(schema);
  const Value defs = schema->Get("$defs");
  const auto expect_known = [](const Value& properties, const auto& plan_with) {
    ASSERT_FALSE(properties.members().empty());
    for (const auto& [name, rule] : properties.members()) {
      const std::string faults = FaultsOf(plan_with("\"" + name + "\":{\"?\":0}"));
      EXPECT_EQ(faults.find("there is no field '" + name + "'"), std::string::npos) << faults;
    }
  };
  const auto step = [](const std::string& field) { return WithStep("," + field); };
  expect_known(defs.Get("step").Get("properties"), step);
  expect_known(defs.Get("action").Get("properties"), step);
  expect_known(defs.Get("action").Get("properties"), [](const std::string& field) {
    return WithStep(R"(,"compensate":{)" + field + "}");
  });
  expect_known(defs.Get("retryPolicy").Get("properties"), [](const std::string& field) {
    return WithStep(R"(,"retryPolicy":{)" + field + "}");
  });
  expect_known(defs.Get("waitFor").Get("properties"),
               [](const std::string& field) { return WithStep(R"(,"waitFor":{)" + field + "}"); });
  expect_known(defs.Get("metadata").Get("properties"),
               [](const std::string& field) { return R"({"metadata":{)" + field + "}}"; });
  expect_known(defs.Get("inputWords").Get("properties"), [](const std::string& field) {
    return R"({"inputs":{"x":{"items":{)" + field + "}}}}";
  });
  expect_known(schema->Get("properties"),
               [](const std::string& field) { return "{" + field + "}"; });
  EXPECT_NE(FaultsOf(step("\"nope\":1")).find("there is no field 'nope'"), std::string::npos);
}

}  // namespace
}  // namespace everstep
