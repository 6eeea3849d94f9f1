#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/value.h"
#include "flow/plan.h"

namespace everstep {
namespace {

const std::filesystem::path kRoot = EVERSTEP_SOURCE_DIR;

std::string Contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::set<std::filesystem::path> FilesIn(const std::filesystem::path& directory) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files.insert(entry.path());
  return files;
}

std::shared_ptr<const Plan> Vector(const std::string& name,
                                   std::vector<PlanWarning>* warnings = nullptr) {
  const auto plan = ReadPlan(Contents(kRoot / "tests/vectors/plans" / name), {}, warnings);
  EXPECT_TRUE(plan) << name << ": " << (plan ? "" : ToString(plan.error()));
  return plan ? *plan : nullptr;
}

TEST(PlanFilesTest, EveryExampleReadsWithoutFaultsAndWarnings) {
  const PlanAudience audience{
      {"noop", "echo", "merge", "sleep", "http", "shell", "python", "sqlite"}, {}};
  const auto files = FilesIn(kRoot / "examples/plans");
  EXPECT_GE(files.size(), 15U);
  for (const auto& file : files) {
    std::vector<PlanWarning> warnings;
    const auto plan = ReadPlan(Contents(file), audience, &warnings);
    ASSERT_TRUE(plan) << file << ": " << ToString(plan.error());
    EXPECT_TRUE(warnings.empty()) << file << ": " << warnings[0].message;
    EXPECT_EQ((*plan)->plan_id, file.stem()) << "an example must be named after its file";
  }
}

// The names of all properties in the schema.
std::set<std::string> PropertiesOf(const Value& schema) {
  std::set<std::string> names;
  const auto add = [&names](const Value& part) { names.merge(PropertiesOf(part)); };
  if (schema.kind() == Value::Kind::kList) {
    for (const Value& item : schema.list()) add(item);
  }
  if (schema.kind() != Value::Kind::kMap) return names;
  const auto members = schema.shared_members();
  for (const auto& [key, value] : *members) {
    add(value);
    if (key != "properties") continue;
    const auto properties = value.shared_members();
    for (const auto& [name, property] : *properties) names.insert(name);
  }
  return names;
}

TEST(PlanFilesTest, EveryFieldOfThePlanHasAnExample) {
  std::string examples;
  for (const char* folder : {"examples/plans", "examples"}) {
    for (const auto& file : FilesIn(kRoot / folder)) {
      if (file.extension() == ".yaml") examples += Contents(file);
    }
  }
  const auto schema = ValueFromJson(Contents(kRoot / "schemas/plan.schema.json"));
  ASSERT_TRUE(schema);
  std::set<std::string> names = PropertiesOf(*schema);
  EXPECT_GT(names.size(), 50U);
  for (const char* older : {"config", "dependencies", "triggers"})
    EXPECT_EQ(names.erase(older), 1U);
  for (const std::string& name : names) {
    const bool shown = examples.find(name + ":") != std::string::npos;
    EXPECT_TRUE(shown) << name;
  }
}

// The ```yaml blocks of docs/plans.md: complete plans, or fragments that are completed here.
std::vector<std::string> PlansOfTheManual() {
  const std::string manual = Contents(kRoot / "docs/plans.md");
  const std::string metadata = "metadata: {planId: p, planVersion: '1'}\n";
  const std::string steps = "steps:\n- {stepId: order}\n";
  const std::string inputs = "inputs: {cities: {}, release: {}, account: {}}\n";
  constexpr std::string_view kFence = "```yaml\n";
  std::vector<std::string> plans;
  for (std::size_t at = manual.find(kFence); at != std::string::npos;
       at = manual.find(kFence, at + 1)) {
    const std::size_t begin = at + kFence.size();
    const std::string block = manual.substr(begin, manual.find("```", begin) - begin);
    if (block.starts_with("metadata:")) {
      plans.push_back(block);
    } else if (block.starts_with("- ")) {
      plans.push_back(metadata + inputs + steps + block);
    } else if (block.starts_with("steps:")) {
      plans.push_back(metadata + block);
    } else if (block.starts_with("inputs:")) {
      plans.push_back(metadata + block + steps);
    } else {
      plans.push_back(metadata + "steps:\n- stepId: a\n  " + block);
    }
  }
  return plans;
}

TEST(PlanFilesTest, EveryPlanOfTheManualReads) {
  const auto plans = PlansOfTheManual();
  EXPECT_GE(plans.size(), 12U);
  for (const std::string& text : plans) {
    const auto plan = ReadPlan(text);
    EXPECT_TRUE(plan) << text << (plan ? "" : ToString(plan.error()));
  }
}

// The plan files of the contract, byte for byte.
TEST(PlanFilesTest, TheContractsPlansKeepTheirBytesAndRead) {
  const std::map<std::string, std::pair<std::size_t, std::string>> plans = {
      {"plan-minimal.json",
       {1, "b422db2a11ba44d392c9b03394cd6d8e8c6aded91b839c7f9bb7769337a4c59b"}},
      {"plan-parallel.json",
       {4, "6a996eb23d0a2ed8428dcb98abd551251e503795cab12a36dfc62cd8b4ec8385"}},
      {"plan-cancel-and-resume.json",
       {5, "541c85f68ee5ce99e7d10164d6e8d7d4bcc57fd82a5a11f4e44bc444cfa2a7b2"}}};
  for (const auto& [name, expected] : plans) {
    const auto plan = Vector(name);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->steps.size(), expected.first) << name;
    EXPECT_EQ(ToHex(plan->sha256), expected.second) << name;
    EXPECT_EQ(plan->schema_version, "v1.2");
    for (StepIndex i = 1; i < plan->steps.size(); ++i) {
      EXPECT_EQ(plan->steps[i].depends_on, std::vector<StepIndex>{i - 1}) << "sequential";
    }
  }
}

TEST(PlanFilesTest, TheContractsOlderPlansRead) {
  std::vector<PlanWarning> warnings;
  const auto minimal = Vector("golden-minimal.json", &warnings);
  ASSERT_NE(minimal, nullptr);
  EXPECT_EQ(minimal->plan_id, "plan-minimal");
  EXPECT_EQ(minimal->plan_version, "1.0");
  EXPECT_EQ(minimal->schema_version, "v1.1");
  const PlanStep& step = minimal->steps.at(0);
  EXPECT_EQ(step.action.kind, "echo");
  EXPECT_EQ(step.action.timeout, Milliseconds(5'000));
  EXPECT_EQ(step.action.attempts_max, 1U);
  EXPECT_EQ(step.action.retry_rules.at(0).backoff, RetryRule::Backoff::kNone);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, "FIELD_IGNORED");
  EXPECT_EQ(warnings[0].pointer, "/triggers");

  const auto parallel = Vector("golden-parallel.json");
  ASSERT_NE(parallel, nullptr);
  EXPECT_EQ(parallel->steps.at(0).dependants, std::vector<StepIndex>{3});
  EXPECT_EQ(parallel->steps.at(3).depends_on, (std::vector<StepIndex>{0, 1, 2}));

  const auto resumed = Vector("golden-cancel-and-resume.json");
  ASSERT_NE(resumed, nullptr);
  EXPECT_EQ(resumed->steps.size(), 5U);
}

}  // namespace
}  // namespace everstep
