#pragma once

#include "work/tool_port.h"

namespace everstep {

// Does nothing. The result is null.
class NoopTool final : public ImmediateTool {
 public:
  std::string_view kind() const override { return "noop"; }
  TaskOutcome Run(const Task& task) const override;
};

}  // namespace everstep
