#include "work/server_engine.h"

#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "work/engine_parts.h"

namespace everstep {

Result<ServerEngine> OpenServerEngine(EngineOptions options, RemoteWorkOptions remote) {
  auto parts = OpenEngineParts(options);
  if (!parts) return std::move(parts).error();
  ServerEngine server;
  server.artifacts = &parts->tools->artifacts();
  server.secrets = parts->secrets;
  remote.artifact_directory = server.artifacts->directory();
  remote.inline_bytes_max = options.tools.inline_bytes_max;
  auto work = std::make_unique<RemoteWork>(std::move(parts->tools), std::move(parts->secrets),
                                           SystemClock(), SystemRandom(), std::move(remote));
  server.work = work.get();
  server.engine = std::make_unique<LocalEngine>(
      LocalEngine::Parts{std::move(parts->log), std::move(work), std::move(parts->plans),
                         SystemClock(), SystemRandom(), true},
      std::move(options));
  return server;
}

}  // namespace everstep
