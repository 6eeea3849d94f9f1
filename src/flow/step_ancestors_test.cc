#include "flow/step_ancestors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace everstep {
namespace {

// A plan in which each step depends on random earlier steps or is the fallback of one.
Plan RandomPlan(std::size_t size) {
  Plan plan;
  plan.steps.resize(size);
  for (StepIndex i = 1; i < size; ++i) {
    const bool fallback = *rc::gen::inRange(0, 8) == 0;
    if (fallback) {
      const auto of = *rc::gen::inRange<StepIndex>(0, i);
      if (plan.steps[of].fallback != kNoStep) continue;
      plan.steps[of].fallback = i;
      plan.steps[i].fallback_of = of;
      continue;
    }
    const int count = *rc::gen::inRange(0, 3);
    for (int k = 0; k < count; ++k) {
      const auto before = *rc::gen::inRange<StepIndex>(0, i);
      auto& depends_on = plan.steps[i].depends_on;
      if (std::find(depends_on.begin(), depends_on.end(), before) != depends_on.end()) continue;
      depends_on.push_back(before);
      plan.steps[before].dependants.push_back(i);
    }
  }
  return plan;
}

bool ComesAfter(const Plan& plan, StepIndex step, StepIndex before) {
  std::vector<StepIndex> next = plan.steps[step].depends_on;
  if (plan.steps[step].fallback_of != kNoStep) next.push_back(plan.steps[step].fallback_of);
  return std::any_of(next.begin(), next.end(), [&](StepIndex at) {
    return at == before || (at > before && ComesAfter(plan, at, before));
  });
}

RC_GTEST_PROP(StepAncestorsTest, AnswersAreThoseOfAWalk, ()) {
  const Plan plan = RandomPlan(*rc::gen::inRange<std::size_t>(1, 30));
  std::vector<AncestorQuestion> questions;
  for (StepIndex step = 0; step < plan.steps.size(); ++step) {
    for (StepIndex before = 0; before < plan.steps.size(); ++before) {
      if (step != before) questions.push_back({step, before});
    }
  }
  AnswerAncestors(plan, questions);
  for (const AncestorQuestion& question : questions) {
    RC_ASSERT(question.answer == ComesAfter(plan, question.step, question.before));
  }
}

TEST(StepAncestorsTest, MoreStepsThanOneBatchHolds) {
  Plan plan;
  constexpr StepIndex kSteps = 3'000;
  plan.steps.resize(kSteps);
  for (StepIndex i = 1; i < kSteps; ++i) {
    plan.steps[i].depends_on = {i - 1};
    plan.steps[i - 1].dependants = {i};
  }
  std::vector<AncestorQuestion> questions;
  for (StepIndex i = 1; i < kSteps; ++i) {
    questions.push_back({i, i / 2});
    questions.push_back({i / 2, i});
  }
  AnswerAncestors(plan, questions);
  for (const AncestorQuestion& question : questions) {
    EXPECT_EQ(question.answer, question.before < question.step);
  }
}

}  // namespace
}  // namespace everstep
