#pragma once

#include <memory>
#include <string_view>

#include "everstep/engine.h"
#include "everstep/result.h"
#include "flow/plan.h"

namespace everstep {

// Check that a document is the plan that `ref` refers to: first its digest, then its names. `ref`
// must have a digest; its other members are not compared if they are empty.
Status CheckPlanDigest(const PlanRef& ref, std::string_view document);  // kPlanIntegrity…
// kPlanRefMismatch: the reference names another plan than the document is.
Status CheckPlanNames(const PlanRef& ref, std::string_view plan_id, std::string_view plan_version,
                      std::string_view schema_version);

}  // namespace everstep
