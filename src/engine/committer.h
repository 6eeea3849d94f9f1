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
#include "engine/store_order.h"
#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// One decision to be written to the store. Created by AppendAuthority, shared with the Committer.
// Every decision allocates one, so rarely used members are behind pointers: that keeps the unit
// within glibc's per-thread cache limit of 1,032 bytes. A larger one costs 2 µs of CPU per step.
class CommitUnit {
 public:
  RunChange change;

  bool settled() const { return state_.load(std::memory_order_acquire) == kSettled; }
  // Ok if the unit is durable, else the reason. Requires: settled().
  Status outcome() const { return error_ ? Status(*error_) : Ok(); }
  // Resets the unit for the next decision but keeps its memory. Returns false, and changes nothing,
  // if it holds more memory than most decisions need. Requires: settled(), and no other owner.
  bool Reuse();

  // The document is written together with the change.
  void Attach(TenantDocument document);

 private:
  friend class Committer;
  enum State : std::uint32_t { kQueued, kLeads, kBeingWritten, kSettled };

  std::atomic<std::uint32_t> state_{kQueued};
  std::unique_ptr<const Error> error_;  // null: durable
  // Without events the unit is no change but documents to write, or an order of its own.
  std::unique_ptr<std::vector<TenantDocument>> documents_;
  StoreOrder* order_ = nullptr;  // belongs to the thread that awaits the unit
};

// Group commit: writes the decisions of all shards in atomic, synced batches, one batch at a time.
// Await returns only after the batch is durable.
//
// One thread at a time is the leader. The first thread that awaits a unit on an idle committer
// becomes the leader, writes all queued units, and hands the role to the front of the queue. So a
// lone appender needs no thread switch (about 25 µs each way, compared with 170 µs for the write),
// and while one thread syncs the others decide the next batch.
//
// The queue is bounded because each caller blocks in Await before it submits again.
class Committer {
 public:
  using DurableFn = std::function<void(std::span<const std::shared_ptr<CommitUnit>>)>;

  // `on_durable` is called on the committing thread after each write, before Await returns to any
  // caller.
  Committer(StateStore& store, Clock& clock, DurableFn on_durable);

  // A decision is valid only in the generation in which it was made. A failed write discards every
  // decision that is not durable and starts a new generation; in-memory state must be read again.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Assigns the change its position in the commit order and its persisted_at, then queues it.
  // persisted_at is the clock's time, but never earlier than the run's last event, whose time the
  // caller passes in state.updated_at. Returns false if `generation` is over: nothing was queued,
  // and the caller must decide again. kStoreStopped after a write of unknown outcome.
  Result<bool> Submit(const std::shared_ptr<CommitUnit>& unit, std::uint64_t generation);

  // Returns when the unit is settled. Every submitted unit must be awaited; several threads may
  // await the same unit.
  Status Await(CommitUnit& unit);

  // Puts and removes documents atomically, in one write together with queued units. On return they
  // are durable.
  Status Put(std::vector<TenantDocument> documents);

  // Carries out an order between two writes of events. On success it is durable; otherwise as
  // Commit of the store: kStoreFull or the error of a read if nothing was written, kIndeterminate
  // or kStoreStopped if that is unknown.
  Status CarryOut(StoreOrder& order);
  Status CarryOut(StoreOrder&& order) { return CarryOut(order); }

  // Duration and number of events of each durable write.
  HistogramCounts write_us() const { return write_us_.Read(); }
  HistogramCounts write_events() const { return write_events_.Read(); }

  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // kStoreStopped after a write of unknown outcome.
  Status CheckOpen() const;

 private:
  using Units = std::vector<std::shared_ptr<CommitUnit>>;

  void Enqueue(std::shared_ptr<CommitUnit> unit);  // requires mutex_
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
  Units queue_;              // guarded by mutex_
  bool has_leader_ = false;  // guarded by mutex_
  Position last_position_;   // guarded by mutex_
  Error failure_{};          // of the last failed write; used by the leader only
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<bool> stopped_{false};
};

}  // namespace everstep
