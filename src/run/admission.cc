#include "run/admission.h"

#include <algorithm>

#include "base/assert.h"

namespace everstep {

struct Admission::Entry {
  enum class State : std::uint8_t { kNew, kQueued, kDelayed, kLeased, kRunning };

  AdmissionRun run;
  AdmissionPath path{};
  std::uint64_t number = 0;  // in order of arrival
  State state = State::kNew;
  Timestamp queued_at{};
  Timestamp until{};  // of a delayed run
  LeaseEpoch epoch;   // of a leased run
  Timestamp leased_at{};

  AdmissionScope& tenant() const { return *path[2]; }
  bool pending() const { return state == State::kQueued || state == State::kDelayed; }
};

Admission::Admission(AdmissionPolicy policy)
    : policy_(std::move(policy)), queue_(policy_.ageing), scopes_(policy_, queue_) {}

Admission::~Admission() = default;

AdmissionDecision Admission::Request(const AdmissionRun& run, Timestamp now) {
  EVERSTEP_ASSERT(!Knows(run.run_id));
  Advance(now);
  Entry& entry = Add(run, Arrival());
  const bool full = IsFull(entry);
  if (run.start_at > now_) {
    if (full) return Reject(entry, FullQueue(entry));
    Delay(entry, run.start_at);
    return {.verdict = AdmissionDecision::Verdict::kDelay,
            .start_at = run.start_at,
            .block = WhyPending(entry)};
  }
  if (auto block = BlockOf(entry)) {
    return HoldBack(entry, full ? FullQueue(entry) : *std::move(block));
  }
  Enqueue(entry);
  if (Head() == &entry) {
    return {.verdict = AdmissionDecision::Verdict::kStart, .epoch = Lease(entry).epoch};
  }
  if (full) return Reject(entry, FullQueue(entry));
  return {.verdict = AdmissionDecision::Verdict::kQueue,
          .position = queue_.Position(entry.number),
          .block = WhyPending(entry)};
}

void Admission::Keep(const AdmissionRun& run, Timestamp now) {
  EVERSTEP_ASSERT(!Knows(run.run_id));
  Advance(now);
  (void)Restore(run, RestoredAs::kQueued, Arrival());
}

AdmissionDecision Admission::HoldBack(Entry& entry, AdmissionBlock block) {
  if (block.bound == AdmissionBound::kQueue ||
      policy_.overload == AdmissionPolicy::Overload::kReject) {
    return Reject(entry, std::move(block));
  }
  if (policy_.overload == AdmissionPolicy::Overload::kDelay) {
    Delay(entry, now_ + policy_.delay);
    return {.verdict = AdmissionDecision::Verdict::kDelay,
            .start_at = entry.until,
            .block = std::move(block)};
  }
  Enqueue(entry);
  return {.verdict = AdmissionDecision::Verdict::kQueue,
          .position = queue_.Position(entry.number),
          .block = WhyPending(entry)};
}

AdmissionDecision Admission::Reject(Entry& entry, AdmissionBlock block) {
  // When a run will end is unknown; when a token arrives is known.
  std::chrono::microseconds retry_after =
      block.bound == AdmissionBound::kRate ? std::chrono::microseconds(0) : policy_.delay;
  for (AdmissionScope* const scope : entry.path) {
    if (scope != nullptr) retry_after = std::max(retry_after, scope->TokenAt(now_) - now_);
  }
  Drop(entry);
  return {.verdict = AdmissionDecision::Verdict::kReject,
          .retry_after = retry_after,
          .block = std::move(block)};
}

bool Admission::IsFull(const Entry& entry) const {
  return entry.tenant().queued + entry.tenant().delayed >= policy_.queue_max;
}

AdmissionBlock Admission::FullQueue(const Entry& entry) const {
  return {.level = AdmissionLevel::kTenant,
          .bound = AdmissionBound::kQueue,
          .message = "tenant " + entry.run.tenant + " may have at most " +
                     std::to_string(policy_.queue_max) + " runs pending"};
}

std::vector<RunLease> Admission::Next(Timestamp now, std::size_t runs_max) {
  Advance(now);
  std::vector<RunLease> leases;
  while (leases.size() < runs_max) {
    Entry* const entry = Head();
    if (entry == nullptr) break;
    leases.push_back(Lease(*entry));
  }
  return leases;
}

Admission::Entry* Admission::Head() {
  if (scopes_.engine().Blocks(now_) != AdmissionBound::kNone) return nullptr;
  while (const auto number = queue_.Peek()) {
    Entry& entry = *by_number_.at(*number);
    // If the clock was set back, an open gate may have to be closed. Update closes it.
    if (!BlockOf(entry)) return &entry;
    scopes_.Update(entry.path, now_);
  }
  return nullptr;
}

RunLease Admission::Lease(Entry& entry) {
  const auto popped = queue_.Pop();
  EVERSTEP_ASSERT(popped == entry.number);
  EVERSTEP_ASSERT(entry.state == Entry::State::kQueued);
  entry.state = Entry::State::kLeased;
  entry.epoch = LeaseEpoch(++last_epoch_);
  entry.leased_at = now_;
  leases_.emplace(now_, entry.number);
  for (AdmissionScope* const scope : entry.path) {
    if (scope == nullptr) continue;
    --scope->queued;
    scope->Start(entry.run.run_id, now_);
  }
  scopes_.Update(entry.path, now_);
  return {entry.run.run_id, entry.epoch};
}

std::optional<Timestamp> Admission::NextWake(Timestamp now) {
  Advance(now);
  AdmissionScope& engine = scopes_.engine();
  if (engine.Blocks(now_) == AdmissionBound::kRunning) return std::nullopt;
  const Timestamp engine_at = engine.TokenAt(now_);
  if (queue_.Peek()) return engine_at > now_ ? engine_at : now;
  std::optional<Timestamp> wake = scopes_.NextWake();
  if (!delayed_.empty()) {
    const Timestamp due = delayed_.begin()->first;
    wake = wake ? std::min(*wake, due) : due;
  }
  if (wake) wake = std::max(*wake, engine_at);
  return wake;
}

bool Admission::Confirm(const RunId& run_id, LeaseEpoch epoch) {
  Entry* const entry = FindLeased(run_id, epoch);
  if (entry == nullptr) return false;
  const std::size_t ended = leases_.erase({entry->leased_at, entry->number});
  EVERSTEP_ASSERT(ended == 1);
  entry->state = Entry::State::kRunning;
  return true;
}

bool Admission::Release(const RunId& run_id, LeaseEpoch epoch, StartFailure failure,
                        Timestamp not_before) {
  Entry* const entry = FindLeased(run_id, epoch);
  if (entry == nullptr) return false;
  for (AdmissionScope* const scope : entry->path) {
    if (scope != nullptr) scope->GiveBackToken();
  }
  LeaveRunning(*entry);
  if (failure == StartFailure::kPermanent) {
    Drop(*entry);
  } else if (not_before > now_) {
    Delay(*entry, not_before);
  } else {
    Enqueue(*entry);
  }
  return true;
}

std::vector<RunId> Admission::ExpireLeases(Timestamp now, std::chrono::microseconds ttl) {
  Advance(now);
  std::vector<RunId> expired;
  while (!leases_.empty() && leases_.begin()->first + ttl <= now_) {
    Entry& entry = *by_number_.at(leases_.begin()->second);
    LeaveRunning(entry);
    Enqueue(entry);
    expired.push_back(entry.run.run_id);
  }
  leases_expired_ += expired.size();
  return expired;
}

bool Admission::Ended(const RunId& run_id) {
  Entry* const entry = Find(run_id);
  if (entry == nullptr) return false;
  Drop(*entry);
  return true;
}

bool Admission::Forget(const RunId& run_id) {
  Entry* const entry = Find(run_id);
  if (entry == nullptr || entry->state == Entry::State::kRunning) return false;
  Drop(*entry);
  return true;
}

bool Admission::Restore(const AdmissionRun& run, RestoredAs state, Timestamp queued_at) {
  if (Knows(run.run_id)) return false;
  last_arrival_ = std::max(last_arrival_, queued_at);
  Entry& entry = Add(run, queued_at);
  if (state == RestoredAs::kRunning) {
    entry.state = Entry::State::kRunning;
    for (AdmissionScope* const scope : entry.path) {
      if (scope != nullptr) scope->Resume(run.run_id);
    }
    scopes_.Update(entry.path, now_);
  } else if (run.start_at > now_) {
    Delay(entry, run.start_at);
  } else {
    Enqueue(entry);
  }
  return true;
}

// Returns a unique time, so that the order of runs that arrive in the same microsecond can be
// recorded.
Timestamp Admission::Arrival() {
  last_arrival_ = std::max(now_, last_arrival_ + std::chrono::microseconds(1));
  return last_arrival_;
}

Timestamp Admission::QueuedAt(const RunId& run_id) const {
  const Entry* const entry = Find(run_id);
  EVERSTEP_ASSERT(entry != nullptr);
  return entry->queued_at;
}

Admission::Entry& Admission::Add(const AdmissionRun& run, Timestamp queued_at) {
  auto& entry = runs_[run.run_id];
  EVERSTEP_ASSERT(entry == nullptr);
  entry = std::make_unique<Entry>();
  entry->run = run;
  entry->path = scopes_.Join(run.tenant, run.project, run.key);
  entry->number = ++runs_made_;
  entry->queued_at = queued_at;
  by_number_.emplace(entry->number, entry.get());
  return *entry;
}

void Admission::Enqueue(Entry& entry) {
  EVERSTEP_ASSERT(entry.state == Entry::State::kNew);
  entry.state = Entry::State::kQueued;
  const auto open = [&](std::size_t level) {
    AdmissionScope* const scope = entry.path[level];
    return scope == nullptr || scope->Blocks(now_) == AdmissionBound::kNone;
  };
  // A run with a later start time begins to wait, and to age, at that time.
  queue_.Push({.id = entry.number,
               .order = static_cast<std::uint64_t>(Micros(entry.queued_at)),
               .tenant = entry.run.tenant,
               .group = entry.run.project,
               .key = entry.run.key,
               .priority = entry.run.priority,
               .arrived = std::max(entry.queued_at, entry.run.start_at),
               .weight = entry.tenant().weight()},
              {.tenant_open = open(2), .group_open = open(1), .key_open = open(0)});
  for (AdmissionScope* const scope : entry.path) {
    if (scope != nullptr) ++scope->queued;
  }
  scopes_.Update(entry.path, now_);
}

void Admission::Delay(Entry& entry, Timestamp until) {
  EVERSTEP_ASSERT(entry.state == Entry::State::kNew);
  entry.state = Entry::State::kDelayed;
  entry.until = until;
  delayed_.emplace(until, entry.number);
  ++entry.tenant().delayed;
}

void Admission::LeavePending(Entry& entry) {
  EVERSTEP_ASSERT(entry.pending());
  if (entry.state == Entry::State::kDelayed) {
    delayed_.erase({entry.until, entry.number});
    EVERSTEP_ASSERT(entry.tenant().delayed > 0);
    --entry.tenant().delayed;
  } else {
    const bool removed = queue_.Remove(entry.number);
    EVERSTEP_ASSERT(removed && entry.tenant().queued > 0);
    for (AdmissionScope* const scope : entry.path) {
      if (scope != nullptr) --scope->queued;
    }
  }
  entry.state = Entry::State::kNew;
}

void Admission::LeaveRunning(Entry& entry) {
  EVERSTEP_ASSERT(entry.state == Entry::State::kLeased || entry.state == Entry::State::kRunning);
  if (entry.state == Entry::State::kLeased) leases_.erase({entry.leased_at, entry.number});
  for (AdmissionScope* const scope : entry.path) {
    if (scope != nullptr) scope->End();
  }
  entry.state = Entry::State::kNew;
  scopes_.Update(entry.path, now_);
}

void Admission::Drop(Entry& entry) {
  if (entry.pending()) {
    LeavePending(entry);
  } else if (entry.state != Entry::State::kNew) {
    LeaveRunning(entry);
  }
  scopes_.Leave(entry.path, now_);
  by_number_.erase(entry.number);
  runs_.erase(runs_.find(entry.run.run_id));
  EVERSTEP_ASSERT(runs_.size() == by_number_.size());
}

Admission::Entry* Admission::Find(const RunId& run_id) const {
  const auto found = runs_.find(run_id);
  return found == runs_.end() ? nullptr : found->second.get();
}

Admission::Entry* Admission::FindLeased(const RunId& run_id, LeaseEpoch epoch) const {
  Entry* const entry = Find(run_id);
  if (entry == nullptr || entry->state != Entry::State::kLeased) return nullptr;
  return entry->epoch == epoch ? entry : nullptr;
}

void Admission::Advance(Timestamp now) {
  if (last_arrival_ - now > TokenBucket::kClockStep) last_arrival_ = now;
  if (now_ - now > TokenBucket::kClockStep) {
    now_ = now;
    scopes_.Reset(now_);
    LeasesSinceClockStep();
  }
  now_ = std::max(now_, now);
  scopes_.Advance(now_);
  while (!delayed_.empty() && delayed_.begin()->first <= now_) {
    Entry& entry = *by_number_.at(delayed_.begin()->second);
    LeavePending(entry);
    Enqueue(entry);
  }
}

// After the clock was set back, leases from the future would expire too late: count them from now.
void Admission::LeasesSinceClockStep() {
  Timed leases;
  for (const auto& [leased_at, number] : leases_) {
    Entry& entry = *by_number_.at(number);
    entry.leased_at = std::min(leased_at, now_);
    leases.emplace(entry.leased_at, number);
  }
  EVERSTEP_ASSERT(leases.size() == leases_.size());
  leases_ = std::move(leases);
}

std::uint64_t Admission::Position(const RunId& run_id) const {
  const Entry* const entry = Find(run_id);
  return entry == nullptr ? 0 : queue_.Position(entry->number);
}

std::uint64_t Admission::PendingOf(const std::string& tenant) const {
  const AdmissionScope* const scope = scopes_.FindTenant(tenant);
  return scope == nullptr ? 0 : scope->queued + scope->delayed;
}

std::optional<AdmissionBlock> Admission::Why(const RunId& run_id, Timestamp now) {
  Advance(now);
  const Entry* const entry = Find(run_id);
  if (entry == nullptr || entry->state == Entry::State::kRunning) return std::nullopt;
  if (entry->state == Entry::State::kLeased) return AdmissionBlock{.message = "is being started"};
  return WhyPending(*entry);
}

std::optional<AdmissionBlock> Admission::BlockOf(const Entry& entry) const {
  for (AdmissionScope* const scope : entry.path) {
    if (scope == nullptr) continue;
    const AdmissionBound bound = scope->Blocks(now_);
    if (bound == AdmissionBound::kNone) continue;
    AdmissionBlock block{
        .level = scope->level(), .bound = bound, .message = scope->Sentence(bound, now_)};
    if (bound == AdmissionBound::kRate) block.wakes_at = scope->TokenAt(now_);
    return block;
  }
  return std::nullopt;
}

AdmissionBlock Admission::WhyPending(const Entry& entry) const {
  if (entry.state == Entry::State::kDelayed) {
    return {.level = AdmissionLevel::kEngine,
            .bound = AdmissionBound::kTime,
            .message = "does not start before " + FormatTimestamp(entry.until),
            .wakes_at = entry.until};
  }
  EVERSTEP_ASSERT(entry.state == Entry::State::kQueued);
  const std::uint64_t ahead = queue_.Position(entry.number) - 1;
  const std::string runs = std::to_string(ahead) + (ahead == 1 ? " run" : " runs");
  if (auto block = BlockOf(entry)) {
    if (ahead > 0) block->message += ", " + runs + " of its tenant ahead";
    return *std::move(block);
  }
  return {.level = AdmissionLevel::kTenant,
          .bound = AdmissionBound::kNone,
          .message = ahead == 0 ? "is the next of tenant " + entry.run.tenant
                                : "has " + runs + " of tenant " + entry.run.tenant + " ahead"};
}

}  // namespace everstep
