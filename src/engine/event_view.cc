#include "engine/event_view.h"

#include "base/assert.h"
#include "event/catalogue.h"

namespace everstep {
RunIdentity IdentityOf(const StoredRun& run) {
  return {run.run_id, run.state.scope, run.state.key_version};
}

void AddViews(Dialect dialect, const StoredRun& run, const Event& event,
              std::vector<LogEvent>& out) {
  std::vector<std::string> views;
  RenderEvent(dialect, IdentityOf(run), event, views);
  const std::string type = IsKnown(event.type)
                               ? std::string(SpecOf(event.type).name)
                               : "Unknown(" + std::to_string(static_cast<int>(event.type)) + ")";
  for (std::string& view : views) out.push_back({event.seq.value(), type, std::move(view)});
}

Result<StoredRun> RequireRun(StateReader& reader, const RunId& run_id, std::string_view tenant_id) {
  const auto theirs = [tenant_id](const std::string& owner) {
    return tenant_id.empty() || owner == tenant_id;
  };
  auto run = reader.FindRun(run_id);
  if (!run) return std::move(run).error();
  if (*run && theirs((*run)->state.scope.tenant_id)) return std::move(**run);
  const auto tombstone = reader.FindTombstone(run_id);
  if (!tombstone) return tombstone.error();
  // A tombstone of an earlier version has no tenant.
  if (*tombstone && ((*tombstone)->tenant_id.empty() || theirs((*tombstone)->tenant_id))) {
    return Error{
        ErrorCode::kRunExpired,
        "run " + run_id.value() + " was removed at " + FormatTimestamp((*tombstone)->removed_at),
        {}};
  }
  return Error{ErrorCode::kRunNotFound, "there is no run " + run_id.value(), {}};
}

bool RunsOf::Has(const RunScope& scope) const {
  const auto fits = [](const std::string& want, const std::string& have) {
    return want.empty() || want == have;
  };
  return fits(tenant_id, scope.tenant_id) && fits(project_id, scope.project_id) &&
         fits(environment_id, scope.environment_id) && fits(plan_id, scope.plan_id);
}

Result<std::vector<LogEvent>> ReadAlongOutbox(StateReader& reader, const RunsOf& runs,
                                              Dialect dialect, std::size_t limit, Position& after) {
  auto entries = reader.ReadOutbox(after, limit);
  if (!entries) return std::move(entries).error();
  // Bounds the memory of one read, however large the events are.
  constexpr std::size_t kBytesMax = 1 << 20;
  std::size_t bytes = 0;
  std::vector<LogEvent> views;
  for (const OutboxEntry& entry : *entries) {
    after = entry.position;
    auto run = reader.FindRun(entry.run_id);
    if (!run) return std::move(run).error();
    if (!*run) continue;  // removed by retention
    if (!runs.Has((*run)->state.scope)) continue;
    EVERSTEP_ASSERT(entry.first_seq <= entry.last_seq);
    EventQuery query;
    query.after = EventSeq(entry.first_seq.value() - 1);
    query.until = entry.last_seq;
    query.limit = entry.last_seq.value() - entry.first_seq.value() + 1;
    query.bytes_max = SIZE_MAX;  // one append wrote all of it
    const auto events = reader.ReadEvents(**run, query);
    if (!events) return events.error();
    for (const Event& event : *events) {
      if (event.persisted_at < runs.since) continue;
      bytes += event.payload.size();
      AddViews(dialect, **run, event, views);
    }
    if (views.size() >= limit || bytes >= kBytesMax) break;
  }
  return views;
}

}  // namespace everstep
