#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flow/plan.h"

namespace everstep {

// Whether `step` comes after `before`, through its dependencies or through the step whose fallback
// it is.
struct AncestorQuestion {
  StepIndex step = kNoStep;
  StepIndex before = kNoStep;
  bool answer = false;
};

// Sets `answer` in all questions. Requires linked steps without cycles. Walks the part of the plan
// between the steps in question once for each batch of 512 different `before` steps.
void AnswerAncestors(const Plan& plan, std::span<AncestorQuestion> questions);

}  // namespace everstep
