#pragma once

#include <string>

#include "flow/plan.h"

namespace everstep {

std::string TerminalGraph(const Plan& plan);

// What is worth knowing of a step besides its name: "http", "wait 5m", "foreach" …
std::string StepNotes(const Plan& plan, const PlanStep& step);

}  // namespace everstep
