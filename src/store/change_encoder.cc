#include "store/change_encoder.h"

#include <algorithm>

#include "base/assert.h"
#include "event/event_record.h"

namespace everstep {
namespace {

// Readers decode a row as a whole, so it must be cheap for one that wants a single change.
constexpr std::size_t kOutboxChangesMax = 256;

}  // namespace

void ChangeEncoder::Encode(std::span<const RunChange* const> changes, StoreHeads& heads,
                           WriteBatch& batch) {
  for (const RunChange* change : changes) {
    EVERSTEP_ASSERT(!change->events.empty());
    EVERSTEP_ASSERT(change->events.back().seq == change->state.last_seq);
    EVERSTEP_ASSERT(change->events.back().seq.value() - change->events.front().seq.value() + 1 ==
                    change->events.size());
    EVERSTEP_ASSERT(change->status_before != RunStatus::kAbsent ||
                    change->events.front().seq == EventSeq(1));
    EVERSTEP_ASSERT(change->run_no != RunNo() && !change->run_id.value().empty());
    EVERSTEP_ASSERT(change->state.status != RunStatus::kAbsent);
  }
  // Stable, because the rows of a run's last change must win.
  by_run_.assign(changes.begin(), changes.end());
  std::ranges::stable_sort(by_run_, {}, [](const RunChange* change) { return change->run_no; });
  for (const RunChange* change : by_run_) PutEvents(*change, batch);
  for (const RunChange* change : by_run_) PutEntities(*change, batch);
  for (const RunChange* change : by_run_) PutRun(*change, batch);
  for (const RunChange* change : by_run_) PutTimers(*change, batch);
  // In commit order, because a token may move from one run to another.
  for (const RunChange* change : changes) PutTokens(*change, batch);
  PutOutbox(changes, heads, batch);
  EVERSTEP_ASSERT(changes.empty() || heads.last_position == changes.back()->position);
}

void ChangeEncoder::PutEvents(const RunChange& change, WriteBatch& batch) {
  auto key = change.instance_keys.begin();
  std::uint64_t& row_bytes = counts_.Edit(change.state.scope.tenant_id).row_bytes;
  for (const Event& event : change.events) {
    value_.clear();
    EncodeEventRecord(event, value_);
    row_bytes += value_.size();
    batch.Put(Table::kEvents, keys_.Event(change.run_no, event.seq), value_);
    // Other events are found through the chain of their entity (KeyedReader::FindByKey).
    if (event.instance_id.empty()) continue;
    value_.clear();
    EncodeNumber(event.seq.value(), value_);
    EVERSTEP_ASSERT(key != change.instance_keys.end());
    batch.Put(Table::kKeys, keys_.Key(change.run_no, *key++), value_);
  }
  EVERSTEP_ASSERT(key == change.instance_keys.end());
}

void ChangeEncoder::PutEntities(const RunChange& change, WriteBatch& batch) {
  for (const auto& [key, state] : change.entities) {
    value_.clear();
    EncodeEntityState(state, value_);
    batch.Put(Table::kEntities, keys_.Entity(change.run_no, key), value_);
  }
}

void ChangeEncoder::PutRun(const RunChange& change, WriteBatch& batch) {
  value_.clear();
  EncodeRunRow(change.run_id, change.state, value_);
  batch.Put(Table::kRuns, keys_.RunByNo(change.run_no), value_);

  StoreCounts& counts = counts_.Edit(change.state.scope.tenant_id);
  counts.events += change.events.size();
  if (change.status_before == change.state.status) return;
  ++counts.runs_by_status[static_cast<std::size_t>(change.state.status)];
  if (change.status_before != RunStatus::kAbsent) {
    --counts.runs_by_status[static_cast<std::size_t>(change.status_before)];
    batch.Delete(Table::kIndex, keys_.ListedAs(change.status_before, change.state, change.run_no));
    batch.Put(Table::kIndex, keys_.Listed(RowKind::kByStatus, change.state, change.run_no), {});
    return;
  }
  value_.clear();
  EncodeNumber(change.run_no.value(), value_);
  batch.Put(Table::kRuns, keys_.RunById(change.run_id), value_);
  for (const RowKind index : kListIndexes) {
    batch.Put(Table::kIndex, keys_.Listed(index, change.state, change.run_no), {});
  }
}

void ChangeEncoder::PutOutbox(std::span<const RunChange* const> changes, StoreHeads& heads,
                              WriteBatch& batch) {
  const Position set_back_until = heads.set_back_until;
  while (!changes.empty()) {
    const auto row = changes.first(std::min(changes.size(), kOutboxChangesMax));
    value_.clear();
    for (const RunChange* change : row) {
      EVERSTEP_ASSERT(change->position.value() == heads.last_position.value() + 1);
      heads.last_run = std::max(heads.last_run, change->run_no);
      const Event& last = change->events.back();
      const Timestamp committed_at = heads.Place(change->position, last.persisted_at);
      EncodeOutboxChange({change->run_no, change->events.front().seq, last.seq, committed_at},
                         value_);
    }
    batch.Put(Table::kIndex, keys_.Outbox(row.back()->position), value_);
    changes = changes.subspan(row.size());
  }
  if (heads.set_back_until == set_back_until) return;
  value_.clear();
  EncodeHeads(heads, value_);
  batch.Put(Table::kMeta, keys_.Heads(), value_);
}

void ChangeEncoder::PutTokens(const RunChange& change, WriteBatch& batch) {
  const std::string& tenant_id = change.state.scope.tenant_id;
  for (const RunChange::Token& token : change.tokens) {
    EVERSTEP_ASSERT(!token.hook_id || !token.hook_id->empty());
    if (!token.hook_id) {
      batch.Delete(Table::kIndex, keys_.Token(tenant_id, token.token));
      continue;
    }
    value_.clear();
    EncodeHolder({change.run_id, *token.hook_id, token.kept_until}, value_);
    batch.Put(Table::kIndex, keys_.Token(tenant_id, token.token), value_);
  }
}

void ChangeEncoder::PutTimers(const RunChange& change, WriteBatch& batch) {
  for (const RunChange::Alarm& alarm : change.alarms) {
    EVERSTEP_ASSERT(!alarm.wait_id.empty());
    const std::string_view key = keys_.Timer(alarm.due_at, change.run_no, alarm.wait_id);
    if (alarm.armed) {
      batch.Put(Table::kIndex, key, {});
    } else {
      batch.Delete(Table::kIndex, key);
    }
  }
}

}  // namespace everstep
