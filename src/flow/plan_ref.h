#pragma once

#include <memory>
#include <string_view>

#include "everstep/engine.h"
#include "everstep/result.h"
#include "flow/plan.h"

namespace everstep {

// Is `document` the plan that `ref` means? Its digest, then what it calls itself; empty members of
// `ref` are not compared, but the digest must be there.
Status CheckPlanDigest(const PlanRef& ref, std::string_view document);  // kPlanIntegrity…
Status CheckPlanNames(const PlanRef& ref, const Plan& plan);            // kPlanRefMismatch

}  // namespace everstep
