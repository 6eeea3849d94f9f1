#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "store/keyed_reader.h"
#include "store/tenant_counts.h"

namespace everstep {

// Adds the removal of whole runs to a batch: their rows in every table, their index rows, tokens
// and timers, and their share of the counts. Also works for runs whose own row cannot be read.
class RunRemoval {
 public:
  RunRemoval(KeyedReader& reader, TenantCounts& counts, WriteBatch& batch)
      : reader_(reader), counts_(counts), batch_(batch) {}

  // Removes the tombstones that were left before `expired`.
  Status ExpireTombstones(Timestamp expired);
  // Does nothing if the run does not exist.
  Status Remove(const RunId& run_id, Timestamp now);
  // Must be called after the last Remove. Deletes the rows of events, keys and entities by range,
  // and the front of the outbox as far as it belongs to removed runs. Sets `heads` to their values
  // after the write.
  Status Finish(StoreHeads& heads);

 private:
  struct Remains {
    std::string tenant_id;  // empty: unknown
    RunStatus status = RunStatus::kAbsent;
    EventSeq last_seq;
    std::vector<std::string> index_rows;
    std::uint64_t row_bytes = 0;  // of its events and documents
  };
  // Removes the streams of the run and its messages in the queue.
  Status RemoveDocuments(Remains& remains, const RunId& run_id);
  Status MeasureEvents(Remains& remains, RunNo run);
  // Collects what to remove from the run's own rows. kStoreCorrupt if one of them cannot be read.
  Result<Remains> Trace(const RunId& run_id);
  // Collects the same by scanning the whole index, for a run that cannot be traced.
  Result<Remains> Search(const RunId& run_id, RunNo run);
  void Subtract(const Remains& remains);
  Status PutTombstone(const RunId& run_id, const Tombstone& tombstone);
  void DeleteRunRows();
  Status TrimOutbox(StoreHeads& heads);
  Result<bool> AreGone(std::span<const OutboxChange> changes);
  Result<bool> IsGone(RunNo run);

  KeyedReader& reader_;
  TenantCounts& counts_;
  WriteBatch& batch_;
  RowKeys keys_;
  std::unordered_set<RunNo> removed_;
};

}  // namespace everstep
