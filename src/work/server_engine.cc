#include "work/server_engine.h"

#include <utility>

#include "base/random.h"
#include "base/watched_clock.h"
#include "work/engine_parts.h"

namespace everstep {

Result<ServerEngine> OpenServerEngine(EngineOptions options, RemoteWorkOptions remote,
                                      SecretReport report) {
  auto parts = OpenEngineParts(options, std::move(report));
  if (!parts) return std::move(parts).error();
  ServerEngine server;
  server.artifacts = &parts->tools->artifacts();
  server.secrets = parts->secrets;
  remote.artifact_directory = server.artifacts->directory();
  remote.inline_bytes_max = options.tools.inline_bytes_max;
  const std::uint32_t tenant_share = remote.tenant_share;
  auto work = std::make_unique<RemoteWork>(std::move(parts->tools), std::move(parts->secrets),
                                           WatchedSystemClock(), SystemRandom(), std::move(remote));
  server.work = work.get();
  server.engine = std::make_unique<LocalEngine>(
      LocalEngine::Parts{std::move(parts->log), std::move(work), std::move(parts->plans),
                         WatchedSystemClock(), SystemRandom(), true, tenant_share,
                         &WatchedSystemClock()},
      std::move(options));
  return server;
}

}  // namespace everstep
