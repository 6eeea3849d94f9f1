#pragma once

#include <string>
#include <utility>
#include <vector>

#include "work/secrets.h"
#include "work/tool_port.h"

namespace everstep {

// What programs of a step get: PATH, HOME, LANG and TZ of this machine, nothing else of the
// engine's environment; EVERSTEP_RUN_ID, _STEP_ID, _ATTEMPT and _IDEMPOTENCY_KEY; then `more`,
// which wins.
std::vector<std::string> ProgramEnvironment(
    const Environment& environment, const Task& task,
    const std::vector<std::pair<std::string, std::string>>& more);

// PATH of this machine, or where programs usually are.
std::string ProgramPath(const Environment& environment);

}  // namespace everstep
