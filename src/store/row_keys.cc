#include "store/row_keys.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"

namespace everstep {
namespace {

constexpr std::size_t kKeyBytesKept = 16;
static_assert(kKeyBytesKept <= std::tuple_size_v<Sha256Digest>);

// Maps signed times to unsigned numbers in the same order.
std::uint64_t Ascending(Timestamp time) {
  return static_cast<std::uint64_t>(Micros(time)) ^ (std::uint64_t{1} << 63);
}
Timestamp FromAscending(std::uint64_t value) {
  return FromMicros(static_cast<std::int64_t>(value ^ (std::uint64_t{1} << 63)));
}

void AppendU64(std::string& out, std::uint64_t value) { ByteWriter(out).U64(value); }

// The length comes first, so that no part can be read as the beginning of another.
void AppendPart(std::string& out, std::string_view part) {
  EVERSTEP_ASSERT(part.size() <= UINT16_MAX);
  out.push_back(static_cast<char>(part.size() >> 8));
  out.push_back(static_cast<char>(part.size() & 0xff));
  out.append(part);
}

std::string_view TakePart(ByteReader& reader) {
  const auto high = static_cast<std::uint64_t>(reader.U8());
  const auto low = static_cast<std::uint64_t>(reader.U8());
  return reader.Raw(high << 8 | low);
}

std::string_view TakeRest(ByteReader& reader) { return reader.Raw(reader.rest().size()); }

}  // namespace

std::string& RowKeys::Begin(RowKind kind) {
  bytes_.assign(1, static_cast<char>(kind));
  return bytes_;
}

std::string_view RowKeys::Kind(RowKind kind) { return Begin(kind); }

std::string_view RowKeys::Counts(std::string_view tenant_id) {
  return Begin(RowKind::kCounts).append(tenant_id);
}

std::string_view RowKeys::Tombstone(const RunId& run_id) {
  return Begin(RowKind::kTombstone).append(run_id.value());
}

std::string_view RowKeys::Quarantine(RunNo run) {
  AppendU64(Begin(RowKind::kQuarantine), run.value());
  return bytes_;
}

std::string_view RowKeys::Plan(const Sha256Digest& sha256) {
  return Begin(RowKind::kPlan).append(reinterpret_cast<const char*>(sha256.data()), sha256.size());
}

std::string_view RowKeys::Document(const DocumentKey& key) {
  Begin(RowKind::kDocument).push_back(static_cast<char>(key.kind));
  AppendPart(bytes_, key.tenant_id);
  return bytes_.append(key.name);
}

std::string_view RowKeys::SinkMark(const SinkKey& key) {
  AppendPart(Begin(RowKind::kSinkMark), key.tenant_id);
  return bytes_.append(key.name);
}

std::string_view RowKeys::RunById(const RunId& run_id) {
  return Begin(RowKind::kRunById).append(run_id.value());
}

std::string_view RowKeys::RunByNo(RunNo run) {
  AppendU64(Begin(RowKind::kRunByNo), run.value());
  return bytes_;
}

std::string_view RowKeys::Run(RunNo run) {
  bytes_.clear();
  AppendU64(bytes_, run.value());
  return bytes_;
}

std::string_view RowKeys::Event(RunNo run, EventSeq seq) {
  Run(run);
  AppendU64(bytes_, seq.value());
  return bytes_;
}

std::string_view RowKeys::Key(RunNo run, const Sha256Digest& key) {
  Run(run);
  return bytes_.append(reinterpret_cast<const char*>(key.data()), kKeyBytesKept);
}

std::string_view RowKeys::Entities(RunNo run, EntityKind kind) {
  Run(run);
  bytes_.push_back(static_cast<char>(kind));
  return bytes_;
}

std::string_view RowKeys::Entity(RunNo run, const EntityKey& key) {
  Entities(run, key.kind);
  return bytes_.append(key.id);
}

std::string_view RowKeys::Outbox(Position position) {
  AppendU64(Begin(RowKind::kOutbox), position.value());
  return bytes_;
}

std::string_view RowKeys::ListedPrefix(RowKind index, const RunScope& scope, RunStatus status) {
  AppendPart(Begin(index), scope.tenant_id);
  switch (index) {
    case RowKind::kByTenant:
      break;
    case RowKind::kByProject:
      AppendPart(bytes_, scope.project_id);
      AppendPart(bytes_, scope.environment_id);
      break;
    case RowKind::kByStatus:
      bytes_.push_back(static_cast<char>(status));
      break;
    case RowKind::kByPlan:
      AppendPart(bytes_, scope.plan_id);
      break;
    default:
      EVERSTEP_ASSERT(false);
  }
  return bytes_;
}

std::string_view RowKeys::Listed(RowKind index, const RunState& state, RunNo run) {
  ListedPrefix(index, state.scope, state.status);
  AppendListPlace(bytes_, state.created_at, run);
  return bytes_;
}

std::string_view RowKeys::ListedAs(RunStatus status, const RunState& state, RunNo run) {
  ListedPrefix(RowKind::kByStatus, state.scope, status);
  AppendListPlace(bytes_, state.created_at, run);
  return bytes_;
}

std::string_view RowKeys::Token(std::string_view tenant_id, std::string_view token) {
  AppendPart(Begin(RowKind::kToken), tenant_id);
  return bytes_.append(token);
}

std::string_view RowKeys::Timer(Timestamp due_at, RunNo run, std::string_view wait_id) {
  AppendU64(Begin(RowKind::kTimer), Ascending(due_at));
  AppendU64(bytes_, run.value());
  return bytes_.append(wait_id);
}

std::string_view RowKeys::TombstoneAge(Timestamp removed_at, std::string_view run_id) {
  AppendU64(Begin(RowKind::kTombstoneAge), Ascending(removed_at));
  return bytes_.append(run_id);
}

std::string_view RowKeys::DeadLetters(const SinkKey& sink) {
  AppendPart(Begin(RowKind::kDeadLetter), sink.tenant_id);
  AppendPart(bytes_, sink.name);
  return bytes_;
}

std::string_view RowKeys::DeadLetters(const SinkKey& sink, const RunId& run_id) {
  DeadLetters(sink);
  AppendPart(bytes_, run_id.value());
  return bytes_;
}

std::string_view RowKeys::DeadLetter(const SinkKey& sink, const RunId& run_id, EventSeq seq) {
  DeadLetters(sink, run_id);
  AppendU64(bytes_, seq.value());
  return bytes_;
}

std::optional<EventRowKey> ParseEventKey(std::string_view key) {
  ByteReader reader(key);
  const EventRowKey parsed{RunNo(reader.U64()), EventSeq(reader.U64())};
  if (!reader.ok() || !reader.AtEnd()) return std::nullopt;
  return parsed;
}

std::optional<EntityKey> ParseEntityKey(std::string_view key) {
  ByteReader reader(key);
  reader.U64();
  const auto kind = static_cast<EntityKind>(reader.U8());
  if (!reader.ok()) return std::nullopt;
  return EntityKey{kind, std::string(reader.rest())};
}

std::optional<RunNo> ParseRunPrefix(std::string_view key) {
  ByteReader reader(key);
  const RunNo run(reader.U64());
  if (!reader.ok()) return std::nullopt;
  return run;
}

std::optional<RunNo> ParseRunByNo(std::string_view key) {
  ByteReader reader(key);
  const bool kind = reader.U8() == static_cast<std::uint8_t>(RowKind::kRunByNo);
  const RunNo run(reader.U64());
  if (!kind || !reader.ok() || !reader.AtEnd()) return std::nullopt;
  return run;
}

std::optional<Position> ParseOutboxKey(std::string_view key) {
  ByteReader reader(key);
  const bool kind = reader.U8() == static_cast<std::uint8_t>(RowKind::kOutbox);
  const Position position(reader.U64());
  if (!kind || !reader.ok() || !reader.AtEnd()) return std::nullopt;
  return position;
}

std::optional<TimerRowKey> ParseTimerKey(std::string_view key) {
  ByteReader reader(key);
  const bool kind = reader.U8() == static_cast<std::uint8_t>(RowKind::kTimer);
  TimerRowKey parsed;
  parsed.due_at = FromAscending(reader.U64());
  parsed.run = RunNo(reader.U64());
  parsed.wait_id = TakeRest(reader);
  if (!kind || !reader.ok()) return std::nullopt;
  return parsed;
}

std::optional<TombstoneAgeRowKey> ParseTombstoneAgeKey(std::string_view key) {
  ByteReader reader(key);
  const bool kind = reader.U8() == static_cast<std::uint8_t>(RowKind::kTombstoneAge);
  TombstoneAgeRowKey parsed;
  parsed.removed_at = FromAscending(reader.U64());
  parsed.run_id = TakeRest(reader);
  if (!kind || !reader.ok()) return std::nullopt;
  return parsed;
}

std::optional<SinkKey> ParseSinkMarkKey(std::string_view key) {
  ByteReader reader(key);
  const bool kind = reader.U8() == static_cast<std::uint8_t>(RowKind::kSinkMark);
  SinkKey parsed;
  parsed.tenant_id = TakePart(reader);
  parsed.name = TakeRest(reader);
  if (!kind || !reader.ok()) return std::nullopt;
  return parsed;
}

std::optional<std::string> ParseDocumentTenant(std::string_view key) {
  ByteReader reader(key);
  const bool kind = reader.U8() == static_cast<std::uint8_t>(RowKind::kDocument);
  reader.U8();  // the document's own kind
  std::string tenant_id(TakePart(reader));
  if (!kind || !reader.ok()) return std::nullopt;
  return tenant_id;
}

std::optional<DeadLetterRowKey> ParseDeadLetterKey(std::string_view key) {
  ByteReader reader(key);
  const bool kind = reader.U8() == static_cast<std::uint8_t>(RowKind::kDeadLetter);
  DeadLetterRowKey parsed;
  parsed.tenant_id = TakePart(reader);
  parsed.sink = TakePart(reader);
  parsed.run_id = TakePart(reader);
  parsed.seq = EventSeq(reader.U64());
  if (!kind || !reader.ok() || !reader.AtEnd()) return std::nullopt;
  return parsed;
}

std::optional<ListedRowKey> ParseListedKey(std::string_view key) {
  ByteReader reader(key);
  const auto index = static_cast<RowKind>(reader.U8());
  if (std::ranges::find(kListIndexes, index) == kListIndexes.end()) return std::nullopt;
  ListedRowKey parsed;
  parsed.tenant_id = TakePart(reader);
  if (index == RowKind::kByStatus) {
    const std::uint8_t status = reader.U8();
    if (status > static_cast<std::uint8_t>(RunStatus::kCancelled)) return std::nullopt;
    parsed.status = static_cast<RunStatus>(status);
  }
  if (index == RowKind::kByProject) {
    TakePart(reader);
    TakePart(reader);
  }
  if (index == RowKind::kByPlan) TakePart(reader);
  const std::string_view place = reader.Raw(kListPlaceBytes);
  if (!reader.ok() || !reader.AtEnd()) return std::nullopt;
  const ListPlace at = ParseListPlace(place);
  parsed.created_at = at.created_at;
  parsed.run = at.run;
  return parsed;
}

void AppendListPlace(std::string& out, Timestamp created_at, RunNo run) {
  static_assert(kListPlaceBytes == 2 * sizeof(std::uint64_t));
  AppendU64(out, ~Ascending(created_at));
  AppendU64(out, ~run.value());
}

ListPlace ParseListPlace(std::string_view bytes) {
  EVERSTEP_ASSERT(bytes.size() == kListPlaceBytes);
  ByteReader reader(bytes);
  const Timestamp created_at = FromAscending(~reader.U64());
  return {created_at, RunNo(~reader.U64())};
}

}  // namespace everstep
