#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"

namespace everstep {

// A part of a plan that is left out when it is written down. An engine that is given such a plan
// behaves like one that forgets the rule.
enum class PlanOmission : std::uint8_t {
  kNone,
  kDependencies,     // all but the first of a step
  kConcurrencyKeys,  // of steps
  kLoopBounds,       // maxInFlight
  kAttemptLimits,    // maxAttempts becomes large
  kCompensation,     // compensate
};

// A plan with two to some thirty steps that uses whatever a plan may have, as JSON. The same random
// numbers give the same plan, but for what is left out. Tools other than noop and echo are asked to
// do nothing in particular.
std::string RandomPlan(SeededRandom& random, PlanOmission omission = PlanOmission::kNone);

}  // namespace everstep
