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
  std::string directory;  // empty: in memory, gone with the object
  bool create_if_missing = true;
  bool read_only = false;  // beside the process that owns the store; see Log::Refresh
  std::uint64_t memory_bytes_max = 32ULL
                                   << 20;   // for runs kept in memory; not a limit on their number
  std::uint64_t cache_bytes = 32ULL << 20;  // for blocks read from disk
  std::uint64_t free_bytes_min = 64ULL << 20;  // below this much free disk appends are refused
};

// Scope of a new run whose first event does not say it (three of the dialects have no such words).
struct AppendDefaults {
  std::string tenant_id = "default";
  std::string project_id = "default";
  std::string environment_id = "default";
  std::string plan_id = "default";
  std::string plan_version = "1";
  // The events may concern runs of `tenant_id` only: runs of others are not there.
  bool tenant_only = false;

  bool operator==(const AppendDefaults&) const = default;
};

struct Appended {
  std::string run_id;
  std::string event_id;
  std::uint64_t run_seq = 0;
  SystemTime persisted_at{};
  bool idempotent = false;        // the event was there before; nothing was written
  bool payload_mismatch = false;  // it was there before with another payload
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
};

struct LogEvent {
  std::uint64_t run_seq = 0;
  std::string type;  // native name; "Unknown(<number>)" for one this build does not know
  std::string json;  // in the dialect asked for
};

struct EventPage {
  std::vector<LogEvent> events;
  std::uint64_t next_after = 0;  // give it as `after` to go on
  bool more = false;             // there were more than `limit`
};

struct RunFilter {
  std::string tenant_id = "default";
  std::string project_id;  // empty: any; likewise below
  std::string environment_id;
  std::string plan_id;
  std::string plan_version;
  std::string run_id_prefix;
  std::string status;                       // "RUNNING" …
  std::string error_code;                   // that the run failed with
  std::optional<SystemTime> created_from;   // inclusive
  std::optional<SystemTime> created_until;  // exclusive
  std::optional<SystemTime> updated_from;   // the last event: inclusive
  std::optional<SystemTime> updated_until;  // exclusive
  std::string cursor;                       // of the page before; empty: from the newest run
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
  std::string quarantine;  // why, if it is
};

struct RunList {
  std::vector<RunSummary> runs;  // newest first
  std::string cursor;            // empty: no more
};

// An alert as an observable value, not a log line.
struct Alert {
  std::string code;      // PROJECTOR_LAG_HIGH, PROJECTOR_NON_CONTIGUOUS_FETCH_DETECTED …
  std::string severity;  // P1, P2, P3
  std::string run_id;
  std::string detail;
  std::string tenant_id{};    // whose it is; empty: of the engine, and everybody may see it
  bool for_operator = false;  // of the server's own set-up: no tenant may see it
};

// How far a reader is behind the log.
struct ProjectionLag {
  std::uint64_t events = 0;           // not yet read (changes, for a subscription to all runs)
  std::chrono::milliseconds time{0};  // age of the oldest of them
  std::optional<Alert> alert;         // PROJECTOR_LAG_HIGH (P2) over five seconds
};

// Follows a run, or with an empty run id all runs, from a point on. Holds no events: it reads on
// when asked, so a slow reader costs nothing. One thread at a time; Close from any.
class Subscription {
 public:
  virtual ~Subscription() = default;
  // Up to `limit` events behind the last ones given; waits up to `wait` for the first. Empty: none
  // came in time, or the subscription was closed.
  virtual Result<std::vector<LogEvent>> Next(std::size_t limit, std::chrono::milliseconds wait) = 0;
  // Where the next event is read from: `after` of a new subscription that goes on here.
  virtual std::uint64_t position() const = 0;
  virtual Result<ProjectionLag> Lag() = 0;
  virtual void Close() = 0;
};

struct RetentionPolicy {
  std::string tenant_id = "default";
  std::string status;                  // a terminal one; empty: all three
  std::chrono::seconds older_than{0};  // since the run's last event
  std::chrono::seconds tombstones_for = std::chrono::hours(24 * 30);  // how long ids stay taken
};

struct VerifyReport {
  std::uint64_t runs = 0;
  std::uint64_t events = 0;
  struct Finding {
    std::string run_id;  // empty: not of one run
    std::string what;
  };
  std::vector<Finding> findings;
};
using VerifyProgress = std::function<void(std::uint64_t runs, std::uint64_t events)>;

struct LogHealth {
  std::uint64_t runs_by_status[8] = {};  // index 1..7: PENDING … CANCELLED
  std::uint64_t events = 0;
  std::uint64_t memory_bytes = 0;  // of runs in memory
  std::uint64_t disk_bytes = 0;
  std::uint64_t payload_mismatches = 0;  // since start
  SystemTime newest_event_at{};          // of all tenants; unset: no event, or not available
  bool stopped = false;
};

// A store of run logs, in this process. Thread-safe unless said otherwise.
class Log {
 public:
  // kStoreNotFound, kStoreLocked, kStoreFormatNewer, kStoreCorrupt, kStoreIo.
  static Result<std::unique_ptr<Log>> Open(const LogOptions& options);
  virtual ~Log() = default;

  // Appends one event, given as a JSON document in a writable dialect. On return of a value the
  // event is durable. kIndeterminate: it may be; open the log again and repeat. Any other error:
  // nothing was written.
  virtual Result<Appended> Append(Dialect dialect, std::string_view event,
                                  const AppendDefaults& defaults) = 0;
  Result<Appended> Append(Dialect dialect, std::string_view event) {
    return Append(dialect, event, AppendDefaults());
  }
  // Appends many with few writes; one answer each, in order. An event that is refused does not
  // hold up the others.
  virtual std::vector<Result<Appended>> AppendAll(Dialect dialect,
                                                  std::span<const std::string_view> events,
                                                  const AppendDefaults& defaults) = 0;
  std::vector<Result<Appended>> AppendAll(Dialect dialect,
                                          std::span<const std::string_view> events) {
    return AppendAll(dialect, events, AppendDefaults());
  }

  virtual Result<EventPage> Read(const EventRequest& request) = 0;
  // Events of all runs of a tenant persisted at or after `since`, in the order they became durable.
  virtual Result<std::vector<LogEvent>> ReadSince(SystemTime since, std::string_view tenant_id,
                                                  Dialect dialect, std::size_t limit) = 0;
  // As of now, or with `at` as of that runSeq. kRunNotFound; kInvalidArgument beyond the log's end.
  virtual Result<RunSnapshot> Snapshot(std::string_view run_id,
                                       std::optional<std::uint64_t> at) = 0;
  Result<RunSnapshot> Snapshot(std::string_view run_id) { return Snapshot(run_id, std::nullopt); }
  virtual Result<RunList> Runs(const RunFilter& filter) = 0;
  virtual Result<std::optional<std::string>> RunOfHook(std::string_view tenant_id,
                                                       std::string_view token) = 0;
  // `after`: the runSeq already seen; with an empty run id the position (see Subscription).
  virtual Result<std::unique_ptr<Subscription>> Subscribe(std::string_view run_id,
                                                          std::uint64_t after, Dialect dialect) = 0;
  Result<std::unique_ptr<Subscription>> Subscribe(std::string_view run_id, std::uint64_t after) {
    return Subscribe(run_id, after, Dialect::kNative);
  }
  // Of a read-only log: sees what its owner has made durable since.
  virtual Status Refresh() = 0;

  virtual LogHealth Health(std::string_view tenant_id) = 0;
  // Replays every run and compares with what is stored, and checks the store's own rows.
  virtual Result<VerifyReport> Verify(const VerifyProgress& progress) = 0;
  Result<VerifyReport> Verify() { return Verify({}); }
  // A consistent copy, taken while appends go on, into a directory that must not exist.
  virtual Status Backup(const std::string& directory) = 0;
  virtual Status Compact() = 0;
  // Removes whole runs. Answers how many.
  virtual Result<std::uint64_t> ApplyRetention(const RetentionPolicy& policy) = 0;
};

// Copies a backup to `directory`, which must not exist, and checks that it opens.
Status RestoreLog(const std::string& backup, const std::string& directory);

struct SalvagedLog {
  std::vector<std::string> damage;  // what was met in the files; empty: they are intact
  std::uint64_t runs = 0;           // in the new store
  std::uint64_t events = 0;
  struct Run {
    std::string run_id;  // "run no 7" when its id is lost
    std::string tenant_id;
    std::uint64_t events_kept = 0;  // from the beginning; zero: the run is not in the new store
    std::vector<std::pair<std::uint64_t, std::uint64_t>> missing;  // runSeq from, to; inclusive
    bool row_lost = false;  // whose run it was is lost: its events cannot be used
  };
  std::vector<Run> incomplete;
  std::uint64_t events_after_gaps = 0;
};

// Makes a store in `directory`, which must not exist, from what is intact in a damaged one that
// nobody has open; the damaged one is left as it is. The log of a run is kept up to its first gap,
// and a run with a gap is quarantined: nothing goes on with it. `after_gap` gets each intact event
// that lies after a gap. kStoreNotFound, kStoreExists, kStoreLocked, kStoreFormatNewer, kStoreIo.
Result<SalvagedLog> SalvageLog(
    const std::string& damaged, const std::string& directory,
    const std::function<void(const std::string& run_id, const LogEvent& event)>& after_gap);

}  // namespace everstep
