#pragma once

#include <string>

#include "flow/plan.h"

namespace everstep {

std::string TerminalGraph(const Plan& plan);

// A short description of a step: "http", "wait 5m", "foreach" …
std::string StepNotes(const Plan& plan, const PlanStep& step);

}  // namespace everstep
