#pragma once

#include <string>
#include <utility>
#include <vector>

#include "work/secrets.h"
#include "work/tool_port.h"

namespace everstep {

// The environment for the programs of a step: PATH, HOME, LANG and TZ of this machine and nothing
// else from the engine's environment; EVERSTEP_RUN_ID, _STEP_ID, _ATTEMPT and _IDEMPOTENCY_KEY; and
// `more`, which overrides the others.
std::vector<std::string> ProgramEnvironment(
    const Environment& environment, const Task& task,
    const std::vector<std::pair<std::string, std::string>>& more);

// PATH of this machine, or the usual program directories if it is not set.
std::string ProgramPath(const Environment& environment);

}  // namespace everstep
