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

// Where an appended event stands in its run.
struct Placed {
  std::string event_id;
  EventSeq seq;
  Timestamp persisted_at{};
  bool duplicate = false;         // it was there before: nothing was written
  bool payload_mismatch = false;  // a duplicate whose payload says something else

  bool operator==(const Placed&) const = default;
};

// The only code that adds to a run log. Runs are spread over shards by the hash of their id; a
// shard has one owner at a time (who holds its lock), so that decisions on a run have one order.
// Thread-safe.
class AppendAuthority {
 public:
  static constexpr std::size_t kShards = 64;

  struct Options {
    std::uint64_t memory_bytes_max = 32ULL << 20;  // for runs kept in memory, over all shards
  };

  // Clock and randomness are asked by every thread that appends.
  AppendAuthority(StateStore& store, Committer& committer, Clock& clock, Random& random,
                  Options options);
  ~AppendAuthority();

  // Orders that have been decided. What was accepted is on its way to the store and must be
  // awaited.
  class Submission {
   private:
    friend class AppendAuthority;
    struct Entry {
      Result<Placed> placed;
      std::shared_ptr<CommitUnit> unit;  // whose outcome decides; null: nothing to wait for
      std::size_t index = 0;             // of the event in the unit
    };
    std::vector<Entry> entries_;
  };

  // Decides each order, in this order: all its events are accepted as one, or it is refused and the
  // run is as if it had not come. Members of `defaults` fill what an order that creates a run
  // leaves empty. Duplicates of earlier events are answered as such.
  Submission Submit(std::span<const AppendOrder> orders, const RunScope& defaults);

  // Waits until what was accepted is durable. One answer for each order:
  //   Placed          the first event of the order is durable
  //   kIndeterminate  it may be durable: open the log again, then repeat the order
  //   other errors    nothing of the order was written
  std::vector<Result<Placed>> Await(Submission submission);

  // Takes runs that have ended out of memory and out of the store; runs with events on their way
  // are left alone. Answers how many were removed.
  Result<std::size_t> Purge(std::span<const RunId> runs, Timestamp tombstones_expired);

  // Sets a run aside for a reason: it keeps its log and takes no more events.
  void Quarantine(const RunId& run_id, const std::string& reason);

  // Payloads that did not match the event they repeated, since start.
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
