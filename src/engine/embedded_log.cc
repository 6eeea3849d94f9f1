#include "engine/embedded_log.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "engine/event_subscription.h"
#include "engine/event_view.h"
#include "engine/run_snapshot.h"
#include "engine/sink_claims.h"
#include "engine/verify.h"
#include "event/catalogue.h"
#include "event/identifier.h"
#include "machine/run_fold.h"

namespace everstep {
namespace {

constexpr std::size_t kOrdersPerSubmit = 1024;  // bounds the orders that one call has in flight
constexpr std::size_t kEventsPerPageMax = 10'000;
constexpr std::size_t kRunsPerPageMax = 1000;
constexpr std::size_t kRunsPerPurge = 100;

// The orders of one call. Reuses the memory of the thread's previous call, because orders are large
// and a batch has more of them than the allocator caches.
class UsedOrders {
 public:
  UsedOrders() : orders_(std::exchange(Spare(), {})) {}
  ~UsedOrders() {
    if (orders_.size() > kOrdersSpared || bytes_max_ > kBytesSpared) return;
    Spare() = std::move(orders_);
  }
  UsedOrders(const UsedOrders&) = delete;
  UsedOrders& operator=(const UsedOrders&) = delete;

  // Returns the order to fill from a document of `document_bytes`. Returns the same order again
  // until Keep is called.
  AppendOrder& Next(std::size_t document_bytes) {
    bytes_max_ = std::max(bytes_max_, document_bytes);
    EVERSTEP_ASSERT(kept_ <= orders_.size());
    if (kept_ == orders_.size()) orders_.emplace_back();
    return orders_[kept_];
  }
  void Keep() { ++kept_; }
  std::span<AppendOrder> kept() { return std::span(orders_).first(kept_); }

 private:
  static constexpr std::size_t kOrdersSpared = 64;
  static constexpr std::size_t kBytesSpared = 4 << 10;

  static std::vector<AppendOrder>& Spare() {
    thread_local std::vector<AppendOrder> spare;
    return spare;
  }

  std::vector<AppendOrder> orders_;
  std::size_t kept_ = 0;
  std::size_t bytes_max_ = 0;  // of the largest document
};

Error ReadOnly() { return {ErrorCode::kStoreReadOnly, "the log is open read-only", {}}; }

Error BadArgument(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message), {}};
}

RunScope ScopeOf(const AppendDefaults& defaults) {
  return {defaults.tenant_id, defaults.project_id, defaults.environment_id, defaults.plan_id,
          defaults.plan_version};
}

Status CheckDefaults(const AppendDefaults& defaults) {
  Error error = BadArgument("invalid defaults for new runs");
  const auto check = [&error](const char* name, const std::string& value, bool ok) {
    if (!ok)
      error.faults.push_back({"/" + std::string(name), "\"" + value + "\" is not a valid name"});
  };
  check("tenantId", defaults.tenant_id, IsIdentifier(defaults.tenant_id));
  check("projectId", defaults.project_id, IsIdentifier(defaults.project_id));
  check("environmentId", defaults.environment_id, IsIdentifier(defaults.environment_id));
  check("planId", defaults.plan_id, IsName(defaults.plan_id));
  check("planVersion", defaults.plan_version, IsName(defaults.plan_version));
  if (error.faults.empty()) return Ok();
  return error;
}

bool MayBegin(const EventWrite& write) {
  return write.type == EventType::kRunQueued || write.type == EventType::kRunApproved ||
         write.type == EventType::kRunStarted;
}

// Rejects events of other tenants.
Status KeepToTenant(const std::string& tenant_id, AppendOrder& order) {
  for (EventWrite& write : order.events) {
    std::string& given = write.scope.tenant_id;
    if (!given.empty() && given != tenant_id) {
      return Error{ErrorCode::kAuthzTenantForbidden,
                   "the event belongs to another tenant",
                   {{"/tenantId", "must be \"" + tenant_id + "\" or omitted"}}};
    }
    given = tenant_id;
  }
  if (IsDerivedRunId(order.run_id.value()) && std::ranges::any_of(order.events, MayBegin)) {
    return Error{ErrorCode::kInvalidArgument,
                 "run id " + order.run_id.value() + " is reserved for ids that the server derives",
                 {{"/runId", "must not be a version 8 UUID or \"in-\" with 32 digits"}}};
  }
  return Ok();
}

// Returns the same error for a run of another tenant, whether it exists or was removed, as for a
// run that does not exist.
Error WithoutOthers(StateStore& store, const RunId& run_id, const std::string& tenant_id,
                    Error error) {
  bool elsewhere = error.code == ErrorCode::kRunScopeMismatch && !error.faults.empty() &&
                   error.faults.front().pointer == "/tenantId";
  if (error.code == ErrorCode::kRunExpired) {
    const auto run = RequireRun(*store.Read(), run_id, tenant_id);
    elsewhere = !run && run.error().code == ErrorCode::kRunNotFound;
  }
  if (!elsewhere && error.code != ErrorCode::kRunNotFound) return error;
  return {ErrorCode::kRunNotFound,
          "there is no run " + run_id.value() +
              "; the first event of a run must be RunQueued, RunApproved or RunStarted",
          {}};
}

Result<Appended> ToAppended(RunId run_id, Result<Placed> placed) {
  if (!placed) return std::move(placed).error();
  return Appended{std::move(run_id).value(), std::move(placed->event_id), placed->seq.value(),
                  placed->persisted_at,      placed->duplicate,           placed->payload_mismatch};
}

Result<EventQuery> QueryOf(const EventRequest& request) {
  EventQuery query;
  query.after = EventSeq(request.after);
  query.until = EventSeq(request.until);
  query.limit = std::clamp<std::size_t>(request.limit, 1, kEventsPerPageMax);
  query.bytes_max = request.bytes_max;
  if (!request.event_type.empty()) {
    query.type = EventTypeNamed(request.event_type);
    if (!query.type) return BadArgument("unknown event type " + request.event_type);
  }
  if (request.entity_kind.empty() != request.entity_id.empty()) {
    return BadArgument("entity kind and entity id must be given together");
  }
  if (!request.entity_kind.empty()) {
    const auto kind = EntityKindNamed(request.entity_kind);
    if (!kind) return BadArgument("unknown entity kind " + request.entity_kind);
    query.entity = EntityKey{*kind, request.entity_id};
  }
  return query;
}

RunSummary SummaryOf(const StoredRun& run) {
  const RunState& state = run.state;
  return {run.run_id.value(),
          state.scope.project_id,
          state.scope.environment_id,
          state.scope.plan_id,
          state.scope.plan_version,
          std::string(Name(state.status)),
          std::string(SubstatusOf(state)),
          state.error_code,
          state.last_seq.value(),
          state.created_at,
          state.updated_at,
          run.quarantine};
}

}  // namespace

EmbeddedLog::EmbeddedLog(std::unique_ptr<StateStore> store, Clock& clock, Random& random,
                         Options options)
    : options_(options),
      store_(std::move(store)),
      clock_(clock),
      committer_(*store_, clock, [this](auto units) { feed_.Durable(units); }),
      authority_(*store_, committer_, clock, random, {options.memory_bytes_max}) {}

Result<Appended> EmbeddedLog::Append(Dialect dialect, std::string_view event,
                                     const AppendDefaults& defaults) {
  return std::move(AppendAll(dialect, std::span(&event, 1), defaults).front());
}

std::vector<Result<Appended>> EmbeddedLog::AppendAll(Dialect dialect,
                                                     std::span<const std::string_view> events,
                                                     const AppendDefaults& defaults) {
  std::vector<Result<Appended>> answers;
  answers.reserve(events.size());
  const Status usable = options_.read_only ? Status(ReadOnly()) : CheckDefaults(defaults);
  if (!usable) {
    for (std::size_t i = 0; i < events.size(); ++i) answers.emplace_back(usable.error());
    return answers;
  }
  const RunScope scope = ScopeOf(defaults);
  for (; !events.empty(); events = events.subspan(std::min(events.size(), kOrdersPerSubmit))) {
    const auto part = events.first(std::min(events.size(), kOrdersPerSubmit));
    UsedOrders orders;
    std::vector<std::optional<Error>> unusable;
    unusable.reserve(part.size());
    for (const std::string_view event : part) {
      AppendOrder& order = orders.Next(event.size());
      Status usable_event = ParseEvent(dialect, event, order);
      for (EventWrite& write : order.events) write.foreign = true;
      if (usable_event && defaults.tenant_only) {
        usable_event = KeepToTenant(defaults.tenant_id, order);
      }
      unusable.emplace_back(usable_event ? std::nullopt : std::optional(usable_event.error()));
      if (usable_event) orders.Keep();
    }
    auto placed = authority_.Await(authority_.Submit(orders.kept(), scope));
    EVERSTEP_ASSERT(placed.size() == orders.kept().size());
    std::size_t next = 0;
    for (std::optional<Error>& error : unusable) {
      if (error) {
        answers.emplace_back(std::move(*error));
        continue;
      }
      Result<Placed>& answer = placed[next];
      RunId& run_id = orders.kept()[next].run_id;
      if (!answer && defaults.tenant_only) {
        answer = WithoutOthers(*store_, run_id, defaults.tenant_id, std::move(answer).error());
      }
      answers.push_back(ToAppended(std::move(run_id), std::move(answer)));
      ++next;
    }
    EVERSTEP_ASSERT(next == placed.size());
  }
  return answers;
}

Result<EventPage> EmbeddedLog::Read(const EventRequest& request) {
  auto query = QueryOf(request);
  if (!query) return std::move(query).error();
  auto reader = store_->Read();
  auto run = RequireRun(*reader, RunId(request.run_id));
  if (!run) return std::move(run).error();
  const std::size_t limit = query->limit++;
  auto events = reader->ReadEvents(*run, *query);
  if (!events) return SetAside(std::move(reader), run->run_id, std::move(events).error());
  EventPage page;
  const bool cut = MayHaveMore(*query, *events) && events->back().seq < run->state.last_seq;
  page.more = events->size() > limit || cut;
  if (events->size() > limit) events->pop_back();
  page.next_after = events->empty() ? request.after : events->back().seq.value();
  EVERSTEP_ASSERT(page.next_after >= request.after);
  for (const Event& event : *events) AddViews(request.dialect, *run, event, page.events);
  return page;
}

Result<std::vector<LogEvent>> EmbeddedLog::ReadSince(SystemTime since, std::string_view tenant_id,
                                                     Dialect dialect, std::size_t limit) {
  const auto reader = store_->Read();
  auto position = reader->PositionBefore(since);
  if (!position) return std::move(position).error();
  RunsOf runs{std::string(tenant_id)};
  runs.since = since;
  std::vector<LogEvent> all;
  while (all.size() < limit) {
    const Position before = *position;
    auto views = ReadAlongOutbox(*reader, runs, dialect, limit - all.size(), *position);
    if (!views) return std::move(views).error();
    std::move(views->begin(), views->end(), std::back_inserter(all));
    if (*position == before) break;
  }
  return all;
}

Result<RunSnapshot> EmbeddedLog::Snapshot(std::string_view run_id,
                                          std::optional<std::uint64_t> at) {
  auto reader = store_->Read();
  auto run = RequireRun(*reader, RunId(std::string(run_id)));
  if (!run) return std::move(run).error();
  const std::uint64_t end = run->state.last_seq.value();
  if (at && (*at == 0 || *at > end)) {
    return BadArgument("runSeq " + std::to_string(*at) +
                       " is out of range; the log contains 1 to " + std::to_string(end));
  }
  if (!at || *at == end) {
    // The stored state is current, so no events need to be read.
    SnapshotBuilder builder(run->run_id, run->state);
    const Status read = reader->VisitEntities(
        run->run_no, EntityKind::kStep,
        [&](const EntityKey& key, const EntityState& state) { builder.AddStep(key.id, state); });
    if (!read) return SetAside(std::move(reader), run->run_id, read.error());
    return builder.Build();
  }
  RunFold fold(run->state.scope, run->state.key_version);
  EventQuery query;
  query.until = EventSeq(*at);
  while (query.after < query.until) {
    const auto events = reader->ReadEvents(*run, query);
    if (!events) return SetAside(std::move(reader), run->run_id, events.error());
    if (events->empty()) break;
    for (const Event& event : *events) fold.Apply(event);
    query.after = events->back().seq;
  }
  SnapshotBuilder builder(run->run_id, fold.run());
  for (const auto& [key, state] : fold.entities()) {
    if (key.kind == EntityKind::kStep) builder.AddStep(key.id, state);
  }
  return builder.Build();
}

// Quarantines the run if `error` reports a damaged record, as an append would. Closes the reader
// first, because a write may have to wait for open readers.
Error EmbeddedLog::SetAside(std::unique_ptr<StateReader> reader, const RunId& run_id, Error error) {
  reader.reset();
  if (error.code == ErrorCode::kStoreCorrupt && !options_.read_only) {
    authority_.Quarantine(run_id, error.message);
  }
  return error;
}

Result<RunList> EmbeddedLog::Runs(const RunFilter& filter) {
  RunQuery query;
  query.tenant_id = filter.tenant_id;
  query.project_id = filter.project_id;
  query.environment_id = filter.environment_id;
  query.plan_id = filter.plan_id;
  query.plan_version = filter.plan_version;
  query.run_id_prefix = filter.run_id_prefix;
  query.error_code = filter.error_code;
  query.updated_from = filter.updated_from.value_or(Timestamp{});
  query.updated_until = filter.updated_until.value_or(Timestamp{});
  if (!filter.status.empty()) {
    query.status = RunStatusNamed(filter.status);
    if (!query.status) return BadArgument("unknown run status " + filter.status);
  }
  query.created_from = filter.created_from.value_or(Timestamp{});
  query.created_until = filter.created_until.value_or(Timestamp{});
  query.cursor = filter.cursor;
  query.limit = std::clamp<std::size_t>(filter.limit, 1, kRunsPerPageMax);
  auto page = store_->Read()->ListRuns(query);
  if (!page) return std::move(page).error();
  RunList list;
  list.cursor = std::move(page->cursor);
  for (const StoredRun& run : page->runs) list.runs.push_back(SummaryOf(run));
  return list;
}

Result<std::optional<std::string>> EmbeddedLog::RunOfHook(std::string_view tenant_id,
                                                          std::string_view token) {
  auto holder = store_->Read()->FindHook(tenant_id, token);
  if (!holder) return std::move(holder).error();
  if (!*holder) return std::optional<std::string>();
  return std::optional((*holder)->run_id.value());
}

Result<std::unique_ptr<Subscription>> EmbeddedLog::Subscribe(std::string_view run_id,
                                                             std::uint64_t after, Dialect dialect) {
  if (!run_id.empty()) {
    const auto run = RequireRun(*store_->Read(), RunId(std::string(run_id)));
    if (!run) return run.error();
  }
  return std::unique_ptr<Subscription>(std::make_unique<EventSubscription>(
      *store_, feed_, clock_, EventSubscription::From{RunId(std::string(run_id)), after, dialect}));
}

LogHealth EmbeddedLog::Health(std::string_view tenant_id) {
  LogHealth health;
  const StoreCounts counts = store_->Read()->Counts(tenant_id);
  std::copy(std::begin(counts.runs_by_status), std::end(counts.runs_by_status),
            std::begin(health.runs_by_status));
  health.events = counts.events;
  health.memory_bytes = authority_.MemoryBytes();
  health.disk_bytes = store_->DiskBytes();
  health.payload_mismatches = authority_.payload_mismatches();
  health.newest_event_at = store_->LastPersistedAt();
  health.stopped = committer_.stopped();
  return health;
}

Result<VerifyReport> EmbeddedLog::Verify(const VerifyProgress& progress) {
  return VerifyStore(*store_, progress);
}

Result<std::uint64_t> EmbeddedLog::ApplyRetention(const RetentionPolicy& policy) {
  if (options_.read_only) return ReadOnly();
  std::vector<RunStatus> statuses = {RunStatus::kCompleted, RunStatus::kFailed,
                                     RunStatus::kCancelled};
  if (!policy.status.empty()) {
    const auto status = RunStatusNamed(policy.status);
    if (!status || !IsTerminal(*status)) {
      return BadArgument("invalid status for retention; must be COMPLETED, FAILED or CANCELLED");
    }
    statuses = {*status};
  }
  const Timestamp now = clock_.Now();
  const Timestamp cutoff = now - policy.older_than;
  const auto claims = SinkClaims::Read(*store_->Read());
  if (!claims) return claims.error();
  std::uint64_t removed = 0;
  for (const RunStatus status : statuses) {
    EVERSTEP_ASSERT(IsTerminal(status));
    RunQuery query;
    query.tenant_id = policy.tenant_id;
    query.status = status;
    query.created_until = cutoff;
    query.limit = kRunsPerPurge;
    do {
      auto reader = store_->Read();
      const auto page = reader->ListRuns(query);
      if (!page) return page.error();
      std::vector<RunId> old;
      for (const StoredRun& run : page->runs) {
        if (run.state.updated_at >= cutoff) continue;
        const auto claimed = claims->Holds(*reader, run);
        if (!claimed) return claimed.error();
        if (!*claimed) old.push_back(run.run_id);
      }
      reader.reset();
      const auto purged = authority_.Purge(old, now - policy.tombstones_for);
      if (!purged) return purged.error();
      EVERSTEP_ASSERT(*purged <= old.size());
      removed += *purged;
      query.cursor = page->cursor;
    } while (!query.cursor.empty());
  }
  return removed;
}

}  // namespace everstep
