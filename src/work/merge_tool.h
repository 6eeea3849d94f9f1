#pragma once

#include "work/tool_port.h"

namespace everstep {

// Makes one map or one list of inputs.values, or gives back its inputs where there are no values.
class MergeTool final : public ImmediateTool {
 public:
  std::string_view kind() const override { return "merge"; }
  TaskOutcome Run(const Task& task) const override;
};

}  // namespace everstep
