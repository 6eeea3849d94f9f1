#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"

namespace everstep {

// A part of a plan that is omitted when the plan is written. An engine that is given such a plan
// behaves like one that ignores the rule.
enum class PlanOmission : std::uint8_t {
  kNone,
  kDependencies,     // all but the first of each step
  kConcurrencyKeys,  // those of steps
  kLoopBounds,       // maxInFlight
  kAttemptLimits,    // sets maxAttempts to a large number
  kCompensation,     // compensate
};

// A plan, as JSON, with two to about thirty steps that uses every feature of plans. The same random
// numbers give the same plan, except for the omission. Tools other than noop and echo get no
// meaningful inputs.
std::string RandomPlan(SeededRandom& random, PlanOmission omission = PlanOmission::kNone);

}  // namespace everstep
