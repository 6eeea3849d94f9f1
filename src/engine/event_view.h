#pragma once

#include <string>
#include <vector>

#include "event/dialect.h"
#include "everstep/log.h"
#include "store/state_store.h"

namespace everstep {

RunIdentity IdentityOf(const StoredRun& run);

// The event in a dialect's words, appended to `out`: none, one or several.
void AddViews(Dialect dialect, const StoredRun& run, const Event& event,
              std::vector<LogEvent>& out);

// The run, or kRunNotFound, kRunExpired.
Result<StoredRun> RequireRun(StateReader& reader, const RunId& run_id);

// Which events are wanted; an empty member: any.
struct RunsOf {
  std::string tenant_id{};
  std::string project_id{};
  std::string environment_id{};
  std::string plan_id{};
  Timestamp since{};  // persisted then or later

  bool Has(const RunScope& scope) const;
};

// Walks the outbox behind `after`: views of the events of these runs until `limit` entries were
// read. Moves `after` on.
Result<std::vector<LogEvent>> ReadAlongOutbox(StateReader& reader, const RunsOf& runs,
                                              Dialect dialect, std::size_t limit, Position& after);
inline Result<std::vector<LogEvent>> ReadAlongOutbox(StateReader& reader,
                                                     std::string_view tenant_id, Dialect dialect,
                                                     std::size_t limit, Position& after) {
  return ReadAlongOutbox(reader, RunsOf{std::string(tenant_id)}, dialect, limit, after);
}

}  // namespace everstep
