#include "store/run_check.h"

#include <utility>

#include "base/assert.h"
#include "event/catalogue.h"
#include "event/event_record.h"
#include "event/idempotency_key.h"
#include "store/corrupt_row.h"

namespace everstep {
namespace {

std::string Numbered(std::string_view before, EventSeq seq, std::string_view after) {
  return std::string(before).append(std::to_string(seq.value())).append(after);
}

std::string Describe(const EntityKey& key) {
  return std::string(Name(key.kind)).append(" ").append(key.id);
}

}  // namespace

Status RunCheck::Run() {
  EVERSTEP_ASSERT(run_.state.status != RunStatus::kAbsent);
  for (const auto step : {&RunCheck::CheckListed, &RunCheck::CheckEvents, &RunCheck::CheckKeys,
                          &RunCheck::CheckEntities}) {
    const Status checked = (this->*step)();
    if (!checked) return checked;
  }
  return Ok();
}

Status RunCheck::Survive(Error error) {
  if (error.code != ErrorCode::kStoreCorrupt) return error;
  Report(std::move(error.message));
  return Ok();
}

Result<bool> RunCheck::Exists(Table table, std::string_view key) {
  const auto row = reader_.view().Get(table, key);
  if (row) return row->has_value();
  if (row.error().code != ErrorCode::kStoreCorrupt) return row.error();
  Report(row.error().message);
  return true;
}

Status RunCheck::CheckListed() {
  const auto number = reader_.FindRunNo(run_.run_id);
  if (!number) {
    const Status survived = Survive(number.error());
    if (!survived) return survived;
  } else if (*number != run_.run_no) {
    Report("its id maps to another run number");
  }
  for (const RowKind index : kListIndexes) {
    const auto listed = Exists(Table::kIndex, keys_.Listed(index, run_.state, run_.run_no));
    if (!listed) return listed.error();
    if (!*listed) {
      Report(std::string("it is missing from list index ").append(1, static_cast<char>(index)));
    }
  }
  return Ok();
}

Status RunCheck::CheckEvents() {
  EVERSTEP_ASSERT(last_seen_ == EventSeq());
  const std::string prefix(keys_.Run(run_.run_no));
  auto row = reader_.view().Seek(Table::kEvents, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    const auto key = ParseEventKey(row->key());
    if (!key) {
      Report("a key in table events cannot be read");
      continue;
    }
    if (key->seq != Next(last_seen_)) {
      Report(Numbered("event ", Next(last_seen_), " is missing"));
      chains_known_ = false;
    }
    last_seen_ = key->seq;
    const auto event = DecodeEventRecord(row->value());
    if (!event || event->seq != key->seq) {
      Report(Numbered("event ", key->seq, " cannot be read: ")
                 .append(event ? "the record has a different seq" : event.error().message));
      chains_known_ = false;
      continue;
    }
    const Status checked = CheckEvent(*event);
    if (!checked) return checked;
  }
  if (!row->status()) {
    chains_known_ = false;
    return Survive(row->status().error());
  }
  if (last_seen_ != run_.state.last_seq) {
    Report(Numbered("the run's row says that event ", run_.state.last_seq, " is the last, ") +
           Numbered("but it is ", last_seen_, ""));
  }
  CheckHeads();
  return Ok();
}

Status RunCheck::CheckEvent(const Event& event) {
  if (event.persisted_at < last_persisted_at_) {
    Report(Numbered("event ", event.seq, " was persisted before its predecessor"));
  }
  last_persisted_at_ = event.persisted_at;
  if (!IsKnown(event.type)) {
    chains_known_ = false;
    return Ok();
  }
  const auto type = static_cast<std::size_t>(event.type);
  EVERSTEP_ASSERT(type < last_of_type_.size());
  if (chains_known_ && event.previous_of_type != last_of_type_[type]) {
    Report(Numbered("event ", event.seq, " breaks the chain of its type"));
  }
  last_of_type_[type] = event.seq;
  const EntityKind kind = SpecOf(event.type).entity;
  if (kind != EntityKind::kRun) {
    EventSeq& last = last_of_entity_[{kind, event.entity_id}];
    if (chains_known_ && event.previous_of_entity != last) {
      Report(Numbered("event ", event.seq, " breaks the chain of its entity"));
    }
    last = event.seq;
  }
  return CheckKeyOf(event);
}

Status RunCheck::CheckKeyOf(const Event& event) {
  const Sha256Digest key =
      IdempotencyKey(run_.state.key_version, run_.run_id, run_.state.scope, event);
  if (!seen_keys_.insert(key).second) {
    Report(Numbered("event ", event.seq, " has the idempotency key of an earlier event"));
  }
  if (event.instance_id.empty()) return Ok();
  keyed_[event.seq.value()] = true;
  const auto row = reader_.view().Get(Table::kKeys, keys_.Key(run_.run_no, key));
  if (!row) return Survive(row.error());
  if (!*row) {
    Report(Numbered("event ", event.seq, " has no key row"));
  } else if (DecodeNumber(**row) != event.seq.value()) {
    Report(Numbered("the key row of event ", event.seq, " points to another event"));
  }
  return Ok();
}

void RunCheck::CheckHeads() {
  if (!chains_known_) return;
  for (std::size_t type = 1; type < last_of_type_.size(); ++type) {
    if (last_of_type_[type] == run_.state.last_of_type[type]) continue;
    Report(std::string("the run's row has the wrong last event of type ")
               .append(SpecOf(static_cast<EventType>(type)).name));
  }
}

// An event with an instance has exactly one key row. A row that points to no such event, or to one
// that already has its row, is left over.
Status RunCheck::CheckKeys() {
  const std::string prefix(keys_.Run(run_.run_no));
  auto row = reader_.view().Seek(Table::kKeys, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    const std::uint64_t seq = DecodeNumber(row->value()).value_or(0);
    const auto expected = keyed_.find(seq);
    if (expected == keyed_.end() || !std::exchange(expected->second, false)) {
      Report(Numbered("a key row points to event ", EventSeq(seq), ", which has a different key"));
    }
  }
  return row->status() ? Ok() : Survive(row->status().error());
}

Status RunCheck::CheckEntities() {
  const std::string prefix(keys_.Run(run_.run_no));
  auto row = reader_.view().Seek(Table::kEntities, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    const auto key = ParseEntityKey(row->key());
    const auto state = DecodeEntityState(row->value());
    if (!key || !state) {
      Report((key ? Describe(*key) : std::string("an entity")).append(" cannot be read"));
      if (key) last_of_entity_.erase(*key);
      continue;
    }
    const Status checked = CheckEntity(*key, *state);
    if (!checked) return checked;
    last_of_entity_.erase(*key);
  }
  if (!row->status()) return Survive(row->status().error());
  for (const auto& [key, last] : last_of_entity_) Report(Describe(key).append(" has no row"));
  return Ok();
}

Status RunCheck::CheckEntity(const EntityKey& key, const EntityState& state) {
  const auto last = last_of_entity_.find(key);
  if (chains_known_ && (last == last_of_entity_.end() || last->second != state.last_seq)) {
    Report(Describe(key).append(" has the wrong last event"));
  }
  if (key.kind == EntityKind::kHook && state.status == EntityStatus::kActive &&
      !state.token.empty()) {
    const auto holder = reader_.FindHook(run_.state.scope.tenant_id, state.token);
    if (!holder) return Survive(holder.error());
    if (*holder != HookHolder{run_.run_id, key.id}) {
      Report(Describe(key).append(" is active, but its token does not map to it"));
    }
  }
  if (key.kind == EntityKind::kWait && state.status == EntityStatus::kWaiting &&
      state.due_at != Timestamp{}) {
    const auto armed = Exists(Table::kIndex, keys_.Timer(state.due_at, run_.run_no, key.id));
    if (!armed) return armed.error();
    if (!*armed) Report(Describe(key).append(" is waiting, but has no timer"));
  }
  return Ok();
}

}  // namespace everstep
