#pragma once

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/ulid.h"
#include "engine/committer.h"
#include "engine/live_run.h"
#include "engine/token_ledger.h"
#include "event/dialect.h"
#include "store/state_store.h"

namespace everstep {

class Draft;

// The position of an appended event in its run.
struct Placed {
  std::string event_id;
  EventSeq seq;
  Timestamp persisted_at{};
  bool duplicate = false;         // the event was already stored; nothing was written
  bool payload_mismatch = false;  // a duplicate with a different payload

  bool operator==(const Placed&) const = default;
};

// The only code that appends to run logs. Runs are distributed over shards by the hash of their id.
// The shard's lock is held while a decision is made, so the decisions on a run are totally ordered.
// Thread-safe.
class AppendAuthority {
 public:
  static constexpr std::size_t kShards = 64;

  struct Options {
    std::uint64_t memory_bytes_max = 32ULL << 20;  // for runs kept in memory, all shards together
  };

  // Requires: `clock` and `random` are thread-safe; appending threads call them concurrently.
  AppendAuthority(StateStore& store, Committer& committer, Clock& clock, Random& random,
                  Options options);
  ~AppendAuthority();

  // Decided orders. Accepted events are queued for the store; pass the submission to Await.
  class Submission {
   private:
    friend class AppendAuthority;
    struct Entry {
      Result<Placed> placed;
      std::shared_ptr<CommitUnit> unit;  // the write to wait for; null: none
      std::size_t index = 0;             // of the event in the unit
    };
    std::vector<Entry> entries_;
  };

  // Decides the orders one after another. An order is accepted with all its events, or rejected
  // without any effect on the run. If an order creates a run, `defaults` supplies the scope members
  // that it leaves empty. A duplicate of an earlier event is accepted but not written again.
  Submission Submit(std::span<const AppendOrder> orders, const RunScope& defaults);

  // Waits until the accepted events are durable. Returns one result per order:
  //   Placed          the order is durable; the position is that of its first event
  //   kIndeterminate  the order may be durable: reopen the log, then repeat it
  //   other errors    no event of the order was written
  std::vector<Result<Placed>> Await(Submission submission);

  // Removes ended runs from memory and from the store. Skips runs that have not ended or that have
  // events in flight. Returns the number of removed runs.
  Result<std::size_t> Purge(std::span<const RunId> runs, Timestamp tombstones_expired);

  // Quarantines a run: its log is kept, but it accepts no more events.
  void Quarantine(const RunId& run_id, const std::string& reason);

  // Number of duplicates with a different payload since startup.
  std::uint64_t payload_mismatches() const { return payload_mismatches_.load(); }
  std::uint64_t MemoryBytes();

 private:
  struct Shard;
  using Entry = Submission::Entry;

  Shard& ShardOf(const RunId& run_id);
  void DecideGroup(std::span<const AppendOrder> orders, const RunScope& defaults,
                   std::vector<Entry>& entries);
  bool TryDecideGroup(Shard& shard, std::span<const AppendOrder> orders, const RunScope& defaults,
                      std::vector<Entry>& entries);
  Result<LiveRun*> Load(Shard& shard, const RunId& run_id);
  void MakeRoom(Shard& shard, const LiveRun* keep);
  void QuarantineCorrupt(const RunId& run_id, std::vector<Entry>& entries, std::size_t from);

  StateStore& store_;
  Committer& committer_;
  Clock& clock_;
  Random& random_;
  const Options options_;
  TokenLedger tokens_;
  std::atomic<std::uint64_t> last_run_no_;
  std::atomic<std::uint64_t> payload_mismatches_{0};
  std::array<std::unique_ptr<Shard>, kShards> shards_;
};

}  // namespace everstep
