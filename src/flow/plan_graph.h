#pragma once

#include <cstdint>
#include <string>

#include "flow/plan.h"

namespace everstep {

enum class GraphForm : std::uint8_t {
  kMermaid,   // flowchart, for Markdown
  kDot,       // Graphviz
  kTerminal,  // lines of box-drawing characters
};

// Draws the steps of a plan and their dependencies. The terminal form has one row for each step, or
// for a group of equal steps side by side. For a plan that is larger than a screen it shows how
// many steps there are at each depth.
std::string PlanGraph(const Plan& plan, GraphForm form);

}  // namespace everstep
