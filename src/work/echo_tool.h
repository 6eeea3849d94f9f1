#pragma once

#include "work/tool_port.h"

namespace everstep {

// Gives back {"message": inputs.message}, or all of its inputs where there is no message.
class EchoTool final : public ImmediateTool {
 public:
  std::string_view kind() const override { return "echo"; }
  TaskOutcome Run(const Task& task) const override;
};

}  // namespace everstep
