#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "everstep/result.h"
#include "machine/state.h"

namespace everstep {

// A run's number in this store: short, in order of creation, never reused.
using RunNo = Named<struct RunNoTag, std::uint64_t>;
// A position in the order of commits over all runs: 1, 2, 3 …
using Position = Named<struct PositionTag, std::uint64_t>;

struct StoredRun {
  RunNo run_no;
  RunId run_id;
  RunState state;
  std::string quarantine;  // why the run is quarantined; empty: not quarantined
};

// What remains of a run that retention removed, until the tombstone expires.
struct Tombstone {
  RunStatus status{};
  EventSeq last_seq;
  Timestamp removed_at{};
  std::string tenant_id{};  // empty: unknown, because an earlier version removed the run
};

struct HookHolder {
  RunId run_id;
  std::string hook_id;
  Timestamp kept_until{};  // set: the hook ended with its run, but holds the token until then

  bool operator==(const HookHolder&) const = default;
};

// A token and the hook that holds it.
struct HeldToken {
  std::string token;
  HookHolder holder;

  bool operator==(const HeldToken&) const = default;
};

struct Timer {
  Timestamp due_at{};
  RunId run_id;
  std::string wait_id;
  std::string place{};  // pass it as TimerQuery::after to continue after this timer

  bool operator==(const Timer& other) const {
    return due_at == other.due_at && run_id == other.run_id && wait_id == other.wait_id;
  }
};

struct TimerQuery {
  Timestamp until{};  // inclusive
  std::size_t limit = 100;
  std::string after{};  // place of a timer, exclusive; empty: from the first
};

// Events of one run that became durable together. Sinks and time queries read these in order.
struct OutboxEntry {
  Position position;
  RunId run_id;
  EventSeq first_seq;
  EventSeq last_seq;
  // When the events were persisted. If the clock was set back, the latest time of all earlier
  // changes instead, so that it never decreases along the outbox.
  Timestamp committed_at{};

  bool operator==(const OutboxEntry&) const = default;
};

// Identifies a sink: its name within a tenant. The tenant is empty for the server's own sinks.
struct SinkKey {
  std::string tenant_id;
  std::string name;  // 1 to 128 bytes

  auto operator<=>(const SinkKey&) const = default;
};

// The progress of a sink through the outbox.
struct SinkMark {
  SinkKey key;
  Position position;               // up to here, all is delivered, dead, or not meant for this sink
  bool open = true;                // retention keeps what an open sink has not received
  std::uint64_t dead_letters = 0;  // maintained by the store

  bool operator==(const SinkMark&) const = default;
};

// An event that a sink did not accept.
struct DeadLetter {
  RunId run_id;
  EventSeq seq;
  EventType type{};
  Timestamp persisted_at{};  // of the event
  Timestamp died_at{};
  std::uint32_t attempts = 0;  // zero: held, because an earlier event of its run is a dead letter
  std::string reason;

  bool operator==(const DeadLetter&) const = default;
};

struct DeadLetterQuery {
  SinkKey sink;
  RunId run_id{};     // empty: of any run
  RunId after_run{};  // after this letter; empty: from the first
  EventSeq after_seq{};
  std::size_t limit = 100;
};

// The changes that a sink's progress makes; applied as a whole or not at all.
struct SinkMove {
  SinkMark mark;                                 // its count of dead letters is ignored
  std::vector<DeadLetter> died;                  // an existing one is overwritten
  std::vector<std::pair<RunId, EventSeq>> gone;  // dead letters that were delivered or given up
  std::optional<std::string> definition{};       // the sink's document; nothing: unchanged
};

// All changes that one decision makes in one run. They become durable as a whole or not at all.
struct RunChange {
  RunNo run_no;
  RunId run_id;
  RunStatus status_before = RunStatus::kAbsent;  // kAbsent: this change creates the run
  RunState state;                                // after the change
  std::vector<Event> events;                     // at least one, contiguous, persisted_at set
  std::vector<Sha256Digest> instance_keys;       // of the events with an instance, in order
  std::vector<std::pair<EntityKey, EntityState>> entities;  // after the change, each once
  struct Token {
    std::string token;
    std::optional<std::string> hook_id;  // nothing: the token is released
    Timestamp kept_until{};              // as in HookHolder
  };
  std::vector<Token> tokens;  // of the run's tenant
  struct Alarm {
    Timestamp due_at{};
    std::string wait_id;
    bool armed = true;
  };
  std::vector<Alarm> alarms;
  Position position;  // follows that of the previous change, also across commits
};

struct EventQuery {
  EventSeq after{};                   // exclusive
  EventSeq until{UINT64_MAX};         // inclusive
  std::optional<EventType> type{};    // only these
  std::optional<EntityKey> entity{};  // only those of this entity
  std::size_t limit = 1000;
  // Bounds the memory of a read: it ends with the event whose payload reaches this many bytes.
  std::size_t bytes_max = 16 << 20;
  bool newest_first = false;
};

// True if `events`, the result of `query`, reached one of its limits, so that more may follow.
bool MayHaveMore(const EventQuery& query, std::span<const Event> events);

struct RunQuery {
  std::string tenant_id{};   // required
  std::string project_id{};  // empty: any; likewise below
  std::string environment_id{};
  std::string plan_id{};
  std::string plan_version{};
  std::string run_id_prefix{};
  std::string error_code{};
  std::optional<RunStatus> status{};
  Timestamp created_from{};   // inclusive; unset: open
  Timestamp created_until{};  // exclusive; unset: open
  Timestamp updated_from{};   // likewise
  Timestamp updated_until{};
  std::string cursor{};  // empty: from the first
  std::size_t limit = 50;
  bool oldest_first = false;
};

struct RunPage {
  std::vector<StoredRun> runs;       // newest first, unless oldest_first
  std::string cursor;                // continues after the last run; empty: there are no more
  std::vector<std::string> cursors;  // one per run, to continue after it; also for the last of all
  std::size_t rows = 0;              // read for this page; those that the query left out count too
};

// Whether a run comes before another one in a list in the query's order, whatever else the queries
// asked for. `cursor` and `other` are those after the runs.
bool IsListedBefore(const RunQuery& query, std::string_view cursor, std::string_view other);

// A small document that belongs to a tenant and not to a run. It is found by its kind, tenant and
// name. The tenant is empty if the document belongs to none.
// Stored: never reuse a value.
enum class DocumentKind : std::uint8_t {
  kPlanVersion = 1,
  kArtifact = 2,
  kSink = 3,
  kInboundRule = 4,
  kAnswer = 8,
  kQueue = 9,
  kMessage = 16,
  kMessageContent = 17,
  kEndpoint = 18,
  kStream = 19,
  kStreamChunk = 20,
  kStreamWithoutRun = 21,
  kCheckpoint = 22,  // of a run; see CheckpointKey
};
struct DocumentKey {
  DocumentKind kind{};
  std::string tenant_id;
  std::string name;  // 1 to 1,000 bytes

  auto operator<=>(const DocumentKey&) const = default;
};
// Removed with the run, as all documents are whose name begins with its id and a zero.
inline DocumentKey CheckpointKey(const std::string& tenant_id, const RunId& run_id) {
  return {DocumentKind::kCheckpoint, tenant_id, run_id.value() + '\0'};
}
// The document with a sink's definition.
inline DocumentKey SinkDocumentKey(const SinkKey& sink) {
  return {DocumentKind::kSink, sink.tenant_id, sink.name};
}
struct TenantDocument {
  DocumentKey key;
  std::optional<std::string> text;  // nothing: the document is removed
  // The size of the file that the document stands for. Counted for the tenant once, when the
  // document is new.
  std::uint64_t file_bytes = 0;

  bool operator==(const TenantDocument&) const = default;
};
struct DocumentQuery {
  DocumentKind kind{};
  std::string tenant_id;
  std::string prefix{};  // prefix of the names
  std::string after{};   // a name, exclusive; empty: from the first
  std::size_t limit = 100;
};

// What a tenant has in the store. The store maintains these counts.
struct StoreCounts {
  std::uint64_t runs_by_status[8] = {};  // index: RunStatus
  std::uint64_t events = 0;
  std::uint64_t row_bytes = 0;   // of the records of events, and of documents
  std::uint64_t file_bytes = 0;  // of the files that documents stand for
  bool counts_bytes = true;      // false: begun by an earlier version, which did not count bytes

  std::uint64_t bytes() const { return row_bytes + file_bytes; }
};

// A consistent view of the store between two commits. To be used by one thread at a time. Keep it
// short-lived: while a view of a memory store is open, commits wait. kStoreCorrupt says which
// record is damaged.
class StateReader {
 public:
  virtual ~StateReader() = default;

  virtual Result<std::optional<StoredRun>> FindRun(const RunId& run_id) = 0;
  virtual Result<std::optional<Tombstone>> FindTombstone(const RunId& run_id) = 0;
  virtual Result<std::optional<EntityState>> FindEntity(RunNo run, const EntityKey& key) = 0;
  // All entities of the run, or those of one kind, ordered by kind and id.
  virtual Status VisitEntities(RunNo run, std::optional<EntityKind> kind,
                               const std::function<void(EntityKey, EntityState)>& visit) = 0;
  // Returns the stored event with this idempotency key; `like` is an event that has this key.
  virtual Result<std::optional<Event>> FindByKey(const StoredRun& run, const Event& like,
                                                 const Sha256Digest& key) = 0;
  // In order of seq. With a type or an entity, follows the chain of its events instead of scanning
  // the run.
  virtual Result<std::vector<Event>> ReadEvents(const StoredRun& run, const EventQuery& query) = 0;
  virtual Result<RunPage> ListRuns(const RunQuery& query) = 0;
  virtual Result<std::optional<HookHolder>> FindHook(std::string_view tenant_id,
                                                     std::string_view token) = 0;
  // The held tokens, in order of their bytes, after `after` (empty: from the first).
  virtual Result<std::vector<HeldToken>> ListHooks(std::string_view tenant_id,
                                                   std::string_view after, std::size_t limit) = 0;
  // In order of due time. Reads only what it returns: a caller that continues after the last place
  // does not scan the timers that have been removed before it.
  virtual Result<std::vector<Timer>> TimersDue(const TimerQuery& query) = 0;
  virtual Result<std::optional<std::string>> FindPlan(const Sha256Digest& sha256) = 0;
  virtual Result<std::optional<std::string>> FindDocument(const DocumentKey& key) = 0;
  // In order of name.
  virtual Result<std::vector<TenantDocument>> ListDocuments(const DocumentQuery& query) = 0;
  virtual Result<std::vector<OutboxEntry>> ReadOutbox(Position after, std::size_t limit) = 0;
  // Returns the last position up to which everything was persisted earlier than `time`.
  virtual Result<Position> PositionBefore(Timestamp time) = 0;
  // Returns a lower bound for the times at which the events after `after` were persisted; empty if
  // there are no such events.
  virtual Result<std::optional<Timestamp>> EarliestBehind(Position after) = 0;
  virtual Result<std::optional<SinkMark>> FindSink(const SinkKey& key) = 0;
  // Of all tenants, in order of tenant and name.
  virtual Result<std::vector<SinkMark>> ListSinks() = 0;
  // In order of run and seq.
  virtual Result<std::vector<DeadLetter>> ListDeadLetters(const DeadLetterQuery& query) = 0;
  virtual StoreCounts Counts(std::string_view tenant_id) = 0;
};

// A fault that Check found.
struct StoreFault {
  std::string run_id;  // empty: not about one run
  std::string what;
};

// Stores runs. Readers may be opened from any thread at any time. The functions that write must be
// called by one thread at a time.
class StateStore {
 public:
  virtual ~StateStore() = default;

  // ---- reading
  virtual std::unique_ptr<StateReader> Read() = 0;
  // Visits every run in order of creation. Stops at and returns the first error of `visit`.
  virtual Status VisitRuns(const std::function<Status(const StoredRun&)>& visit) = 0;
  // Visits every run that has neither ended nor been quarantined, tenant by tenant. Stops like
  // VisitRuns.
  virtual Status VisitActive(const std::function<Status(const StoredRun&)>& visit) = 0;
  // Makes visible what another process has written since. Does nothing for the owner of the store.
  virtual Status Refresh() = 0;

  // ---- writing
  // Writes changes, then documents (put or removed), in the order given, as one atomic, synced
  // write. On Ok all of it is durable. kStoreFull: nothing was written. If the write fails in any
  // other way, it is unknown what is durable (kIndeterminate), and the store refuses every later
  // write with kStoreStopped until it is reopened.
  virtual Status Commit(std::span<const RunChange* const> changes,
                        std::span<const TenantDocument* const> documents) = 0;
  Status Commit(std::span<const RunChange* const> changes) { return Commit(changes, {}); }
  // Quarantines the run: it is kept as it is and takes no more events.
  virtual Status Quarantine(const RunId& run_id, std::string_view reason) = 0;
  // Stores a plan under the SHA-256 of its document. Idempotent.
  virtual Status PutPlan(const Sha256Digest& sha256, std::string_view document) = 0;
  Status PutDocuments(std::span<const TenantDocument> documents);
  // Creates the mark of a sink or moves it.
  virtual Status MoveSink(const SinkMove& move) = 0;
  // Removes a sink: its document, its mark and its dead letters.
  virtual Status RemoveSink(const SinkKey& key) = 0;
  // Removes whole runs and leaves a tombstone for each. Removes tombstones older than `expired`.
  virtual Status Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) = 0;

  // ---- upkeep
  virtual RunNo LastRunNo() = 0;
  virtual Position LastPosition() = 0;
  // The latest time at which any event was persisted.
  virtual Timestamp LastPersistedAt() = 0;
  // Makes a consistent copy in `directory`, which must not exist.
  virtual Status Backup(const std::string& directory) = 0;
  virtual Status Compact() = 0;
  // Returns an error if it is known that acknowledged data cannot be read (kStoreCorrupt) or that
  // no more writes are possible (kStoreStopped). Cheap enough for a health probe.
  virtual Status Health() = 0;
  // Reads every block of the store's files, then checks its rows (indexes, keys, counts, outbox)
  // against each other. Reports damage and inconsistencies.
  virtual Status Check(const std::function<void(StoreFault)>& report) = 0;
  virtual std::uint64_t DiskBytes() = 0;
};

struct StoreOptions {
  bool create_if_missing = true;
  bool read_only = false;                      // opened beside the process that owns the store
  std::uint64_t free_bytes_min = 64ULL << 20;  // with less free disk, writes fail with kStoreFull
  std::uint64_t cache_bytes = 32ULL << 20;     // cache of blocks that were read
  std::uint64_t write_buffer_bytes = 64ULL << 20;  // buffer of rows not yet in a table file
};

std::unique_ptr<StateStore> OpenMemoryStore();
// Opens or creates the store in `directory`: kStoreNotFound, kStoreLocked, kStoreFormatNewer,
// kStoreCorrupt, kStoreIo.
Result<std::unique_ptr<StateStore>> OpenRocksdbStore(const std::string& directory,
                                                     const StoreOptions& options);

}  // namespace everstep
