#include "work/noop_tool.h"

namespace everstep {

TaskOutcome NoopTool::Run(const Task& /*task*/) const { return {}; }

}  // namespace everstep
