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

// A run's number in this store: short, never reused, in order of creation.
using RunNo = Named<struct RunNoTag, std::uint64_t>;
// A place in the order of commits, over all runs: 1, 2, 3 …
using Position = Named<struct PositionTag, std::uint64_t>;

struct StoredRun {
  RunNo run_no;
  RunId run_id;
  RunState state;
  std::string quarantine;  // why the run is quarantined; empty: it is not
};

// What stays of a run that retention removed, until the window closes.
struct Tombstone {
  RunStatus status{};
  EventSeq last_seq;
  Timestamp removed_at{};
};

struct HookHolder {
  RunId run_id;
  std::string hook_id;
  Timestamp kept_until{};  // the hook ended with its run, and keeps the token so long; unset: lives

  bool operator==(const HookHolder&) const = default;
};

// A token that is held.
struct HeldToken {
  std::string token;
  HookHolder holder;

  bool operator==(const HeldToken&) const = default;
};

struct Timer {
  Timestamp due_at{};
  RunId run_id;
  std::string wait_id;
  std::string place{};  // in the order of timers: TimerQuery::after to go on behind it

  bool operator==(const Timer& other) const {
    return due_at == other.due_at && run_id == other.run_id && wait_id == other.wait_id;
  }
};

struct TimerQuery {
  Timestamp until{};  // inclusive
  std::size_t limit = 100;
  std::string after{};  // a timer's place; empty: from the first
};

// Events of one run that became durable together; what sinks and time queries walk along.
struct OutboxEntry {
  Position position;
  RunId run_id;
  EventSeq first_seq;
  EventSeq last_seq;
  // When its events were persisted. Later than that while the clock is behind an earlier change:
  // along the outbox it never goes back.
  Timestamp committed_at{};

  bool operator==(const OutboxEntry&) const = default;
};

// Where events go to: a name within a tenant. An empty tenant is the server's own.
struct SinkKey {
  std::string tenant_id;
  std::string name;  // 1 to 128 bytes

  auto operator<=>(const SinkKey&) const = default;
};

// How far a sink has come.
struct SinkMark {
  SinkKey key;
  Position position;  // what lies up to here is delivered, a dead letter, or not for it
  bool open = true;   // retention keeps what an open sink has not had
  std::uint64_t dead_letters = 0;  // maintained by the store

  bool operator==(const SinkMark&) const = default;
};

// An event that a sink did not take.
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
  RunId after_run{};  // behind this letter; empty: from the first
  EventSeq after_seq{};
  std::size_t limit = 100;
};

// What a sink's progress changes; all of it or nothing.
struct SinkMove {
  SinkMark mark;                                 // its count is not read
  std::vector<DeadLetter> died;                  // one that is there already is written anew
  std::vector<std::pair<RunId, EventSeq>> gone;  // dead letters that are delivered or given up
};

// All that one decision changes in one run. Either all of it becomes durable or nothing.
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
    std::optional<std::string> hook_id;  // nothing: the token becomes free
    Timestamp kept_until{};              // as in HookHolder
  };
  std::vector<Token> tokens;  // of the run's tenant
  struct Alarm {
    Timestamp due_at{};
    std::string wait_id;
    bool armed = true;
  };
  std::vector<Alarm> alarms;
  Position position;  // the one behind the change before, in a commit and over commits
};

struct EventQuery {
  EventSeq after{};                   // exclusive
  EventSeq until{UINT64_MAX};         // inclusive
  std::optional<EventType> type{};    // only these
  std::optional<EntityKey> entity{};  // only this entity's
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
  std::vector<StoredRun> runs;       // newest first, unless asked otherwise
  std::string cursor;                // goes on behind the last run; empty: there are no more
  std::vector<std::string> cursors;  // behind each of the runs, also behind the last of all
};

// A small document that belongs to no run, of a tenant (or of none: an empty one): its kind and its
// name find it.
// Stored: never reuse.
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
};
struct DocumentKey {
  DocumentKind kind{};
  std::string tenant_id;
  std::string name;  // 1 to 1,000 bytes

  auto operator<=>(const DocumentKey&) const = default;
};
struct TenantDocument {
  DocumentKey key;
  std::optional<std::string> text;  // nothing: it is removed
  // Of the file that it stands for. Counted for the tenant once, when the document is new.
  std::uint64_t file_bytes = 0;

  bool operator==(const TenantDocument&) const = default;
};
struct DocumentQuery {
  DocumentKind kind{};
  std::string tenant_id;
  std::string prefix{};  // of the name
  std::string after{};   // a name; empty: from the first
  std::size_t limit = 100;
};

// What the store holds, as maintained counts.
struct StoreCounts {
  std::uint64_t runs_by_status[8] = {};  // index: RunStatus
  std::uint64_t events = 0;
  std::uint64_t row_bytes = 0;   // of the records of its events and of its documents
  std::uint64_t file_bytes = 0;  // of the files that its documents stand for
  bool counts_bytes = true;      // false: an earlier version began it and did not count bytes

  std::uint64_t bytes() const { return row_bytes + file_bytes; }
};

// A consistent view: all answers are of one moment between two commits. One thread at a time. Short
// lived: a memory store holds back commits while a view is open. kStoreCorrupt says which record.
class StateReader {
 public:
  virtual ~StateReader() = default;

  virtual Result<std::optional<StoredRun>> FindRun(const RunId& run_id) = 0;
  virtual Result<std::optional<Tombstone>> FindTombstone(const RunId& run_id) = 0;
  virtual Result<std::optional<EntityState>> FindEntity(RunNo run, const EntityKey& key) = 0;
  // All entities of the run, or those of one kind, ordered by kind and id.
  virtual Status VisitEntities(RunNo run, std::optional<EntityKind> kind,
                               const std::function<void(EntityKey, EntityState)>& visit) = 0;
  // The stored event with this idempotency key; `like` is an event whose key it is.
  virtual Result<std::optional<Event>> FindByKey(const StoredRun& run, const Event& like,
                                                 const Sha256Digest& key) = 0;
  // In order of seq. Reads only what it returns when a type or an entity is asked for.
  virtual Result<std::vector<Event>> ReadEvents(const StoredRun& run, const EventQuery& query) = 0;
  virtual Result<RunPage> ListRuns(const RunQuery& query) = 0;
  virtual Result<std::optional<HookHolder>> FindHook(std::string_view tenant_id,
                                                     std::string_view token) = 0;
  // Tokens that are held, in order of their bytes, behind `after` (empty: from the first).
  virtual Result<std::vector<HeldToken>> ListHooks(std::string_view tenant_id,
                                                   std::string_view after, std::size_t limit) = 0;
  // In order of due time. Reads only what it returns, so that who goes on behind the last place
  // does not walk over timers that are gone.
  virtual Result<std::vector<Timer>> TimersDue(const TimerQuery& query) = 0;
  virtual Result<std::optional<std::string>> FindPlan(const Sha256Digest& sha256) = 0;
  virtual Result<std::optional<std::string>> FindDocument(const DocumentKey& key) = 0;
  // In order of name.
  virtual Result<std::vector<TenantDocument>> ListDocuments(const DocumentQuery& query) = 0;
  virtual Result<std::vector<OutboxEntry>> ReadOutbox(Position after, std::size_t limit) = 0;
  // The last position before which everything was persisted earlier than `time`.
  virtual Result<Position> PositionBefore(Timestamp time) = 0;
  // No event behind `after` was persisted before this time. Empty: there are none.
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
  std::string run_id;  // empty: not of one run
  std::string what;
};

// Where runs are kept. Readers may be opened from any thread at any time; the writing half has one
// caller at a time.
class StateStore {
 public:
  virtual ~StateStore() = default;

  // ---- reading
  virtual std::unique_ptr<StateReader> Read() = 0;
  // Every run in order of creation; stops at the first error `visit` returns.
  virtual Status VisitRuns(const std::function<Status(const StoredRun&)>& visit) = 0;
  // Every run that has not ended, tenant by tenant; likewise.
  virtual Status VisitActive(const std::function<Status(const StoredRun&)>& visit) = 0;
  // Sees what another process has written since; does nothing for the owner of the store.
  virtual Status Refresh() = 0;

  // ---- writing
  // One atomic, synced write of changes and of documents put or removed, in this order. On return
  // of Ok all are durable. kStoreFull: nothing was written. Any other error: it is unknown what is
  // durable (kIndeterminate), and the store refuses every later write with kStoreStopped until it
  // is opened again.
  virtual Status Commit(std::span<const RunChange* const> changes,
                        std::span<const TenantDocument* const> documents) = 0;
  Status Commit(std::span<const RunChange* const> changes) { return Commit(changes, {}); }
  // The run is kept as it is and takes no more events.
  virtual Status Quarantine(const RunId& run_id, std::string_view reason) = 0;
  // Keeps a plan by the SHA-256 of its document. Idempotent.
  virtual Status PutPlan(const Sha256Digest& sha256, std::string_view document) = 0;
  Status PutDocuments(std::span<const TenantDocument> documents);
  // Makes the sink known, or moves it.
  virtual Status MoveSink(const SinkMove& move) = 0;
  // Forgets how far it had come, and its dead letters.
  virtual Status RemoveSink(const SinkKey& key) = 0;
  // Removes whole runs and leaves a tombstone for each; removes tombstones older than `expired`.
  virtual Status Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) = 0;

  // ---- upkeep
  virtual RunNo LastRunNo() = 0;
  virtual Position LastPosition() = 0;
  // The latest of all events.
  virtual Timestamp LastPersistedAt() = 0;
  // A consistent copy into a directory that must not exist.
  virtual Status Backup(const std::string& directory) = 0;
  virtual Status Compact() = 0;
  // Whether everything that was acknowledged can still be read and more can be written, as far as
  // is known: kStoreStopped, kStoreCorrupt. Cheap enough for a probe.
  virtual Status Health() = 0;
  // Reads every block of the store's files, then walks its own rows (indexes, keys, counts, outbox)
  // and reports what is damaged or does not agree.
  virtual Status Check(const std::function<void(StoreFault)>& report) = 0;
  virtual std::uint64_t DiskBytes() = 0;
};

struct StoreOptions {
  bool create_if_missing = true;
  bool read_only = false;                      // beside a process that owns the store
  std::uint64_t free_bytes_min = 64ULL << 20;  // under this much free disk the store is read-only
  std::uint64_t cache_bytes = 32ULL << 20;     // of blocks read
  std::uint64_t write_buffer_bytes = 64ULL << 20;  // of rows not yet in a table file
};

std::unique_ptr<StateStore> OpenMemoryStore();
// Opens or creates the store in `directory`: kStoreNotFound, kStoreLocked, kStoreFormatNewer,
// kStoreCorrupt, kStoreIo.
Result<std::unique_ptr<StateStore>> OpenRocksdbStore(const std::string& directory,
                                                     const StoreOptions& options);

}  // namespace everstep
