#pragma once

#include "work/tool_port.h"

namespace everstep {

// Returns {"message": inputs.message}, or all inputs if there is no message.
class EchoTool final : public ImmediateTool {
 public:
  std::string_view kind() const override { return "echo"; }
  TaskOutcome Run(const Task& task) const override;
};

}  // namespace everstep
