#pragma once

#include <memory>

#include "everstep/engine.h"
#include "run/local_engine.h"
#include "work/artifact_store.h"
#include "work/remote_work.h"
#include "work/secrets.h"

namespace everstep {

// An engine whose steps may also be done by workers elsewhere. `work` and `artifacts` belong to the
// engine and live as long; nobody may poll any more when it ends.
struct ServerEngine {
  std::unique_ptr<LocalEngine> engine;
  RemoteWork* work = nullptr;
  const ArtifactStore* artifacts = nullptr;
  std::shared_ptr<const Secrets> secrets;
};

// As Engine::Open answers. Where artifacts lie and how large a result may be is told by `options`.
// `report` hears why a secret was unavailable; callers and runs do not.
Result<ServerEngine> OpenServerEngine(EngineOptions options, RemoteWorkOptions remote,
                                      SecretReport report = {});

}  // namespace everstep
