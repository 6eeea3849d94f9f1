#include "store/row_values.h"

#include <iterator>

#include "base/assert.h"
#include "base/bytes.h"

namespace everstep {
namespace {

template <typename Value>
std::optional<Value> Whole(const ByteReader& reader, Value value) {
  if (!reader.ok() || !reader.AtEnd()) return std::nullopt;
  return value;
}

}  // namespace

void EncodeNumber(std::uint64_t number, std::string& out) { ByteWriter(out).Varint(number); }

std::optional<std::uint64_t> DecodeNumber(std::string_view bytes) {
  ByteReader reader(bytes);
  const std::uint64_t number = reader.Varint();
  return Whole(reader, number);
}

void EncodeCounts(const StoreCounts& counts, std::string& out) {
  static_assert(std::size(StoreCounts{}.runs_by_status) ==
                static_cast<std::size_t>(RunStatus::kCancelled) + 1);
  ByteWriter writer(out);
  writer.Varint(counts.events);
  for (const std::uint64_t runs : counts.runs_by_status) writer.Varint(runs);
  writer.Varint(counts.row_bytes);
  writer.Varint(counts.file_bytes);
  writer.Varint(counts.counts_bytes ? 1 : 0);
}

std::optional<StoreCounts> DecodeCounts(std::string_view bytes) {
  ByteReader reader(bytes);
  StoreCounts counts;
  counts.events = reader.Varint();
  for (std::uint64_t& runs : counts.runs_by_status) runs = reader.Varint();
  if (reader.ok() && reader.AtEnd()) {  // written by an earlier version
    counts.counts_bytes = false;
    return counts;
  }
  counts.row_bytes = reader.Varint();
  counts.file_bytes = reader.Varint();
  counts.counts_bytes = reader.Varint() != 0;
  return Whole(reader, counts);
}

Timestamp StoreHeads::Place(Position position, Timestamp time) {
  EVERSTEP_ASSERT(position > last_position);
  last_position = position;
  last_persisted_at = std::max(last_persisted_at, time);
  if (time < last_persisted_at) {
    set_back_until = position;
    set_back_by = std::max(set_back_by, last_persisted_at - time);
  }
  return last_persisted_at;
}

void EncodeHeads(const StoreHeads& heads, std::string& out) {
  ByteWriter writer(out);
  writer.Varint(heads.last_run.value());
  writer.Varint(heads.last_position.value());
  writer.SignedVarint(Micros(heads.last_persisted_at));
  writer.Varint(heads.outbox_front.value());
  if (heads.set_back_until == Position()) return;
  writer.Varint(heads.set_back_until.value());
  writer.SignedVarint(heads.set_back_by.count());
}

std::optional<StoreHeads> DecodeHeads(std::string_view bytes) {
  ByteReader reader(bytes);
  StoreHeads heads;
  heads.last_run = RunNo(reader.Varint());
  heads.last_position = Position(reader.Varint());
  heads.last_persisted_at = FromMicros(reader.SignedVarint());
  heads.outbox_front = Position(reader.Varint());
  if (reader.ok() && !reader.AtEnd()) {
    heads.set_back_until = Position(reader.Varint());
    heads.set_back_by = std::chrono::microseconds(reader.SignedVarint());
  }
  return Whole(reader, heads);
}

void EncodeTombstone(const Tombstone& tombstone, std::string& out) {
  EVERSTEP_ASSERT(tombstone.status <= RunStatus::kCancelled);
  ByteWriter writer(out);
  writer.U8(static_cast<std::uint8_t>(tombstone.status));
  writer.Varint(tombstone.last_seq.value());
  writer.SignedVarint(Micros(tombstone.removed_at));
}

std::optional<Tombstone> DecodeTombstone(std::string_view bytes) {
  ByteReader reader(bytes);
  Tombstone tombstone;
  const std::uint8_t status = reader.U8();
  tombstone.status = static_cast<RunStatus>(status);
  tombstone.last_seq = EventSeq(reader.Varint());
  tombstone.removed_at = FromMicros(reader.SignedVarint());
  if (status >= std::size(StoreCounts{}.runs_by_status)) return std::nullopt;
  return Whole(reader, tombstone);
}

void EncodeOutboxChange(const OutboxChange& change, std::string& out) {
  EVERSTEP_ASSERT(change.first_seq <= change.last_seq);
  ByteWriter writer(out);
  writer.Varint(change.run.value());
  writer.Varint(change.first_seq.value());
  writer.Varint(change.last_seq.value() - change.first_seq.value());
  writer.SignedVarint(Micros(change.committed_at));
}

std::optional<OutboxRow> DecodeOutbox(Position last, std::string_view bytes) {
  ByteReader reader(bytes);
  OutboxRow row;
  do {
    OutboxChange change;
    change.run = RunNo(reader.Varint());
    change.first_seq = EventSeq(reader.Varint());
    change.last_seq = EventSeq(change.first_seq.value() + reader.Varint());
    change.committed_at = FromMicros(reader.SignedVarint());
    if (!reader.ok() || change.last_seq < change.first_seq) return std::nullopt;
    row.changes.push_back(change);
  } while (!reader.AtEnd());
  if (last.value() < row.changes.size()) return std::nullopt;
  row.first = Position(last.value() + 1 - row.changes.size());
  return row;
}

void EncodeHolder(const HookHolder& holder, std::string& out) {
  ByteWriter writer(out);
  writer.String(holder.run_id.value());
  writer.String(holder.hook_id);
  if (holder.kept_until != Timestamp{}) writer.SignedVarint(Micros(holder.kept_until));
}

std::optional<HookHolder> DecodeHolder(std::string_view bytes) {
  ByteReader reader(bytes);
  HookHolder holder;
  holder.run_id = RunId(std::string(reader.String()));
  holder.hook_id = reader.String();
  if (reader.ok() && !reader.AtEnd()) holder.kept_until = FromMicros(reader.SignedVarint());
  return Whole(reader, std::move(holder));
}

void EncodeSinkMark(const SinkMark& mark, std::string& out) {
  ByteWriter writer(out);
  writer.Varint(mark.position.value());
  writer.Varint(mark.dead_letters);
  writer.U8(mark.open ? 1 : 0);
}

std::optional<SinkMark> DecodeSinkMark(std::string_view bytes) {
  ByteReader reader(bytes);
  SinkMark mark;
  mark.position = Position(reader.Varint());
  mark.dead_letters = reader.Varint();
  const std::uint8_t open = reader.U8();
  mark.open = open == 1;
  if (open > 1) return std::nullopt;
  return Whole(reader, std::move(mark));
}

void EncodeDeadLetter(const DeadLetter& letter, std::string& out) {
  ByteWriter writer(out);
  writer.U8(static_cast<std::uint8_t>(letter.type));
  writer.Varint(letter.attempts);
  writer.SignedVarint(Micros(letter.persisted_at));
  writer.SignedVarint(Micros(letter.died_at));
  writer.String(letter.reason);
}

std::optional<DeadLetter> DecodeDeadLetter(std::string_view bytes) {
  ByteReader reader(bytes);
  DeadLetter letter;
  letter.type = static_cast<EventType>(reader.U8());
  const std::uint64_t attempts = reader.Varint();
  letter.attempts = static_cast<std::uint32_t>(attempts);
  letter.persisted_at = FromMicros(reader.SignedVarint());
  letter.died_at = FromMicros(reader.SignedVarint());
  letter.reason = reader.String();
  if (attempts > UINT32_MAX) return std::nullopt;
  return Whole(reader, std::move(letter));
}

void EncodeRunRow(const RunId& run_id, const RunState& state, std::string& out) {
  EVERSTEP_ASSERT(state.last_seq != EventSeq());
  ByteWriter(out).String(run_id.value());
  EncodeRunState(state, out);
}

std::optional<RunRowParts> SplitRunRow(std::string_view bytes) {
  ByteReader reader(bytes);
  const std::string_view run_id = reader.String();
  if (!reader.ok()) return std::nullopt;
  return RunRowParts{run_id, reader.rest()};
}

}  // namespace everstep
