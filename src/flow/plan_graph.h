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

// The steps of a plan and what each waits for. The terminal drawing has a row for each step, or for
// steps that stand side by side; of a plan that is larger than a screen it tells how many steps
// stand at each depth.
std::string PlanGraph(const Plan& plan, GraphForm form);

}  // namespace everstep
