#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "store/key_value.h"
#include "store/row_keys.h"
#include "store/row_values.h"
#include "store/state_store.h"

namespace everstep {

// Remembers the first damage that any reader has found. Thread-safe.
class FirstDamage {
 public:
  void Note(const Error& error) {
    EVERSTEP_ASSERT(error.code == ErrorCode::kStoreCorrupt);
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = error;
  }
  std::optional<Error> first() {
    const std::lock_guard lock(mutex_);
    return first_;
  }

 private:
  std::mutex mutex_;
  std::optional<Error> first_;
};

// A StateReader over one view of sorted tables.
class KeyedReader final : public StateReader {
 public:
  // If `damage` is not null, missing events are noted there. It must outlive the reader.
  explicit KeyedReader(std::unique_ptr<TableView> view, FirstDamage* damage = nullptr)
      : view_(std::move(view)), damage_(damage) {
    EVERSTEP_ASSERT(view_ != nullptr);
  }

  // A quarantined run whose row cannot be read is returned with an empty state.
  Result<std::optional<StoredRun>> FindRun(const RunId& run_id) override;
  Result<std::optional<Tombstone>> FindTombstone(const RunId& run_id) override;
  Result<std::optional<EntityState>> FindEntity(RunNo run, const EntityKey& key) override;
  Status VisitEntities(RunNo run, std::optional<EntityKind> kind,
                       const std::function<void(EntityKey, EntityState)>& visit) override;
  Result<std::optional<Event>> FindByKey(const StoredRun& run, const Event& like,
                                         const Sha256Digest& key) override;
  Result<std::vector<Event>> ReadEvents(const StoredRun& run, const EventQuery& query) override;
  // A run whose row cannot be read is listed with an empty state and the reason as quarantine.
  Result<RunPage> ListRuns(const RunQuery& query) override;
  Result<std::optional<HookHolder>> FindHook(std::string_view tenant_id,
                                             std::string_view token) override;
  Result<std::vector<HeldToken>> ListHooks(std::string_view tenant_id, std::string_view after,
                                           std::size_t limit) override;
  Result<std::vector<Timer>> TimersDue(const TimerQuery& query) override;
  Result<std::optional<std::string>> FindPlan(const Sha256Digest& sha256) override;
  Result<std::optional<std::string>> FindDocument(const DocumentKey& key) override;
  Result<std::vector<TenantDocument>> ListDocuments(const DocumentQuery& query) override;
  // Skips changes of removed runs.
  Result<std::vector<OutboxEntry>> ReadOutbox(Position after, std::size_t limit) override;
  Result<Position> PositionBefore(Timestamp time) override;
  Result<std::optional<Timestamp>> EarliestBehind(Position after) override;
  Result<std::optional<SinkMark>> FindSink(const SinkKey& key) override;
  Result<std::vector<SinkMark>> ListSinks() override;
  Result<std::vector<DeadLetter>> ListDeadLetters(const DeadLetterQuery& query) override;
  StoreCounts Counts(std::string_view tenant_id) override;

  // ---- for the store itself
  // The heads as of this view: the stored heads row, or the last rows where those are further on.
  Result<StoreHeads> Heads();
  // Returns up to `limit` runs starting with number `from`; corrupt rows as in ListRuns. `next`
  // becomes the number to continue with, or zero if there are no more.
  Result<std::vector<StoredRun>> RunsFrom(RunNo from, std::size_t limit, RunNo& next);
  Result<std::optional<RunNo>> FindRunNo(const RunId& run_id);
  Result<std::vector<std::string>> Tenants();
  Result<std::optional<StoredRun>> RunByNo(RunNo run);
  // Returns the seq of the last event row of a run, whatever its state says; zero if there is none.
  Result<EventSeq> LastEventRow(RunNo run);
  TableView& view() { return *view_; }

 private:
  Result<std::optional<Event>> FindInChain(const StoredRun& run, const Event& like);
  Result<std::optional<Event>> FindBackwards(const StoredRun& run, const Event& like,
                                             EventSeq Event::*previous);
  Result<StoredRun> DecodeRun(RunNo run, std::string_view row);
  StoredRun Unreadable(RunNo run, std::string why);
  Result<std::string> QuarantineOf(RunNo run);
  std::string RecoverRunId(RunNo run);
  // Returns nothing if the run has been removed.
  Result<std::optional<RunId>> RunIdOf(RunNo run);
  Result<std::optional<Event>> EventAt(const StoredRun& run, EventSeq seq);
  Result<std::vector<Event>> ReadRange(const StoredRun& run, const EventQuery& query);
  Result<std::vector<EventSeq>> ChainHeads(const StoredRun& run, const EventQuery& query);
  Result<std::vector<Event>> WalkChains(const StoredRun& run, const EventQuery& query);
  RowKind ChooseIndex(const RunQuery& query);
  Result<StoredRun> ListedRun(RunNo run);

  Error MissingEvent(const StoredRun& run, EventSeq seq) const;

  std::unique_ptr<TableView> view_;
  FirstDamage* const damage_;
  RowKeys keys_;
  std::optional<StoreHeads> heads_;
  std::unordered_map<RunNo, std::optional<RunId>> run_ids_;
};

}  // namespace everstep
