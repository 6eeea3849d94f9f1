#pragma once

#include "work/tool_port.h"

namespace everstep {

// Merges inputs.values into one map or one list. Returns the inputs if there are no values.
class MergeTool final : public ImmediateTool {
 public:
  std::string_view kind() const override { return "merge"; }
  TaskOutcome Run(const Task& task) const override;
};

}  // namespace everstep
