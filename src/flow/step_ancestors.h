#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flow/plan.h"

namespace everstep {

// Does `step` come after `before`, by its dependencies or those of the step whose fallback it is?
struct AncestorQuestion {
  StepIndex step = kNoStep;
  StepIndex before = kNoStep;
  bool answer = false;
};

// Answers all of them. Wants linked steps without cycles. Costs a walk over the part of the plan
// between the steps asked about for each 512 different `before`.
void AnswerAncestors(const Plan& plan, std::span<AncestorQuestion> questions);

}  // namespace everstep
