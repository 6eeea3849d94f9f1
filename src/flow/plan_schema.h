#pragma once

#include <string_view>

namespace everstep {

// The plan format as JSON Schema 2020-12, for editors and planners: schemas/plan.schema.json. It
// covers only the structure of a document; ReadPlan also checks names, order, expressions and
// limits.
std::string_view PlanSchema();

}  // namespace everstep
