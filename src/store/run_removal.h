#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "store/keyed_reader.h"
#include "store/tenant_counts.h"

namespace everstep {

// Puts the removal of whole runs into a batch: their rows in every table, their index rows, tokens
// and timers, their share of the counts. Works also on runs whose own row cannot be read.
class RunRemoval {
 public:
  RunRemoval(KeyedReader& reader, TenantCounts& counts, WriteBatch& batch)
      : reader_(reader), counts_(counts), batch_(batch) {}

  // Tombstones left before this time go.
  Status ExpireTombstones(Timestamp expired);
  // A run that is not there is passed over.
  Status Remove(const RunId& run_id, Timestamp now);
  // After the last Remove: deletes the rows that lie together, and the front of the outbox as far
  // as it belongs to runs that are gone. `heads` becomes what it is after the write.
  Status Finish(StoreHeads& heads);

 private:
  struct Remains {
    std::string tenant_id;  // empty: not known any more
    RunStatus status = RunStatus::kAbsent;
    EventSeq last_seq;
    std::vector<std::string> index_rows;
    std::uint64_t row_bytes = 0;  // of its events and documents
  };
  // Its streams, and its messages in the queue.
  Status RemoveDocuments(Remains& remains, const RunId& run_id);
  Status MeasureEvents(Remains& remains, RunNo run);
  // From the run's own rows; kStoreCorrupt when one of them cannot be read.
  Result<Remains> Trace(const RunId& run_id);
  // By a walk over the whole index, for a run that cannot be traced.
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
