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

// Walks the outbox behind `after`: views of the events of a tenant's runs (empty: every tenant)
// until `limit` entries were read. Moves `after` on.
Result<std::vector<LogEvent>> ReadAlongOutbox(StateReader& reader, std::string_view tenant_id,
                                              Dialect dialect, std::size_t limit, Position& after);

}  // namespace everstep
