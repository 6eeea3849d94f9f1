#include "store/run_removal.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "store/corrupt_row.h"

namespace everstep {
namespace {

// A wrong count must not wrap around to a huge one; Check reports it.
void Reduce(std::uint64_t& count, std::uint64_t by) { count -= std::min(count, by); }

}  // namespace

Status RunRemoval::ExpireTombstones(Timestamp expired) {
  const std::string begin(keys_.Kind(RowKind::kTombstoneAge));
  const std::string end(keys_.TombstoneAge(expired, {}));
  auto row = reader_.view().Seek(Table::kIndex, begin);
  for (; row->Valid() && row->key() < end; row->Next()) {
    const auto age = ParseTombstoneAgeKey(row->key());
    if (!age) return CorruptRow({.table = Table::kIndex}, "a tombstone's age cannot be read");
    batch_.Delete(Table::kMeta, keys_.Tombstone(RunId(std::string(age->run_id))));
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  if (begin < end) batch_.DeleteRange(Table::kIndex, begin, end);
  return Ok();
}

Status RunRemoval::Remove(const RunId& run_id, Timestamp now) {
  auto run = reader_.FindRunNo(run_id);
  if (!run) return std::move(run).error();
  if (!*run || removed_.contains(**run)) return Ok();
  auto remains = Trace(run_id);
  if (!remains && remains.error().code == ErrorCode::kStoreCorrupt) {
    remains = Search(run_id, **run);
  }
  if (!remains) return std::move(remains).error();
  for (const std::string& row : remains->index_rows) batch_.Delete(Table::kIndex, row);
  batch_.Delete(Table::kRuns, keys_.RunById(run_id));
  batch_.Delete(Table::kRuns, keys_.RunByNo(**run));
  batch_.Delete(Table::kMeta, keys_.Quarantine(**run));
  const Status documents = RemoveDocuments(*remains, run_id);
  if (!documents) return documents;
  const Status measured = MeasureEvents(*remains, **run);
  if (!measured) return measured;
  Subtract(*remains);
  removed_.insert(**run);
  return PutTombstone(run_id, {remains->status, remains->last_seq, now, remains->tenant_id});
}

Status RunRemoval::MeasureEvents(Remains& remains, RunNo run) {
  const std::string prefix(keys_.Run(run));
  auto row = reader_.view().Seek(Table::kEvents, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    remains.row_bytes += row->value().size();
  }
  // Rows in a damaged block are not subtracted, so that the run can be removed nevertheless.
  const bool known = row->status() || row->status().error().code == ErrorCode::kStoreCorrupt;
  return known ? Ok() : row->status();
}

Status RunRemoval::RemoveDocuments(Remains& remains, const RunId& run_id) {
  const std::string& tenant_id = remains.tenant_id;
  if (tenant_id.empty()) return Ok();
  for (const DocumentKind kind : {DocumentKind::kStream, DocumentKind::kStreamChunk,
                                  DocumentKind::kMessageContent, DocumentKind::kCheckpoint}) {
    const std::string prefix(keys_.Document({kind, tenant_id, run_id.value() + '\0'}));
    auto row = reader_.view().Seek(Table::kMeta, prefix);
    for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
      batch_.Delete(Table::kMeta, row->key());
      remains.row_bytes += row->value().size();
      if (kind != DocumentKind::kMessageContent) continue;
      // The message itself is stored under tenant and id; by earlier versions under its id.
      const std::string id(row->key().substr(prefix.size()));
      batch_.Delete(Table::kMeta,
                    keys_.Document({DocumentKind::kMessage, {}, tenant_id + '\0' + id}));
      batch_.Delete(Table::kMeta, keys_.Document({DocumentKind::kMessage, {}, id}));
    }
    if (!row->status()) return At({.table = Table::kMeta}, row->status().error());
  }
  return Ok();
}

Result<RunRemoval::Remains> RunRemoval::Trace(const RunId& run_id) {
  auto run = reader_.FindRun(run_id);
  if (!run) return std::move(run).error();
  const RunState& state = (*run)->state;
  const RunNo number = (*run)->run_no;
  if (state.status == RunStatus::kAbsent) {
    return CorruptRow({.table = Table::kRuns, .run = number},
                      "the run is quarantined and its row cannot be read");
  }
  Remains remains{state.scope.tenant_id, state.status, state.last_seq, {}};
  for (const RowKind index : kListIndexes) {
    remains.index_rows.emplace_back(keys_.Listed(index, state, number));
  }
  std::vector<std::pair<std::string, std::string>> tokens;  // token, hook
  const auto note = [&](const EntityKey& key, const EntityState& entity) {
    // An ended hook with a time may still hold its token.
    const bool holds = entity.status == EntityStatus::kActive || entity.due_at != Timestamp{};
    if (key.kind == EntityKind::kHook && holds) {
      tokens.emplace_back(entity.token, key.id);
    }
    if (key.kind == EntityKind::kWait && entity.status == EntityStatus::kWaiting) {
      remains.index_rows.emplace_back(keys_.Timer(entity.due_at, number, key.id));
    }
  };
  for (const EntityKind kind : {EntityKind::kHook, EntityKind::kWait}) {
    const Status visited = reader_.VisitEntities(number, kind, note);
    if (!visited) return visited.error();
  }
  for (const auto& [token, hook_id] : tokens) {
    auto holder = reader_.FindHook(state.scope.tenant_id, token);
    if (!holder) return std::move(holder).error();
    if (!*holder || (*holder)->run_id != run_id || (*holder)->hook_id != hook_id) continue;
    remains.index_rows.emplace_back(keys_.Token(state.scope.tenant_id, token));
  }
  return remains;
}

Result<RunRemoval::Remains> RunRemoval::Search(const RunId& run_id, RunNo run) {
  Remains remains;
  auto last_seq = reader_.LastEventRow(run);
  if (!last_seq) return std::move(last_seq).error();
  remains.last_seq = *last_seq;
  auto row = reader_.view().Seek(Table::kIndex, {});
  for (; row->Valid(); row->Next()) {
    const auto kind = static_cast<RowKind>(row->key().front());
    bool of_run = false;
    if (const auto listed = ParseListedKey(row->key())) {
      of_run = listed->run == run;
      if (of_run) remains.tenant_id = listed->tenant_id;
      if (of_run && kind == RowKind::kByStatus) remains.status = listed->status;
    } else if (const auto timer = ParseTimerKey(row->key())) {
      of_run = timer->run == run;
    } else if (kind == RowKind::kToken) {
      const auto holder = DecodeHolder(row->value());
      of_run = holder && holder->run_id == run_id;
    }
    if (of_run) remains.index_rows.emplace_back(row->key());
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  return remains;
}

void RunRemoval::Subtract(const Remains& remains) {
  if (remains.tenant_id.empty()) return;
  StoreCounts& counts = counts_.Edit(remains.tenant_id);
  Reduce(counts.events, remains.last_seq.value());
  Reduce(counts.row_bytes, remains.row_bytes);
  if (remains.status == RunStatus::kAbsent) return;
  EVERSTEP_ASSERT(static_cast<std::size_t>(remains.status) < std::size(counts.runs_by_status));
  Reduce(counts.runs_by_status[static_cast<std::size_t>(remains.status)], 1);
}

Status RunRemoval::PutTombstone(const RunId& run_id, const Tombstone& tombstone) {
  auto earlier = reader_.FindTombstone(run_id);
  if (!earlier) return std::move(earlier).error();
  if (*earlier) {
    batch_.Delete(Table::kIndex, keys_.TombstoneAge((*earlier)->removed_at, run_id.value()));
  }
  std::string value;
  EncodeTombstone(tombstone, value);
  batch_.Put(Table::kMeta, keys_.Tombstone(run_id), value);
  batch_.Put(Table::kIndex, keys_.TombstoneAge(tombstone.removed_at, run_id.value()),
             tombstone.tenant_id);
  return Ok();
}

Status RunRemoval::Finish(StoreHeads& heads) {
  DeleteRunRows();
  const Status trimmed = TrimOutbox(heads);
  if (!trimmed) return trimmed;
  std::string value;
  EncodeHeads(heads, value);
  batch_.Put(Table::kMeta, keys_.Heads(), value);
  return Ok();
}

// Retention removes runs roughly in order of creation. Adjacent runs share one range deletion,
// which limits the number of range deletions that later reads must look through.
void RunRemoval::DeleteRunRows() {
  std::vector<RunNo> runs(removed_.begin(), removed_.end());
  std::ranges::sort(runs);
  for (std::size_t first = 0; first < runs.size();) {
    std::size_t last = first;
    while (last + 1 < runs.size() && runs[last + 1].value() == runs[last].value() + 1) ++last;
    const std::string begin(keys_.Run(runs[first]));
    const std::string end(keys_.Run(RunNo(runs[last].value() + 1)));
    for (const Table table : {Table::kEvents, Table::kKeys, Table::kEntities}) {
      batch_.DeleteRange(table, begin, end);
    }
    first = last + 1;
  }
}

Status RunRemoval::TrimOutbox(StoreHeads& heads) {
  Position front = heads.outbox_front;
  auto row = reader_.view().Seek(Table::kIndex, keys_.Outbox(front));
  for (; row->Valid(); row->Next()) {
    const auto position = ParseOutboxKey(row->key());
    if (!position) break;
    const auto outbox_row = DecodeOutbox(*position, row->value());
    if (!outbox_row) break;
    const auto gone = AreGone(outbox_row->changes);
    if (!gone) return gone.error();
    if (!*gone) break;
    front = Position(position->value() + 1);
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  if (front == heads.outbox_front) return Ok();
  const std::string begin(keys_.Outbox(heads.outbox_front));
  batch_.DeleteRange(Table::kIndex, begin, keys_.Outbox(front));
  heads.outbox_front = front;
  return Ok();
}

Result<bool> RunRemoval::AreGone(std::span<const OutboxChange> changes) {
  for (const OutboxChange& change : changes) {
    auto gone = IsGone(change.run);
    if (!gone || !*gone) return gone;
  }
  return true;
}

Result<bool> RunRemoval::IsGone(RunNo run) {
  if (removed_.contains(run)) return true;
  auto row = reader_.view().Get(Table::kRuns, keys_.RunByNo(run));
  if (!row) return At({.table = Table::kRuns, .run = run}, std::move(row).error());
  return !row->has_value();
}

}  // namespace everstep
