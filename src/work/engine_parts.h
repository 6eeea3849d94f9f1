#pragma once

#include <memory>

#include "engine/embedded_log.h"
#include "everstep/engine.h"
#include "run/plan_fetcher.h"
#include "work/local_tool_box.h"
#include "work/secrets.h"

namespace everstep {

// What an engine of this machine is made of: its log, the tools of the machine, where plans and
// secrets come from.
struct EngineParts {
  std::unique_ptr<EmbeddedLog> log;
  std::unique_ptr<LocalToolBox> tools;
  std::unique_ptr<PlanFetcher> plans;
  std::shared_ptr<const Secrets> secrets;
};

// As Engine::Open answers. `report`: see Secrets.
Result<EngineParts> OpenEngineParts(const EngineOptions& options, SecretReport report = {});

}  // namespace everstep
