#pragma once

#include <memory>

#include "everstep/engine.h"
#include "run/local_engine.h"
#include "work/artifact_store.h"
#include "work/remote_work.h"
#include "work/secrets.h"

namespace everstep {

// An engine whose steps can also be executed by remote workers. The engine owns `work` and
// `artifacts`. No poll may be made while the engine is being destroyed or after that.
struct ServerEngine {
  std::unique_ptr<LocalEngine> engine;
  RemoteWork* work = nullptr;
  const ArtifactStore* artifacts = nullptr;
  std::shared_ptr<const Secrets> secrets;
};

// Returns the errors of Engine::Open. `options` determine the artifact directory and the size limit
// of inline results; those in `remote` are ignored. `report` receives the reasons why secrets were
// unavailable; callers and runs do not see them.
Result<ServerEngine> OpenServerEngine(EngineOptions options, RemoteWorkOptions remote,
                                      SecretReport report = {});

}  // namespace everstep
