#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "everstep/dialect.h"
#include "everstep/result.h"
#include "everstep/snapshot.h"

namespace everstep {

struct LogOptions {
  std::string directory;  // empty: in memory, lost when the Log is destroyed
  bool create_if_missing = true;
  bool read_only = false;  // open alongside the process that owns the store; see Log::Refresh
  std::uint64_t memory_bytes_max = 32ULL << 20;  // for cached runs; does not limit their number
  std::uint64_t cache_bytes = 32ULL << 20;       // for blocks read from disk
  std::uint64_t free_bytes_min = 64ULL << 20;    // with less free disk space, appends are refused
};

// Scope of a new run whose first event does not specify it; three dialects have no fields for it.
struct AppendDefaults {
  std::string tenant_id = "default";
  std::string project_id = "default";
  std::string environment_id = "default";
  std::string plan_id = "default";
  std::string plan_version = "1";
  // Only runs of `tenant_id` may be written; runs of other tenants are reported as not found.
  bool tenant_only = false;

  bool operator==(const AppendDefaults&) const = default;
};

struct Appended {
  std::string run_id;
  std::string event_id;
  std::uint64_t run_seq = 0;
  SystemTime persisted_at{};
  bool idempotent = false;        // the event was already stored; nothing was written
  bool payload_mismatch = false;  // it was already stored with a different payload
};

struct EventRequest {
  std::string run_id;
  Dialect dialect = Dialect::kNative;
  std::uint64_t after = 0;           // exclusive
  std::uint64_t until = UINT64_MAX;  // inclusive
  std::string event_type;            // native name; empty: all
  std::string entity_kind;           // "step", "hook" …, with entity_id
  std::string entity_id;
  std::size_t limit = 1000;  // stored events per page; at most 10,000
  // Bytes of payloads per page, which ends with the event that reaches them.
  std::size_t bytes_max = 16 << 20;
};

struct LogEvent {
  std::uint64_t run_seq = 0;
  std::string type;  // native name; "Unknown(<number>)" for a type this build does not know
  std::string json;  // in the requested dialect
};

struct EventPage {
  std::vector<LogEvent> events;
  std::uint64_t next_after = 0;  // `after` of the request for the next page
  bool more = false;             // more events follow
};

struct RunFilter {
  std::string tenant_id = "default";
  std::string project_id;  // empty: any; likewise below
  std::string environment_id;
  std::string plan_id;
  std::string plan_version;
  std::string run_id_prefix;
  std::string status;                       // "RUNNING" …
  std::string error_code;                   // of a failed run
  std::optional<SystemTime> created_from;   // inclusive
  std::optional<SystemTime> created_until;  // exclusive
  std::optional<SystemTime> updated_from;   // the last event: inclusive
  std::optional<SystemTime> updated_until;  // exclusive
  std::string cursor;                       // of the previous page; empty: from the newest run
  std::size_t limit = 50;                   // at most 1,000
};

struct RunSummary {
  std::string run_id;
  std::string project_id;
  std::string environment_id;
  std::string plan_id;
  std::string plan_version;
  std::string status;
  std::string substatus;
  std::string error_code;
  std::uint64_t last_event_seq = 0;
  SystemTime created_at{};
  SystemTime updated_at{};
  std::string quarantine;  // the reason, if the run is quarantined
};

struct RunList {
  std::vector<RunSummary> runs;  // newest first
  std::string cursor;            // for the next page; empty: this is the last one
};

// A condition that an operator should know about.
struct Alert {
  std::string code;      // PROJECTOR_LAG_HIGH, PROJECTOR_NON_CONTIGUOUS_FETCH_DETECTED …
  std::string severity;  // P1, P2, P3
  std::string run_id;
  std::string detail;
  std::string tenant_id{};    // the tenant concerned; empty: the engine, visible to every tenant
  bool for_operator = false;  // about the server's own configuration: hidden from tenants
};

// How far a reader lags behind the log.
struct ProjectionLag {
  std::uint64_t events = 0;           // unread events (changes, for a subscription to all runs)
  std::chrono::milliseconds time{0};  // age of the oldest unread event
  std::optional<Alert> alert;         // PROJECTOR_LAG_HIGH (P2) if over five seconds
};

// Follows one run, or all runs if the run id is empty, from a given position. Buffers no events:
// Next reads them from the log, so a slow reader costs nothing. Calls must not overlap, except
// Close, which any thread may call at any time.
class Subscription {
 public:
  virtual ~Subscription() = default;
  // Returns up to `limit` events that follow those returned before; waits up to `wait` for the
  // first one. Returns an empty list on timeout or after Close.
  virtual Result<std::vector<LogEvent>> Next(std::size_t limit, std::chrono::milliseconds wait) = 0;
  // The `after` for a new subscription that continues where this one is.
  virtual std::uint64_t position() const = 0;
  virtual Result<ProjectionLag> Lag() = 0;
  // Wakes a waiting Next, which returns an empty list.
  virtual void Close() = 0;
};

struct RetentionPolicy {
  std::string tenant_id = "default";
  std::string status;                  // a terminal status; empty: all three
  std::chrono::seconds older_than{0};  // since the run's last event
  std::chrono::seconds tombstones_for = std::chrono::hours(24 * 30);  // before ids can be reused
};

struct VerifyReport {
  std::uint64_t runs = 0;
  std::uint64_t events = 0;
  struct Finding {
    std::string run_id;  // empty: concerns the store, not one run
    std::string what;
  };
  std::vector<Finding> findings;
};
using VerifyProgress = std::function<void(std::uint64_t runs, std::uint64_t events)>;

struct LogHealth {
  std::uint64_t runs_by_status[8] = {};  // index 1..7: PENDING … CANCELLED
  std::uint64_t events = 0;
  std::uint64_t memory_bytes = 0;  // used by runs cached in memory
  std::uint64_t disk_bytes = 0;
  std::uint64_t payload_mismatches = 0;  // since startup
  SystemTime newest_event_at{};          // across all tenants; unset: no event, or not available
  bool stopped = false;
};

// A store of run logs. Thread-safe.
class Log {
 public:
  // kStoreNotFound, kStoreLocked, kStoreFormatNewer, kStoreCorrupt, kStoreIo.
  static Result<std::unique_ptr<Log>> Open(const LogOptions& options);
  virtual ~Log() = default;

  // Appends one event, a JSON document in a writable dialect. If a value is returned, the event is
  // durable. kIndeterminate: the event may or may not be durable; reopen the log and repeat. On any
  // other error nothing was written.
  virtual Result<Appended> Append(Dialect dialect, std::string_view event,
                                  const AppendDefaults& defaults) = 0;
  Result<Appended> Append(Dialect dialect, std::string_view event) {
    return Append(dialect, event, AppendDefaults());
  }
  // Appends many events with few writes. Returns one result per event, in order. A rejected event
  // does not affect the others.
  virtual std::vector<Result<Appended>> AppendAll(Dialect dialect,
                                                  std::span<const std::string_view> events,
                                                  const AppendDefaults& defaults) = 0;
  std::vector<Result<Appended>> AppendAll(Dialect dialect,
                                          std::span<const std::string_view> events) {
    return AppendAll(dialect, events, AppendDefaults());
  }

  virtual Result<EventPage> Read(const EventRequest& request) = 0;
  // Returns events of all runs of a tenant that were persisted at or after `since`, in the order in
  // which they became durable.
  virtual Result<std::vector<LogEvent>> ReadSince(SystemTime since, std::string_view tenant_id,
                                                  Dialect dialect, std::size_t limit) = 0;
  // Returns the state after the run's last event or, with `at`, after that runSeq. kRunNotFound;
  // kInvalidArgument: `at` is beyond the end of the run's log.
  virtual Result<RunSnapshot> Snapshot(std::string_view run_id,
                                       std::optional<std::uint64_t> at) = 0;
  Result<RunSnapshot> Snapshot(std::string_view run_id) { return Snapshot(run_id, std::nullopt); }
  virtual Result<RunList> Runs(const RunFilter& filter) = 0;
  // Returns the id of the run that owns the hook with this token, if there is one.
  virtual Result<std::optional<std::string>> RunOfHook(std::string_view tenant_id,
                                                       std::string_view token) = 0;
  // `after`: the last runSeq already seen, or for all runs (empty run id) a Subscription::position.
  virtual Result<std::unique_ptr<Subscription>> Subscribe(std::string_view run_id,
                                                          std::uint64_t after, Dialect dialect) = 0;
  Result<std::unique_ptr<Subscription>> Subscribe(std::string_view run_id, std::uint64_t after) {
    return Subscribe(run_id, after, Dialect::kNative);
  }
  // For a read-only log: makes visible what the owning process has made durable since the log was
  // opened or last refreshed.
  virtual Status Refresh() = 0;

  virtual LogHealth Health(std::string_view tenant_id) = 0;
  // Replays every run, compares the result with the stored state, and checks the store's own rows.
  virtual Result<VerifyReport> Verify(const VerifyProgress& progress) = 0;
  Result<VerifyReport> Verify() { return Verify({}); }
  // Copies a consistent state into `directory`, which must not exist, while appends continue.
  virtual Status Backup(const std::string& directory) = 0;
  virtual Status Compact() = 0;
  // Removes whole runs and returns their number.
  virtual Result<std::uint64_t> ApplyRetention(const RetentionPolicy& policy) = 0;
};

// Copies a backup to `directory`, which must not exist, and checks that it opens.
Status RestoreLog(const std::string& backup, const std::string& directory);

struct SalvagedLog {
  std::vector<std::string> damage;  // damage found in the files; empty: they are intact
  // Rows could not be read. Runs of which nothing else is left are missing and not in `incomplete`.
  bool rows_lost = false;
  std::uint64_t runs = 0;  // in the new store
  std::uint64_t events = 0;
  struct Run {
    std::string run_id;  // "run no 7" if its id is lost
    std::string tenant_id;
    std::uint64_t events_kept = 0;  // from the beginning; zero: the run is not in the new store
    std::vector<std::pair<std::uint64_t, std::uint64_t>> missing;  // runSeq from, to; inclusive
    bool row_lost = false;  // the run's own record is lost, so its events cannot be used
  };
  std::vector<Run> incomplete;
  std::uint64_t events_after_gaps = 0;
};

// Builds a new store in `directory`, which must not exist, from the intact parts of a damaged store
// that no process has open. The damaged store is not modified. Each run is kept up to the first gap
// in its log; a run with a gap is quarantined, so it does not continue. `after_gap` is called for
// each intact event after a gap. kStoreNotFound, kStoreExists, kStoreLocked, kStoreFormatNewer,
// kStoreIo.
Result<SalvagedLog> SalvageLog(
    const std::string& damaged, const std::string& directory,
    const std::function<void(const std::string& run_id, const LogEvent& event)>& after_gap);

}  // namespace everstep
