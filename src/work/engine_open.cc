#include <utility>

#include "base/random.h"
#include "base/watched_clock.h"
#include "everstep/engine.h"
#include "run/local_engine.h"
#include "work/engine_parts.h"

namespace everstep {

Result<std::unique_ptr<Engine>> Engine::Open(EngineOptions options) {
  auto parts = OpenEngineParts(options);
  if (!parts) return std::move(parts).error();
  return std::unique_ptr<Engine>(std::make_unique<LocalEngine>(
      LocalEngine::Parts{std::move(parts->log), std::move(parts->tools), std::move(parts->plans),
                         WatchedSystemClock(), SystemRandom(), true, 100, &WatchedSystemClock()},
      std::move(options)));
}

}  // namespace everstep
