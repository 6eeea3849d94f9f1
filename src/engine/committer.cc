#include "engine/committer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

// Larger writes gain no throughput and only delay their callers.
constexpr std::size_t kUnitsPerWriteMax = 4096;

// A unit with capacity for more events than this is not reused.
constexpr std::size_t kEventsKept = 8;

// Including the control block of its shared_ptr.
static_assert(sizeof(CommitUnit) + 32 <= 1032);

Error Stopped() {
  return {ErrorCode::kStoreStopped,
          "the store stopped because the outcome of a write is unknown; reopen it to recover",
          {}};
}

}  // namespace

bool CommitUnit::Reuse() {
  EVERSTEP_ASSERT(settled() && order_ == nullptr);
  if (change.events.capacity() > kEventsKept || documents_ != nullptr) return false;
  // The next decision overwrites the other members.
  change.events.clear();
  change.instance_keys.clear();
  change.entities.clear();
  change.tokens.clear();
  change.alarms.clear();
  error_.reset();
  state_.store(kQueued, std::memory_order_relaxed);
  return true;
}

void CommitUnit::Attach(TenantDocument document) {
  EVERSTEP_ASSERT(!settled() && order_ == nullptr);
  if (documents_ == nullptr) documents_ = std::make_unique<std::vector<TenantDocument>>();
  documents_->push_back(std::move(document));
}

Committer::Committer(StateStore& store, Clock& clock, DurableFn on_durable)
    : store_(store),
      clock_(clock),
      on_durable_(std::move(on_durable)),
      last_position_(store.LastPosition()) {}

Status Committer::CheckOpen() const { return stopped() ? Status(Stopped()) : Ok(); }

Result<bool> Committer::Submit(const std::shared_ptr<CommitUnit>& unit, std::uint64_t generation) {
  RunChange& change = unit->change;
  EVERSTEP_ASSERT(!change.events.empty());
  EVERSTEP_ASSERT(change.events.back().seq == change.state.last_seq);
  EVERSTEP_ASSERT(!unit->settled() && unit->order_ == nullptr);
  const std::lock_guard lock(mutex_);
  if (stopped()) return Stopped();
  if (generation != this->generation()) return false;
  // Whole milliseconds, which every consumer of the contract can parse.
  const auto now = std::chrono::floor<std::chrono::milliseconds>(clock_.Now());
  const Timestamp persisted_at = std::max<Timestamp>(change.state.updated_at, now);
  last_position_ = Position(last_position_.value() + 1);
  change.position = last_position_;
  for (Event& event : change.events) event.persisted_at = persisted_at;
  change.state.updated_at = persisted_at;
  if (change.status_before == RunStatus::kAbsent) change.state.created_at = persisted_at;
  Enqueue(unit);
  return true;
}

Status Committer::Await(CommitUnit& unit) {
  while (!unit.settled()) {
    // If several threads await the leading unit, one of them becomes the leader.
    std::uint32_t state = CommitUnit::kLeads;
    if (unit.state_.compare_exchange_strong(state, CommitUnit::kBeingWritten)) {
      Lead();
      EVERSTEP_ASSERT(unit.settled());
    } else if (state != CommitUnit::kSettled) {
      unit.state_.wait(state, std::memory_order_acquire);
    }
  }
  return unit.outcome();
}

Status Committer::Put(std::vector<TenantDocument> documents) {
  const auto unit = std::make_shared<CommitUnit>();
  unit->documents_ = std::make_unique<std::vector<TenantDocument>>(std::move(documents));
  return EnqueueAndAwait(unit);
}

Status Committer::CarryOut(StoreOrder& order) {
  const auto unit = std::make_shared<CommitUnit>();
  unit->order_ = &order;
  return EnqueueAndAwait(unit);
}

Status Committer::EnqueueAndAwait(const std::shared_ptr<CommitUnit>& unit) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped()) return Stopped();
    Enqueue(unit);
  }
  return Await(*unit);
}

void Committer::Enqueue(std::shared_ptr<CommitUnit> unit) {
  EVERSTEP_ASSERT(has_leader_ || queue_.empty());
  if (!has_leader_) {
    has_leader_ = true;
    unit->state_.store(CommitUnit::kLeads, std::memory_order_release);
  }
  queue_.push_back(std::move(unit));
}

void Committer::Lead() {
  Units units;
  {
    const std::lock_guard lock(mutex_);
    EVERSTEP_ASSERT(has_leader_ && !queue_.empty());
    EVERSTEP_ASSERT(queue_.front()->state_.load(std::memory_order_relaxed) ==
                    CommitUnit::kBeingWritten);
    if (queue_.size() <= kUnitsPerWriteMax) {
      units.swap(queue_);
    } else {
      const auto end = queue_.begin() + kUnitsPerWriteMax;
      units.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
      queue_.erase(queue_.begin(), end);
    }
  }
  // The leader's own unit comes first. An order is written alone, between the writes before and
  // after it.
  Units together;
  bool alive = true;
  for (auto& unit : units) {
    if (unit->order_ == nullptr) {
      together.push_back(std::move(unit));
      continue;
    }
    alive = alive && Write(together);
    if (!alive) Discard(together);
    together.clear();
    Status done = CheckOpen();
    if (done) done = WriteOrder(store_, *unit->order_);
    if (!done && done.error().code == ErrorCode::kIndeterminate) FailAll({}, done.error());
    Settle(*unit, std::move(done));
  }
  if (!alive || !Write(together)) Discard(together);
  const std::lock_guard lock(mutex_);
  has_leader_ = !queue_.empty();
  if (!has_leader_) return;
  CommitUnit& next = *queue_.front();
  EVERSTEP_ASSERT(next.state_.load(std::memory_order_relaxed) == CommitUnit::kQueued);
  next.state_.store(CommitUnit::kLeads, std::memory_order_release);
  next.state_.notify_all();
}

bool Committer::Write(const Units& units) {
  if (units.empty()) return true;
  std::vector<const RunChange*> changes;
  std::vector<const TenantDocument*> documents;
  changes.reserve(units.size());
  std::uint64_t events = 0;
  for (const auto& unit : units) {
    EVERSTEP_ASSERT(!unit->settled() && (unit->documents_ || !unit->change.events.empty()));
    if (unit->documents_) {
      for (const TenantDocument& document : *unit->documents_) documents.push_back(&document);
    }
    if (unit->change.events.empty()) continue;
    changes.push_back(&unit->change);
    events += unit->change.events.size();
  }
  EVERSTEP_ASSERT(changes.empty() ||
                  changes.back()->position.value() - changes.front()->position.value() + 1 ==
                      changes.size());
  const auto begun = SteadyNow();
  const Status written = store_.Commit(changes, documents);
  if (!written) {
    FailAll(units, written.error());
    return false;
  }
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(SteadyNow() - begun);
  write_us_.Add(static_cast<std::uint64_t>(took.count()));
  write_events_.Add(events);
  if (on_durable_ && changes.size() == units.size()) {
    on_durable_(units);
  } else if (on_durable_ && !changes.empty()) {
    Units decisions;
    std::ranges::copy_if(units, std::back_inserter(decisions),
                         [](const auto& unit) { return !unit->change.events.empty(); });
    on_durable_(decisions);
  }
  for (const auto& unit : units) Settle(*unit, Ok());
  return true;
}

void Committer::FailAll(const Units& written, const Error& error) {
  const std::lock_guard lock(mutex_);
  failure_ = error;
  if (error.code != ErrorCode::kStoreFull) stopped_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  // Reuse the positions of the failed units, so that the commit order has no gaps.
  last_position_ = store_.LastPosition();
  for (const auto& unit : written) Settle(*unit, error);
  // Queued units were decided on state that includes the failed write, so they must not be written.
  Discard(queue_);
  std::erase_if(queue_, [](const auto& unit) { return unit->settled(); });
}

void Committer::Discard(const Units& units) {
  for (const auto& unit : units) {
    if (unit->order_ != nullptr || unit->settled()) continue;
    Settle(*unit, stopped() ? Stopped() : failure_);
  }
}

void Committer::Settle(CommitUnit& unit, Status outcome) {
  EVERSTEP_ASSERT(!unit.settled());
  if (!outcome) unit.error_ = std::make_unique<const Error>(std::move(outcome).error());
  unit.state_.store(CommitUnit::kSettled, std::memory_order_release);
  unit.state_.notify_all();
}

}  // namespace everstep
