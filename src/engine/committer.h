#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/histogram.h"
#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// One decision on its way to the store. Made by the authority, owned together with the committer.
// There is one for every decision: what is seldom there is behind a pointer, so that it stays
// within what the allocator keeps at hand (1,032 bytes with glibc; 2 µs of CPU per step beyond).
class CommitUnit {
 public:
  RunChange change;

  bool settled() const { return state_.load(std::memory_order_acquire) == kSettled; }
  // Of a settled unit: durable, or why not.
  Status outcome() const { return error_ ? Status(*error_) : Ok(); }
  // Of a settled unit that nobody else has: it becomes a new one, with the memory that it has.
  // False: that is more than most need.
  bool Reuse();

 private:
  friend class Committer;
  enum State : std::uint32_t { kQueued, kLeads, kBeingWritten, kSettled };

  std::atomic<std::uint32_t> state_{kQueued};
  std::unique_ptr<const Error> error_;  // null: durable
  // Instead of a change: documents that go into the same write, or upkeep between two writes.
  std::unique_ptr<const std::vector<TenantDocument>> documents_;
  std::unique_ptr<std::function<Status()>> upkeep_;
};

// Gathers the decisions of all shards into one atomic, synced write at a time and only then
// answers.
//
// One thread commits: the first that waits on an idle committer takes the role, writes for
// everybody who is queued, and hands the role to the front of the queue. A lone appender so pays no
// thread switch (about 25 µs each way, against 170 µs for the write itself), and while one thread
// syncs the others decide the next batch.
//
// The queue is bounded by its callers: each blocks in Await before it can submit again.
class Committer {
 public:
  using DurableFn = std::function<void(std::span<const std::shared_ptr<CommitUnit>>)>;

  // `on_durable` is called on the committing thread after each write, before anyone is answered.
  Committer(StateStore& store, Clock& clock, DurableFn on_durable);

  // Decisions are made on state of one generation. A failed write discards all that was decided and
  // not yet durable: the generation moves on and every state in memory must be read anew.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Gives the change its place in the order of commits and its persisted_at, and queues it. That is
  // the clock's time, but never before the run's last event, whose time state.updated_at has until
  // then. False when `generation` is over: nothing was queued, decide again.
  // kStoreStopped after a write of unknown outcome.
  Result<bool> Submit(const std::shared_ptr<CommitUnit>& unit, std::uint64_t generation);

  // Returns when the unit is settled. Every submitted unit must be awaited; several threads may.
  Status Await(CommitUnit& unit);

  // Puts and removes documents, all or none, in one write with whatever else is on its way. Returns
  // when they are durable.
  Status Put(std::vector<TenantDocument> documents);

  // Runs `upkeep` between two writes, on the calling thread or the committing one.
  Status BetweenCommits(std::function<Status()> upkeep);

  // Of all durable writes: how long they took, and how many events each had.
  HistogramCounts write_us() const { return write_us_.Read(); }
  HistogramCounts write_events() const { return write_events_.Read(); }

  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // kStoreStopped after a write of unknown outcome.
  Status CheckOpen() const;

 private:
  using Units = std::vector<std::shared_ptr<CommitUnit>>;

  void Enqueue(std::shared_ptr<CommitUnit> unit);  // mutex_ held
  Status EnqueueAndAwait(const std::shared_ptr<CommitUnit>& unit);
  void Lead();
  bool Write(const Units& units);
  void FailAll(const Units& written, const Error& error);
  void Discard(const Units& units);
  static void Settle(CommitUnit& unit, Status outcome);

  StateStore& store_;
  Clock& clock_;
  const DurableFn on_durable_;
  Histogram<11> write_us_{
      {100, 200, 500, 1'000, 2'000, 5'000, 10'000, 50'000, 200'000, 1'000'000, 5'000'000}};
  Histogram<9> write_events_{{1, 3, 10, 30, 100, 300, 1'000, 3'000, 10'000}};

  std::mutex mutex_;
  Units queue_;  // guarded by mutex_, as the next two
  bool has_leader_ = false;
  Position last_position_;
  Error failure_{};  // of the last failed write; the committing thread's own
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<bool> stopped_{false};
};

}  // namespace everstep
