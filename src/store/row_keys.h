#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/key_value.h"
#include "store/state_store.h"

namespace everstep {

// The first byte of a key, in the tables that hold rows of several kinds. Stored: never reuse a
// value.
enum class RowKind : char {
  // kMeta
  kFormat = 'V',
  kCounts = 'C',
  kHeads = 'H',
  kTombstone = 'T',
  kQuarantine = 'Q',
  kPlan = 'P',
  kDocument = 'D',
  kSinkMark = 'S',
  // kRuns
  kRunById = 'I',
  kRunByNo = 'R',
  // kIndex
  kOutbox = 'O',
  kByTenant = 'A',
  kByProject = 'P',  // values only need to be unique within a table
  kByStatus = 'S',
  kByPlan = 'L',
  kToken = 'H',
  kTimer = 'T',
  kTombstoneAge = 'X',
  kDeadLetter = 'F',
};

inline constexpr std::array kListIndexes = {RowKind::kByTenant, RowKind::kByProject,
                                            RowKind::kByStatus, RowKind::kByPlan};

// Builds the keys of all rows (grammar: docs/formats.md) in one reused buffer, so that a key costs
// no allocation. A returned key is valid until the next call.
class RowKeys {
 public:
  std::string_view Kind(RowKind kind);  // prefix of all rows of the kind

  // kMeta
  std::string_view Format() { return Kind(RowKind::kFormat); }
  std::string_view Heads() { return Kind(RowKind::kHeads); }
  std::string_view Counts(std::string_view tenant_id);
  std::string_view Tombstone(const RunId& run_id);
  std::string_view Quarantine(RunNo run);
  std::string_view Plan(const Sha256Digest& sha256);
  std::string_view Document(const DocumentKey& key);
  std::string_view SinkMark(const SinkKey& key);

  // kRuns
  std::string_view RunById(const RunId& run_id);
  std::string_view RunByNo(RunNo run);

  // kEvents, kKeys, kEntities: all rows of a run begin with its number
  std::string_view Run(RunNo run);
  std::string_view Event(RunNo run, EventSeq seq);
  std::string_view Key(RunNo run, const Sha256Digest& key);
  std::string_view Entities(RunNo run, EntityKind kind);
  std::string_view Entity(RunNo run, const EntityKey& key);

  // kIndex
  std::string_view Outbox(Position position);
  // The run's row in one of the four list indexes.
  std::string_view Listed(RowKind index, const RunState& state, RunNo run);
  // The run's row in kByStatus under another status.
  std::string_view ListedAs(RunStatus status, const RunState& state, RunNo run);
  // The common prefix of all rows of runs with this scope and status.
  std::string_view ListedPrefix(RowKind index, const RunScope& scope, RunStatus status);
  std::string_view Token(std::string_view tenant_id, std::string_view token);
  std::string_view Timer(Timestamp due_at, RunNo run, std::string_view wait_id);
  std::string_view TombstoneAge(Timestamp removed_at, std::string_view run_id);
  std::string_view DeadLetters(const SinkKey& sink);  // prefix of all rows of the sink
  std::string_view DeadLetters(const SinkKey& sink, const RunId& run_id);
  std::string_view DeadLetter(const SinkKey& sink, const RunId& run_id, EventSeq seq);

 private:
  std::string& Begin(RowKind kind);

  std::string bytes_;
};

// The parts of a stored key. The functions below return nothing if the key is not of their kind.
struct EventRowKey {
  RunNo run;
  EventSeq seq;
};
struct TimerRowKey {
  Timestamp due_at{};
  RunNo run;
  std::string_view wait_id;
};
struct TombstoneAgeRowKey {
  Timestamp removed_at{};
  std::string_view run_id;
};
struct DeadLetterRowKey {
  std::string_view tenant_id;
  std::string_view sink;
  std::string_view run_id;
  EventSeq seq;
};
struct ListedRowKey {
  std::string_view tenant_id;
  RunStatus status{};  // only in rows of kByStatus
  Timestamp created_at{};
  RunNo run;
};
std::optional<EventRowKey> ParseEventKey(std::string_view key);
std::optional<EntityKey> ParseEntityKey(std::string_view key);
std::optional<RunNo> ParseRunPrefix(std::string_view key);
std::optional<RunNo> ParseRunByNo(std::string_view key);
std::optional<Position> ParseOutboxKey(std::string_view key);
std::optional<TimerRowKey> ParseTimerKey(std::string_view key);
std::optional<TombstoneAgeRowKey> ParseTombstoneAgeKey(std::string_view key);
std::optional<SinkKey> ParseSinkMarkKey(std::string_view key);
// The tenant of a document; empty if it belongs to no tenant.
std::optional<std::string> ParseDocumentTenant(std::string_view key);
std::optional<DeadLetterRowKey> ParseDeadLetterKey(std::string_view key);
std::optional<ListedRowKey> ParseListedKey(std::string_view key);

// A place in a list of runs: the last bytes of a row's key in every list index, newest first.
inline constexpr std::size_t kListPlaceBytes = 16;
void AppendListPlace(std::string& out, Timestamp created_at, RunNo run);
struct ListPlace {
  Timestamp created_at{};
  RunNo run;
};
ListPlace ParseListPlace(std::string_view bytes);  // exactly kListPlaceBytes

}  // namespace everstep
