#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "flow/plan.h"
#include "testing/plan_text.h"

namespace everstep {
namespace {

using Steps = std::vector<StepIndex>;

TEST(PlanCheckTest, WithoutDependenciesStepsRunInTheOrderWritten) {
  const auto plan = ReadWell(PlanOf("- {stepId: a}\n- {stepId: b}\n- {stepId: c}"));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->steps[0].depends_on, Steps{});
  EXPECT_EQ(plan->steps[1].depends_on, Steps{0});
  EXPECT_EQ(plan->steps[2].depends_on, Steps{1});
  EXPECT_EQ(plan->steps[0].dependants, Steps{1});
}

TEST(PlanCheckTest, WithOneDependencyTheOthersStartAtOnce) {
  const auto plan =
      ReadWell(PlanOf("- {stepId: a}\n- {stepId: b}\n- {stepId: c, dependsOn: [b, a, b, a]}"));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->steps[1].depends_on, Steps{});
  EXPECT_EQ(plan->steps[2].depends_on, (Steps{1, 0})) << "no duplicates";
  EXPECT_EQ(plan->steps[0].dependants, Steps{2});
}

TEST(PlanCheckTest, AnEmptyListOfDependenciesAlsoMeansAtOnce) {
  const auto plan = ReadWell(PlanOf("- {stepId: a, dependsOn: []}\n- {stepId: b}"));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->steps[1].depends_on, Steps{});
}

TEST(PlanCheckTest, ARepeatedIdSaysWhereTheFirstIs) {
  EXPECT_EQ(FaultsOf(PlanOf("- {stepId: a}\n- {stepId: b}\n- {stepId: a}")),
            "5:12 /steps/2/stepId: two steps are called 'a'; the first is at line 3. Rename one of "
            "them\n");
}

TEST(PlanCheckTest, DependenciesMustExistAndNotBeTheStepItself) {
  EXPECT_EQ(FaultsOf(PlanOf("- {stepId: fetch}\n- {stepId: b, dependsOn: [fetsh, b]}")),
            "4:27 /steps/1/dependsOn/0: there is no step 'fetsh'; did you mean 'fetch'?\n"
            "4:34 /steps/1/dependsOn/1: a step cannot depend on itself; remove this\n");
}

TEST(PlanCheckTest, EachCycleIsReportedOnce) {
  EXPECT_EQ(FaultsOf(PlanOf("- {stepId: x, dependsOn: [c]}\n"
                            "- {stepId: a, dependsOn: [c]}\n"
                            "- {stepId: b, dependsOn: [a]}\n"
                            "- {stepId: c, dependsOn: [b, d]}\n"
                            "- {stepId: d}\n"
                            "- {stepId: e, dependsOn: [f]}\n"
                            "- {stepId: f, dependsOn: [e]}\n")),
            "4:26 /steps/1/dependsOn: these steps wait for each other: a -> c -> b -> a (-> is "
            "'depends on'). Remove one of the dependencies\n"
            "8:26 /steps/5/dependsOn: these steps wait for each other: e -> f -> e (-> is 'depends "
            "on'). Remove one of the dependencies\n");
}

TEST(PlanCheckTest, ALongCycleIsCut) {
  std::string steps;
  for (int i = 0; i < 50; ++i) {
    steps += "- {stepId: s" + std::to_string(i) + ", dependsOn: [s" + std::to_string((i + 1) % 50) +
             "]}\n";
  }
  const std::string faults = FaultsOf(PlanOf(steps));
  EXPECT_NE(faults.find("s19 -> … (30 more) -> s0 ("), std::string::npos) << faults;
}

TEST(PlanCheckTest, AFallbackIsNotPartOfTheOrder) {
  const auto plan =
      ReadWell(PlanOf("- {stepId: a, onFailure: {fallback: f}}\n- {stepId: f}\n- {stepId: b}"));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->steps[0].fallback, 1U);
  EXPECT_EQ(plan->steps[1].fallback_of, 0U);
  EXPECT_EQ(plan->steps[1].depends_on, Steps{});
  EXPECT_EQ(plan->steps[1].dependants, Steps{});
  EXPECT_EQ(plan->steps[2].depends_on, Steps{0});
}

TEST(PlanCheckTest, FallbacksMayFormAChain) {
  const auto plan =
      ReadWell(PlanOf("- {stepId: a, onFailure: {fallback: f}}\n"
                      "- {stepId: f, onFailure: {fallback: g}}\n- {stepId: g}"));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->steps[2].fallback_of, 1U);
}

TEST(PlanCheckTest, InvalidFallbacksAreRejected) {
  const std::pair<std::string, std::string> cases[] = {
      {"- {stepId: a, onFailure: {fallback: a}}", "cannot be its own fallback"},
      {"- {stepId: a, onFailure: {fallback: x}}", "there is no step 'x'"},
      {"- {stepId: a, onFailure: {fallback: f}}\n- {stepId: b, onFailure: {fallback: f}}\n"
       "- {stepId: f}",
       "'f' is the fallback of 'a' already"},
      {"- {stepId: a, onFailure: {fallback: f}}\n- {stepId: f, onFailure: {fallback: a}}",
       "each other's fallback, so that none would run: a -> f -> a"},
      {"- {stepId: a, onFailure: {fallback: f}}\n- {stepId: f, dependsOn: [a]}",
       "depends on nothing else"},
      {"- {stepId: a, onFailure: {fallback: f}}\n- {stepId: f}\n- {stepId: b, dependsOn: [f]}",
       "'f' is a fallback; depend on 'a'"},
  };
  for (const auto& [steps, expected] : cases) {
    const std::string faults = FaultsOf(PlanOf(steps));
    EXPECT_NE(faults.find(expected), std::string::npos) << steps << "\n" << faults;
  }
}

TEST(PlanCheckTest, ALargePlanIsReadWhole) {
  constexpr StepIndex kSteps = 20'000;
  std::string json = R"({"metadata":{"planId":"p","planVersion":"1"},"steps":[{"stepId":"s0"})";
  for (StepIndex i = 1; i < kSteps; ++i) {
    const std::string before = "s" + std::to_string(i - 1);
    const std::string far = "s" + std::to_string(i / 3);
    json += ",\n{\"stepId\":\"s" + std::to_string(i) + "\",\"dependsOn\":[\"" + before +
            "\"],\"inputs\":{\"x\":\"{{ steps." + far + ".result }}\"}}";
  }
  const auto plan = ReadWell(json + "]}");
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->steps.size(), kSteps);
  EXPECT_EQ(plan->steps.back().depends_on, Steps{kSteps - 2});
}

TEST(PlanCheckTest, TooManyStepsAreRefused) {
  std::string json = R"({"metadata":{"planId":"p","planVersion":"1"},"steps":[0)";
  for (std::size_t i = 0; i < kPlanStepsMax; ++i) json += ",0";
  EXPECT_NE(FaultsOf(json + "]}").find("at most 200000 steps, this one has 200001"),
            std::string::npos);
}

// For any dependencies, a plan is accepted if it has an order and rejected if it has a cycle.
RC_GTEST_PROP(PlanCheckTest, APlanIsAcceptedExactlyIfItHasAnOrder, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(2, 8);
  std::vector<std::vector<std::size_t>> depends_on(size);
  std::string steps;
  for (std::size_t i = 0; i < size; ++i) {
    steps += "- {stepId: s" + std::to_string(i) + ", dependsOn: [";
    const int count = *rc::gen::inRange(0, 3);
    for (int k = 0; k < count; ++k) {
      const auto before = *rc::gen::inRange<std::size_t>(0, size);
      if (before == i) continue;
      depends_on[i].push_back(before);
      steps += "s" + std::to_string(before) + ", ";
    }
    steps += "]}\n";
  }
  std::vector<bool> done(size);
  for (std::size_t round = 0; round < size; ++round) {
    for (std::size_t i = 0; i < size; ++i) {
      done[i] = done[i] || std::all_of(depends_on[i].begin(), depends_on[i].end(),
                                       [&](std::size_t before) { return done[before]; });
    }
  }
  const bool ordered = std::find(done.begin(), done.end(), false) == done.end();
  RC_ASSERT(FaultsOf(PlanOf(steps)).empty() == ordered);
}

}  // namespace
}  // namespace everstep
