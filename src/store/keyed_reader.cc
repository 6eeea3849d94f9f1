#include "store/keyed_reader.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/assert.h"
#include "event/catalogue.h"
#include "event/event_record.h"
#include "event/idempotency_key.h"
#include "store/corrupt_row.h"

namespace everstep {
namespace {

bool SameKey(const Event& a, const Event& b) {
  return a.type == b.type && a.logical_attempt == b.logical_attempt &&
         a.instance_id == b.instance_id;
}

}  // namespace

// ---- runs

Result<std::optional<RunNo>> KeyedReader::FindRunNo(const RunId& run_id) {
  const RowPlace place{.table = Table::kRuns, .run_id = run_id.value()};
  auto row = view_->Get(Table::kRuns, keys_.RunById(run_id));
  if (!row) return At(place, std::move(row).error());
  if (!*row) return std::optional<RunNo>();
  const auto number = DecodeNumber(**row);
  if (!number) return CorruptRow(place, "the run's number cannot be read");
  return std::optional(RunNo(*number));
}

Result<std::optional<StoredRun>> KeyedReader::FindRun(const RunId& run_id) {
  auto number = FindRunNo(run_id);
  if (!number) return std::move(number).error();
  if (!*number) return std::optional<StoredRun>();
  const RowPlace place{.table = Table::kRuns, .run_id = run_id.value(), .run = **number};
  auto run = RunByNo(**number);
  if (!run) return std::move(run).error();
  if (!*run) return CorruptRow(place, "the run row with this number is missing");
  if ((*run)->run_id != run_id) {
    return CorruptRow(place, "the run row with this number belongs to another run");
  }
  return run;
}

Result<std::optional<StoredRun>> KeyedReader::RunByNo(RunNo run) {
  auto row = view_->Get(Table::kRuns, keys_.RunByNo(run));
  if (!row) return At({.table = Table::kRuns, .run = run}, std::move(row).error());
  if (!*row) return std::optional<StoredRun>();
  auto reason = QuarantineOf(run);
  if (!reason) return std::move(reason).error();
  auto decoded = DecodeRun(run, **row);
  if (!decoded) {
    if (reason->empty()) return std::move(decoded).error();
    return std::optional(Unreadable(run, std::move(*reason)));
  }
  decoded->quarantine = std::move(*reason);
  return std::optional(std::move(*decoded));
}

Result<StoredRun> KeyedReader::DecodeRun(RunNo run, std::string_view row) {
  const auto parts = SplitRunRow(row);
  if (!parts) return CorruptRow({.table = Table::kRuns, .run = run}, "the run's id cannot be read");
  auto state = DecodeRunState(parts->state);
  if (!state) {
    return At({.table = Table::kRuns, .run_id = parts->run_id, .run = run},
              std::move(state).error());
  }
  return StoredRun{run, RunId(std::string(parts->run_id)), std::move(*state), {}};
}

// The run row may be damaged anywhere, so its id is taken from the index by id.
StoredRun KeyedReader::Unreadable(RunNo run, std::string why) {
  return {run, RunId(RecoverRunId(run)), {}, std::move(why)};
}

std::string KeyedReader::RecoverRunId(RunNo run) {
  const std::string prefix(keys_.Kind(RowKind::kRunById));
  for (auto row = view_->Seek(Table::kRuns, prefix); row->Valid() && row->key().starts_with(prefix);
       row->Next()) {
    if (DecodeNumber(row->value()) == run.value()) {
      return std::string(row->key().substr(prefix.size()));
    }
  }
  return {};
}

Result<std::string> KeyedReader::QuarantineOf(RunNo run) {
  auto row = view_->Get(Table::kMeta, keys_.Quarantine(run));
  if (!row) return At({.table = Table::kMeta, .run = run}, std::move(row).error());
  return std::move(*row).value_or(std::string());
}

Result<std::vector<StoredRun>> KeyedReader::RunsFrom(RunNo from, std::size_t limit, RunNo& next) {
  EVERSTEP_ASSERT(limit > 0);
  auto heads = Heads();
  if (!heads) return std::move(heads).error();
  std::vector<StoredRun> runs;
  next = RunNo();
  std::unique_ptr<Cursor> row = view_->Seek(Table::kRuns, keys_.RunByNo(from));
  while (runs.size() < limit) {
    if (!row->Valid() && !row->status()) {
      // A damaged block hides only the rows in it: step over it run by run.
      if (row->status().error().code != ErrorCode::kStoreCorrupt || from > heads->last_run) {
        return row->status().error();
      }
      StoredRun lost = Unreadable(from, ToString(row->status().error()));
      if (!lost.run_id.value().empty()) runs.push_back(std::move(lost));
      from = RunNo(from.value() + 1);
      row = view_->Seek(Table::kRuns, keys_.RunByNo(from));
      continue;
    }
    const auto number = row->Valid() ? ParseRunByNo(row->key()) : std::nullopt;
    if (!number) return runs;
    auto reason = QuarantineOf(*number);
    if (!reason) return std::move(reason).error();
    auto run = DecodeRun(*number, row->value());
    if (run) {
      run->quarantine = std::move(*reason);
      runs.push_back(std::move(*run));
    } else {
      runs.push_back(Unreadable(*number, reason->empty() ? ToString(run.error()) : *reason));
    }
    from = RunNo(number->value() + 1);
    row->Next();
  }
  next = from;
  return runs;
}

Result<std::optional<RunId>> KeyedReader::RunIdOf(RunNo run) {
  const auto known = run_ids_.find(run);
  if (known != run_ids_.end()) return known->second;
  auto row = view_->Get(Table::kRuns, keys_.RunByNo(run));
  if (!row) return At({.table = Table::kRuns, .run = run}, std::move(row).error());
  std::optional<RunId> run_id;
  if (*row) {
    const auto parts = SplitRunRow(**row);
    std::string id = parts ? std::string(parts->run_id) : RecoverRunId(run);
    if (!id.empty()) run_id = RunId(std::move(id));
  }
  run_ids_.emplace(run, run_id);
  return run_id;
}

Result<std::optional<Tombstone>> KeyedReader::FindTombstone(const RunId& run_id) {
  const RowPlace place{.table = Table::kMeta, .run_id = run_id.value()};
  auto row = view_->Get(Table::kMeta, keys_.Tombstone(run_id));
  if (!row) return At(place, std::move(row).error());
  if (!*row) return std::optional<Tombstone>();
  auto tombstone = DecodeTombstone(**row);
  if (!tombstone) return CorruptRow(place, "the tombstone cannot be read");
  auto age = view_->Get(Table::kIndex, keys_.TombstoneAge(tombstone->removed_at, run_id.value()));
  if (!age) return At(place, std::move(age).error());
  tombstone->tenant_id = std::move(*age).value_or(std::string());
  return tombstone;
}

// ---- entities

Result<std::optional<EntityState>> KeyedReader::FindEntity(RunNo run, const EntityKey& key) {
  const RowPlace place{.table = Table::kEntities, .run = run};
  auto row = view_->Get(Table::kEntities, keys_.Entity(run, key));
  if (!row) return At(place, std::move(row).error());
  if (!*row) return std::optional<EntityState>();
  auto state = DecodeEntityState(**row);
  if (!state) return At(place, std::move(state).error());
  return std::optional(std::move(*state));
}

Status KeyedReader::VisitEntities(RunNo run, std::optional<EntityKind> kind,
                                  const std::function<void(EntityKey, EntityState)>& visit) {
  const RowPlace place{.table = Table::kEntities, .run = run};
  const std::string prefix(kind ? keys_.Entities(run, *kind) : keys_.Run(run));
  auto row = view_->Seek(Table::kEntities, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    auto key = ParseEntityKey(row->key());
    if (!key) return CorruptRow(place, "the key cannot be read");
    auto state = DecodeEntityState(row->value());
    if (!state) return At(place, std::move(state).error());
    visit(std::move(*key), std::move(*state));
  }
  if (!row->status()) return At(place, row->status().error());
  return Ok();
}

// ---- events

Result<std::optional<Event>> KeyedReader::EventAt(const StoredRun& run, EventSeq seq) {
  const RowPlace place{Table::kEvents, run.run_id.value(), run.run_no, seq};
  auto row = view_->Get(Table::kEvents, keys_.Event(run.run_no, seq));
  if (!row) return At(place, std::move(row).error());
  if (!*row) return std::optional<Event>();
  auto event = DecodeEventRecord(**row);
  if (!event) return At(place, std::move(event).error());
  if (event->seq != seq) return CorruptRow(place, "the record has a different seq");
  return std::optional(std::move(*event));
}

Result<std::optional<Event>> KeyedReader::FindByKey(const StoredRun& run, const Event& like,
                                                    const Sha256Digest& key) {
  if (like.instance_id.empty()) return FindInChain(run, like);
  const RowPlace place{.table = Table::kKeys, .run_id = run.run_id.value(), .run = run.run_no};
  auto row = view_->Get(Table::kKeys, keys_.Key(run.run_no, key));
  if (!row) return At(place, std::move(row).error());
  if (!*row) return std::optional<Event>();
  const auto seq = DecodeNumber(**row);
  if (!seq) return CorruptRow(place, "the seq cannot be read");
  auto event = EventAt(run, EventSeq(*seq));
  if (!event) return event;
  // Half of a SHA-256 does not collide by chance, so a different key means damage.
  if (!*event || !IsKnown((*event)->type) ||
      IdempotencyKey(run.state.key_version, run.run_id, run.state.scope, **event) != key) {
    return CorruptRow({Table::kKeys, run.run_id.value(), run.run_no, EventSeq(*seq)},
                      "the event with this seq has a different idempotency key");
  }
  return event;
}

// Without an instance, an attempt of an entity has one event of each type, so no key row is needed.
// An event of a hook, wait, signal or child is its first or its last event; events of a step or of
// the run are found by following their chain.
Result<std::optional<Event>> KeyedReader::FindInChain(const StoredRun& run, const Event& like) {
  const EntityKind kind = SpecOf(like.type).entity;
  if (kind == EntityKind::kRun) return FindBackwards(run, like, &Event::previous_of_type);
  if (kind == EntityKind::kStep) return FindBackwards(run, like, &Event::previous_of_entity);
  auto entity = FindEntity(run.run_no, {kind, like.entity_id});
  if (!entity) return std::move(entity).error();
  if (!*entity) return std::optional<Event>();
  for (const EventSeq seq : {(*entity)->first_seq, (*entity)->last_seq}) {
    auto event = EventAt(run, seq);
    if (!event || (*event && SameKey(**event, like))) return event;
  }
  return std::optional<Event>();
}

// Attempts of a step and epochs of a run only grow, so the walk ends at the first smaller one.
Result<std::optional<Event>> KeyedReader::FindBackwards(const StoredRun& run, const Event& like,
                                                        EventSeq Event::*previous) {
  EventQuery chain;
  chain.type = like.type;
  if (!like.entity_id.empty()) chain.entity = EntityKey{EntityKind::kStep, like.entity_id};
  auto heads = ChainHeads(run, chain);
  if (!heads) return std::move(heads).error();
  EventSeq seq = heads->empty() ? EventSeq() : heads->front();
  while (seq > EventSeq()) {
    auto event = EventAt(run, seq);
    if (!event) return event;
    const RowPlace place{Table::kEvents, run.run_id.value(), run.run_no, seq};
    if (!*event) return MissingEvent(run, seq);
    if (SameKey(**event, like)) return event;
    if ((*event)->logical_attempt < like.logical_attempt) break;
    if ((**event).*previous >= seq)
      return CorruptRow(place, "the chain of previous events does not go back");
    seq = (**event).*previous;
  }
  return std::optional<Event>();
}

Result<std::vector<Event>> KeyedReader::ReadEvents(const StoredRun& run, const EventQuery& query) {
  if (query.limit == 0 || query.after >= query.until) return std::vector<Event>();
  if (query.type || query.entity) return WalkChains(run, query);
  if (query.until == Next(query.after)) {
    // A single event needs no iterator.
    auto event = EventAt(run, query.until);
    if (!event) return std::move(event).error();
    if (*event) return std::vector<Event>{std::move(**event)};
  }
  return ReadRange(run, query);
}

bool MayHaveMore(const EventQuery& query, std::span<const Event> events) {
  std::size_t bytes = 0;
  for (const Event& event : events) bytes += event.payload.size();
  return events.size() >= query.limit || bytes >= query.bytes_max;
}

Error KeyedReader::MissingEvent(const StoredRun& run, EventSeq seq) const {
  Error error =
      CorruptRow({Table::kEvents, run.run_id.value(), run.run_no, seq}, "the event is missing");
  if (damage_ != nullptr) damage_->Note(error);
  return error;
}

Result<std::vector<Event>> KeyedReader::ReadRange(const StoredRun& run, const EventQuery& query) {
  const bool back = query.newest_first;
  EventSeq expected = Next(query.after);
  if (back) {
    auto stored = RunByNo(run.run_no);
    if (!stored) return std::move(stored).error();
    expected = *stored ? std::min(query.until, (*stored)->state.last_seq) : EventSeq();
  }
  std::vector<Event> events;
  std::size_t bytes = 0;
  const auto wants_more = [&] {
    return events.size() < query.limit && bytes < query.bytes_max && expected > query.after &&
           expected <= query.until;
  };
  const auto at = keys_.Event(run.run_no, expected);
  auto row = back ? view_->SeekForPrev(Table::kEvents, at) : view_->Seek(Table::kEvents, at);
  for (; row->Valid() && wants_more(); back ? row->Prev() : row->Next()) {
    const auto key = ParseEventKey(row->key());
    if (!key || key->run != run.run_no) break;
    const RowPlace place{Table::kEvents, run.run_id.value(), run.run_no, expected};
    if (key->seq != expected) return MissingEvent(run, expected);
    auto event = DecodeEventRecord(row->value());
    if (!event) return At(place, std::move(event).error());
    if (event->seq != expected) return CorruptRow(place, "the record is of another seq");
    bytes += event->payload.size();
    events.push_back(std::move(*event));
    expected = back ? EventSeq(expected.value() - 1) : Next(expected);
  }
  if (!row->status()) {
    return At({Table::kEvents, run.run_id.value(), run.run_no, expected}, row->status().error());
  }
  if (wants_more() && expected <= run.state.last_seq) {
    // The caller's state may be ahead of what is durable; this view's is not.
    auto stored = RunByNo(run.run_no);
    if (!stored) return std::move(stored).error();
    if (*stored && expected <= (*stored)->state.last_seq) {
      return MissingEvent(run, expected);
    }
  }
  EVERSTEP_ASSERT(events.size() <= query.limit);
  EVERSTEP_ASSERT(events.empty() || std::min(events.front().seq, events.back().seq) > query.after);
  return events;
}

// Returns the newest event of each chain that the query follows. Uses this view's own rows, because
// the caller's state of the run may be ahead of what is durable.
Result<std::vector<EventSeq>> KeyedReader::ChainHeads(const StoredRun& run,
                                                      const EventQuery& query) {
  std::vector<EventSeq> heads;
  if (query.entity && query.entity->kind != EntityKind::kRun) {
    auto entity = FindEntity(run.run_no, *query.entity);
    if (!entity) return std::move(entity).error();
    if (*entity) heads.push_back((*entity)->last_seq);
    return heads;
  }
  auto stored = RunByNo(run.run_no);
  if (!stored) return std::move(stored).error();
  if (!*stored) return heads;
  const auto& last = (*stored)->state.last_of_type;
  for (const EventSpec& spec : Catalogue()) {
    const bool asked = (!query.type || *query.type == spec.type) &&
                       (!query.entity || query.entity->kind == spec.entity);
    if (asked) heads.push_back(last[static_cast<std::size_t>(spec.type)]);
  }
  return heads;
}

Result<std::vector<Event>> KeyedReader::WalkChains(const StoredRun& run, const EventQuery& query) {
  auto heads = ChainHeads(run, query);
  if (!heads) return std::move(heads).error();
  const bool by_entity = query.entity && query.entity->kind != EntityKind::kRun;
  // Walks from the newest event back to `after`, and keeps the oldest or the newest of them.
  std::deque<Event> found;
  std::size_t bytes = 0;
  const auto is_enough = [&] { return found.size() >= query.limit || bytes >= query.bytes_max; };
  while (!heads->empty() && !(query.newest_first && is_enough())) {
    const auto newest = std::ranges::max_element(*heads);
    const EventSeq seq = *newest;
    if (seq <= query.after) break;
    auto event = EventAt(run, seq);
    if (!event) return std::move(event).error();
    const RowPlace place{Table::kEvents, run.run_id.value(), run.run_no, seq};
    if (!*event) return CorruptRow(place, "the event is missing");
    *newest = by_entity ? (*event)->previous_of_entity : (*event)->previous_of_type;
    if (*newest >= seq) return CorruptRow(place, "the chain of previous events does not go back");
    if (seq > query.until || (query.type && (*event)->type != *query.type)) continue;
    bytes += (*event)->payload.size();
    if (query.newest_first) {
      found.push_back(std::move(**event));
      continue;
    }
    found.push_front(std::move(**event));
    // Drop the newest while those before it are enough.
    while (found.size() > query.limit ||
           (found.size() > 1 && bytes - found.back().payload.size() >= query.bytes_max)) {
      bytes -= found.back().payload.size();
      found.pop_back();
    }
  }
  EVERSTEP_ASSERT(found.size() <= query.limit);
  EVERSTEP_ASSERT(found.empty() || std::max(found.front().seq, found.back().seq) <= query.until);
  return std::vector<Event>(std::make_move_iterator(found.begin()),
                            std::make_move_iterator(found.end()));
}

Result<EventSeq> KeyedReader::LastEventRow(RunNo run) {
  const auto row = view_->SeekForPrev(Table::kEvents, keys_.Event(run, EventSeq(UINT64_MAX)));
  if (!row->status()) return At({.table = Table::kEvents, .run = run}, row->status().error());
  const auto key = row->Valid() ? ParseEventKey(row->key()) : std::nullopt;
  return key && key->run == run ? key->seq : EventSeq();
}

}  // namespace everstep
