#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "event/dialect.h"
#include "everstep/log.h"
#include "store/state_store.h"

namespace everstep {

RunIdentity IdentityOf(const StoredRun& run);

// Renders the event in a dialect and appends the views to `out`: none, one or several.
void AddViews(Dialect dialect, const StoredRun& run, const Event& event,
              std::vector<LogEvent>& out);

// Returns the run. kRunNotFound, kRunExpired. With a tenant, a run of another tenant is not found,
// even if it was removed.
Result<StoredRun> RequireRun(StateReader& reader, const RunId& run_id,
                             std::string_view tenant_id = {});

// A filter for runs and their events; an empty member matches any.
struct RunsOf {
  std::string tenant_id{};
  std::string project_id{};
  std::string environment_id{};
  std::string plan_id{};
  Timestamp since{};  // persisted at this time or later

  bool Has(const RunScope& scope) const;
};

// Returns views of the events of matching runs that follow `after` in the outbox, and advances
// `after`. Reads at most `limit` outbox entries, and stops once there are `limit` views or their
// events exceed 16 MiB.
Result<std::vector<LogEvent>> ReadAlongOutbox(StateReader& reader, const RunsOf& runs,
                                              Dialect dialect, std::size_t limit, Position& after);
inline Result<std::vector<LogEvent>> ReadAlongOutbox(StateReader& reader,
                                                     std::string_view tenant_id, Dialect dialect,
                                                     std::size_t limit, Position& after) {
  return ReadAlongOutbox(reader, RunsOf{std::string(tenant_id)}, dialect, limit, after);
}

}  // namespace everstep
