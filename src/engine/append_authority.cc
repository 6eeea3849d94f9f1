#include "engine/append_authority.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "base/assert.h"
#include "engine/draft.h"

namespace everstep {

// The runs kept in memory, most recently used first. While the shard exceeds its share of memory,
// runs without changes in flight are evicted from the end.
struct AppendAuthority::Shard {
  Shard(Clock& clock, Random& random) : ulids(clock, random) {}

  struct Slot {
    Slot(StateStore& store, StoredRun stored) : run(store, std::move(stored)) {}
    LiveRun run;
    std::size_t bytes = 0;
  };
  using Slots = std::list<Slot>;

  std::mutex mutex;
  UlidGenerator ulids;  // guarded by mutex, like all members below
  std::uint64_t generation = 0;
  Slots slots;
  std::unordered_map<RunId, Slots::iterator> by_id;
  std::unordered_set<RunId> leaving;  // being purged; accept no more events
  Draft::Touched touched;             // used by the current draft
  std::size_t bytes = 0;

  void Clear() {
    by_id.clear();
    slots.clear();
    bytes = 0;
  }
  // Discards runs of an earlier generation: they may include changes whose write failed.
  void Enter(std::uint64_t current) {
    if (generation == current) return;
    Clear();
    generation = current;
  }
  void Account(Slot& slot) {
    const std::size_t now = slot.run.MemoryBytes();
    bytes += now - slot.bytes;
    slot.bytes = now;
  }
  void Drop(const RunId& run_id) {
    const auto found = by_id.find(run_id);
    if (found == by_id.end()) return;
    const auto slot = found->second;
    EVERSTEP_ASSERT(bytes >= slot->bytes);
    bytes -= slot->bytes;
    by_id.erase(found);
    slots.erase(slot);
    EVERSTEP_ASSERT(by_id.size() == slots.size() && (!slots.empty() || bytes == 0));
  }
};

AppendAuthority::AppendAuthority(StateStore& store, Committer& committer, Clock& clock,
                                 Random& random, Options options)
    : store_(store),
      committer_(committer),
      clock_(clock),
      random_(random),
      options_(options),
      tokens_(store),
      last_run_no_(store.LastRunNo().value()) {
  for (auto& shard : shards_) shard = std::make_unique<Shard>(clock, random);
}

AppendAuthority::~AppendAuthority() = default;

AppendAuthority::Shard& AppendAuthority::ShardOf(const RunId& run_id) {
  return *shards_[std::hash<RunId>{}(run_id) % kShards];
}

AppendAuthority::Submission AppendAuthority::Submit(std::span<const AppendOrder> orders,
                                                    const RunScope& defaults) {
  Submission submission;
  submission.entries_.reserve(orders.size());
  while (!orders.empty()) {
    // Consecutive orders for the same run are decided and committed as one change.
    std::size_t count = 1;
    while (count < orders.size() && orders[count].run_id == orders[0].run_id) ++count;
    DecideGroup(orders.first(count), defaults, submission.entries_);
    orders = orders.subspan(count);
  }
  return submission;
}

void AppendAuthority::DecideGroup(std::span<const AppendOrder> orders, const RunScope& defaults,
                                  std::vector<Entry>& entries) {
  const std::size_t from = entries.size();
  Shard& shard = ShardOf(orders[0].run_id);
  bool corrupt = false;
  while (true) {
    const std::lock_guard lock(shard.mutex);
    shard.Enter(committer_.generation());
    if (TryDecideGroup(shard, orders, defaults, entries)) {
      EVERSTEP_ASSERT(entries.size() == from + orders.size());
      corrupt = std::any_of(entries.begin() + static_cast<std::ptrdiff_t>(from), entries.end(),
                            [](const Entry& entry) {
                              return !entry.placed &&
                                     entry.placed.error().code == ErrorCode::kStoreCorrupt;
                            });
      break;
    }
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(from), entries.end());
  }
  if (corrupt) QuarantineCorrupt(orders[0].run_id, entries, from);
}

// Returns false if a failed write ended the generation meanwhile; the caller must decide again.
bool AppendAuthority::TryDecideGroup(Shard& shard, std::span<const AppendOrder> orders,
                                     const RunScope& defaults, std::vector<Entry>& entries) {
  const auto refuse_all = [&](const Error& error) {
    for (std::size_t i = 0; i < orders.size(); ++i) entries.push_back({error, nullptr, 0});
  };
  // After a write of unknown outcome the store may return state that is not durable, so nothing may
  // be decided on it.
  const Status open = committer_.CheckOpen();
  if (!open) {
    refuse_all(open.error());
    return true;
  }
  auto loaded = Load(shard, orders[0].run_id);
  if (!loaded) {
    refuse_all(loaded.error());
    return true;
  }
  LiveRun& run = **loaded;
  EVERSTEP_ASSERT(run.run_id() == orders[0].run_id);
  if (run.AtRest()) run.TrimEntities();

  const auto now = std::chrono::floor<std::chrono::milliseconds>(clock_.Now());
  Draft draft(run, {tokens_, shard.ulids, random_, shard.touched, now});
  const std::size_t from = entries.size();
  for (const AppendOrder& order : orders) {
    Draft::Answer answer = draft.Apply(order, defaults);
    if (answer.placed && answer.placed->payload_mismatch) payload_mismatches_.fetch_add(1);
    if (answer.event_index) answer.earlier = draft.unit();
    entries.push_back(
        {std::move(answer.placed), std::move(answer.earlier), answer.event_index.value_or(0)});
  }
  if (!draft.empty()) {
    const auto unit = draft.Finish([this] { return RunNo(last_run_no_.fetch_add(1) + 1); });
    const AppendOrder& last = orders.back();
    if (last.checkpoint != nullptr && entries.back().placed) {
      TenantDocument document{CheckpointKey(unit->change.state.scope.tenant_id, last.run_id), {}};
      if (!last.checkpoint->empty()) document.text = *last.checkpoint;
      unit->Attach(std::move(document));
    }
    const auto submitted = committer_.Submit(unit, shard.generation);
    if (!submitted) {
      shard.Clear();
      shard.generation = 0;
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(from), entries.end());
      refuse_all(submitted.error());
      return true;
    }
    if (!*submitted) {
      shard.Clear();
      return false;
    }
    EVERSTEP_ASSERT(unit->change.tokens.empty() || draft.holds_tokens());
    if (!unit->change.tokens.empty()) tokens_.RecordLocked(unit);
    run.Submitted(unit);
  }
  // A rejection may depend on events in flight, so it must not be returned before they are durable.
  for (std::size_t i = from; i < entries.size(); ++i) {
    if (!entries[i].placed && entries[i].unit == nullptr) entries[i].unit = run.OnItsWay();
  }
  if (run.state().status == RunStatus::kAbsent) {
    shard.Drop(run.run_id());
  } else {
    EVERSTEP_ASSERT(&shard.slots.front().run == &run);  // most recently used
    shard.Account(shard.slots.front());
    MakeRoom(shard, &run);
  }
  return true;
}

Result<LiveRun*> AppendAuthority::Load(Shard& shard, const RunId& run_id) {
  if (!shard.leaving.empty() && shard.leaving.contains(run_id)) {
    return Error{ErrorCode::kRunExpired, "run " + run_id.value() + " is being removed", {}};
  }
  const auto known = shard.by_id.find(run_id);
  if (known != shard.by_id.end()) {
    shard.slots.splice(shard.slots.begin(), shard.slots, known->second);
    return &known->second->run;
  }
  const auto reader = store_.Read();
  auto stored = reader->FindRun(run_id);
  if (!stored) return std::move(stored).error();
  StoredRun row;
  if (*stored) {
    row = std::move(**stored);
    if (!row.quarantine.empty()) {
      return Error{ErrorCode::kRunQuarantined,
                   "run " + run_id.value() + " is quarantined: " + row.quarantine,
                   {}};
    }
  } else {
    auto tombstone = reader->FindTombstone(run_id);
    if (!tombstone) return std::move(tombstone).error();
    if (*tombstone) {
      // No details: the caller's tenant may be another one.
      return Error{ErrorCode::kRunExpired,
                   "a run with the id " + run_id.value() +
                       " was removed; the id cannot be reused until its tombstone expires",
                   {}};
    }
    row.run_id = run_id;
  }
  shard.slots.emplace_front(store_, std::move(row));
  shard.by_id.emplace(run_id, shard.slots.begin());
  EVERSTEP_ASSERT(shard.by_id.size() == shard.slots.size());
  shard.Account(shard.slots.front());
  return &shard.slots.front().run;
}

void AppendAuthority::MakeRoom(Shard& shard, const LiveRun* keep) {
  const std::size_t share = options_.memory_bytes_max / kShards;
  auto slot = shard.slots.end();
  while (shard.bytes > share && slot != shard.slots.begin()) {
    --slot;
    if (&slot->run == keep || !slot->run.AtRest()) continue;
    const RunId run_id = slot->run.run_id();
    ++slot;
    shard.Drop(run_id);
  }
}

// Quarantines a run with a record that cannot be decoded. Other runs are not affected.
void AppendAuthority::QuarantineCorrupt(const RunId& run_id, std::vector<Entry>& entries,
                                        std::size_t from) {
  std::string reason;
  for (std::size_t i = from; i < entries.size(); ++i) {
    if (!entries[i].placed && entries[i].placed.error().code == ErrorCode::kStoreCorrupt) {
      reason = entries[i].placed.error().message;
      entries[i].placed = Error{
          ErrorCode::kRunQuarantined, "run " + run_id.value() + " is quarantined: " + reason, {}};
    }
  }
  EVERSTEP_ASSERT(!reason.empty());
  // Await our own units first: the quarantine write below could deadlock behind them.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].unit) (void)committer_.Await(*entries[i].unit);
  }
  Quarantine(run_id, reason);
}

void AppendAuthority::Quarantine(const RunId& run_id, const std::string& reason) {
  // Ignore a failed write: the next reader of the damaged record quarantines the run again.
  (void)committer_.CarryOut(QuarantineRun{run_id, reason});
  Shard& shard = ShardOf(run_id);
  const std::lock_guard lock(shard.mutex);
  shard.Drop(run_id);
}

std::vector<Result<Placed>> AppendAuthority::Await(Submission submission) {
  std::vector<Result<Placed>> answers;
  answers.reserve(submission.entries_.size());
  for (Entry& entry : submission.entries_) {
    if (entry.unit) {
      const Status durable = committer_.Await(*entry.unit);
      if (!durable) {
        answers.emplace_back(durable.error());
        continue;
      }
      if (entry.placed && entry.placed->persisted_at == Timestamp{}) {
        EVERSTEP_ASSERT(entry.index < entry.unit->change.events.size());
        entry.placed->persisted_at = entry.unit->change.events[entry.index].persisted_at;
      }
    }
    answers.push_back(std::move(entry.placed));
  }
  return answers;
}

Result<std::size_t> AppendAuthority::Purge(std::span<const RunId> runs,
                                           Timestamp tombstones_expired) {
  std::vector<RunId> leaving;
  for (const RunId& run_id : runs) {
    Shard& shard = ShardOf(run_id);
    const std::lock_guard lock(shard.mutex);
    shard.Enter(committer_.generation());
    const auto loaded = Load(shard, run_id);
    if (!loaded || !(*loaded)->AtRest() || !IsTerminal((*loaded)->state().status)) {
      if (loaded && (*loaded)->state().status == RunStatus::kAbsent) shard.Drop(run_id);
      continue;
    }
    shard.Drop(run_id);
    shard.leaving.insert(run_id);
    leaving.push_back(run_id);
  }
  const Status purged = committer_.CarryOut(PurgeRuns{leaving, clock_.Now(), tombstones_expired});
  for (const RunId& run_id : leaving) {
    Shard& shard = ShardOf(run_id);
    const std::lock_guard lock(shard.mutex);
    shard.leaving.erase(run_id);
  }
  if (!purged) return purged.error();
  return leaving.size();
}

std::uint64_t AppendAuthority::MemoryBytes() {
  std::uint64_t bytes = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    bytes += shard->bytes;
  }
  return bytes;
}

}  // namespace everstep
