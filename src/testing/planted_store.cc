#include <map>
#include <utility>

#include "testing/planted_bug.h"

namespace everstep {
namespace {

using StaleRuns = std::map<RunId, StoredRun>;

class PlantedReader final : public StateReader {
 public:
  PlantedReader(PlantedBug bug, const StaleRuns& stale, std::unique_ptr<StateReader> reader)
      : bug_(bug), stale_(stale), reader_(std::move(reader)) {}

  Result<std::optional<StoredRun>> FindRun(const RunId& run_id) override {
    auto run = reader_->FindRun(run_id);
    if (!run || !*run) return run;
    const auto stale = stale_.find(run_id);
    if (stale != stale_.end()) return std::optional(stale->second);
    const bool ended = IsTerminal((*run)->state.status);
    if (bug_ == PlantedBug::kReopensEndedRuns && ended) (*run)->state.status = RunStatus::kRunning;
    return run;
  }

  Result<std::optional<Tombstone>> FindTombstone(const RunId& run_id) override {
    return reader_->FindTombstone(run_id);
  }
  Result<std::optional<EntityState>> FindEntity(RunNo run, const EntityKey& key) override {
    return reader_->FindEntity(run, key);
  }
  Status VisitEntities(RunNo run, std::optional<EntityKind> kind,
                       const std::function<void(EntityKey, EntityState)>& visit) override {
    return reader_->VisitEntities(run, kind, visit);
  }
  Result<std::optional<Event>> FindByKey(const StoredRun& run, const Event& like,
                                         const Sha256Digest& key) override {
    return reader_->FindByKey(run, like, key);
  }
  Result<std::vector<Event>> ReadEvents(const StoredRun& run, const EventQuery& query) override {
    return reader_->ReadEvents(run, query);
  }
  Result<RunPage> ListRuns(const RunQuery& query) override { return reader_->ListRuns(query); }
  Result<std::optional<HookHolder>> FindHook(std::string_view tenant_id,
                                             std::string_view token) override {
    return reader_->FindHook(tenant_id, token);
  }
  Result<std::vector<Timer>> TimersDue(const TimerQuery& query) override {
    return reader_->TimersDue(query);
  }
  Result<std::optional<std::string>> FindPlan(const Sha256Digest& sha256) override {
    return reader_->FindPlan(sha256);
  }
  Result<std::optional<std::string>> FindDocument(const DocumentKey& key) override {
    return reader_->FindDocument(key);
  }
  Result<std::vector<Document>> ListDocuments(const DocumentQuery& query) override {
    return reader_->ListDocuments(query);
  }
  Result<std::vector<OutboxEntry>> ReadOutbox(Position after, std::size_t limit) override {
    return reader_->ReadOutbox(after, limit);
  }
  Result<Position> PositionBefore(Timestamp time) override { return reader_->PositionBefore(time); }
  StoreCounts Counts(std::string_view tenant_id) override { return reader_->Counts(tenant_id); }

 private:
  const PlantedBug bug_;
  const StaleRuns& stale_;
  const std::unique_ptr<StateReader> reader_;
};

class PlantedStore final : public StateStore {
 public:
  PlantedStore(PlantedBug bug, std::unique_ptr<StateStore> store, WriteWatch watch)
      : bug_(bug), store_(std::move(store)), watch_(std::move(watch)) {}

  std::unique_ptr<StateReader> Read() override {
    return std::make_unique<PlantedReader>(bug_, stale_, store_->Read());
  }
  Status Commit(std::span<const RunChange* const> changes) override {
    const Status written = store_->Commit(changes);
    if (bug_ == PlantedBug::kKeepsStaleState) Remember(changes, !written);
    return Seen(written);
  }
  Timestamp LastPersistedAt() override {
    return bug_ == PlantedBug::kTurnsTimeBack ? Timestamp{} : store_->LastPersistedAt();
  }

  Status Quarantine(const RunId& run_id, std::string_view reason) override {
    return Seen(store_->Quarantine(run_id, reason));
  }
  Status Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) override {
    return Seen(store_->Purge(runs, now, expired));
  }
  Status VisitRuns(const std::function<Status(const StoredRun&)>& visit) override {
    return store_->VisitRuns(visit);
  }
  Status VisitActive(const std::function<Status(const StoredRun&)>& visit) override {
    return store_->VisitActive(visit);
  }
  Status PutPlan(const Sha256Digest& sha256, std::string_view document) override {
    return Seen(store_->PutPlan(sha256, document));
  }
  Status PutDocuments(std::span<const Document> documents) override {
    return Seen(store_->PutDocuments(documents));
  }
  Status Refresh() override { return store_->Refresh(); }
  RunNo LastRunNo() override { return store_->LastRunNo(); }
  Position LastPosition() override { return store_->LastPosition(); }
  Status Backup(const std::string& directory) override { return store_->Backup(directory); }
  Status Compact() override { return store_->Compact(); }
  Status Check(const std::function<void(StoreFault)>& report) override {
    return store_->Check(report);
  }
  std::uint64_t DiskBytes() override { return store_->DiskBytes(); }

 private:
  Status Seen(Status outcome) {
    watch_(outcome);
    return outcome;
  }
  void Remember(std::span<const RunChange* const> changes, bool failed) {
    for (const RunChange* change : changes) {
      stale_.erase(change->run_id);
      if (failed) stale_[change->run_id] = {change->run_no, change->run_id, change->state, {}};
    }
  }

  const PlantedBug bug_;
  const std::unique_ptr<StateStore> store_;
  const WriteWatch watch_;
  StaleRuns stale_;
};

}  // namespace

std::unique_ptr<StateStore> PlantInStore(PlantedBug bug, std::unique_ptr<StateStore> store,
                                         WriteWatch watch) {
  return std::make_unique<PlantedStore>(bug, std::move(store), std::move(watch));
}

}  // namespace everstep
