#pragma once

#include <memory>

#include "engine/embedded_log.h"
#include "everstep/engine.h"
#include "run/plan_fetcher.h"
#include "work/local_tool_box.h"
#include "work/secrets.h"

namespace everstep {

// The parts of an engine on this machine: its log, the local tools, and the sources of plans and
// secrets.
struct EngineParts {
  std::unique_ptr<EmbeddedLog> log;
  std::unique_ptr<LocalToolBox> tools;
  std::unique_ptr<PlanFetcher> plans;
  std::shared_ptr<const Secrets> secrets;
};

// Returns the errors of Engine::Open. For `report`, see Secrets.
Result<EngineParts> OpenEngineParts(const EngineOptions& options, SecretReport report = {});

}  // namespace everstep
