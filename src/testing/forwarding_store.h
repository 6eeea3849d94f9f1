#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/state_store.h"

namespace everstep {

// Forwards every call to another reader. Derived classes override what they change.
class ForwardingReader : public StateReader {
 public:
  explicit ForwardingReader(std::unique_ptr<StateReader> reader) : reader_(std::move(reader)) {}

  Result<std::optional<StoredRun>> FindRun(const RunId& run_id) override {
    return reader_->FindRun(run_id);
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
  Result<std::vector<HeldToken>> ListHooks(std::string_view tenant_id, std::string_view after,
                                           std::size_t limit) override {
    return reader_->ListHooks(tenant_id, after, limit);
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
  Result<std::vector<TenantDocument>> ListDocuments(const DocumentQuery& query) override {
    return reader_->ListDocuments(query);
  }
  Result<std::vector<OutboxEntry>> ReadOutbox(Position after, std::size_t limit) override {
    return reader_->ReadOutbox(after, limit);
  }
  Result<Position> PositionBefore(Timestamp time) override { return reader_->PositionBefore(time); }
  Result<std::optional<Timestamp>> EarliestBehind(Position after) override {
    return reader_->EarliestBehind(after);
  }
  Result<std::optional<SinkMark>> FindSink(const SinkKey& key) override {
    return reader_->FindSink(key);
  }
  Result<std::vector<SinkMark>> ListSinks() override { return reader_->ListSinks(); }
  Result<std::vector<DeadLetter>> ListDeadLetters(const DeadLetterQuery& query) override {
    return reader_->ListDeadLetters(query);
  }
  StoreCounts Counts(std::string_view tenant_id) override { return reader_->Counts(tenant_id); }

 private:
  const std::unique_ptr<StateReader> reader_;
};

// Likewise for a store. The wrapped store may outlive this object.
class ForwardingStore : public StateStore {
 public:
  explicit ForwardingStore(std::shared_ptr<StateStore> store) : store_(std::move(store)) {}

  std::unique_ptr<StateReader> Read() override { return store_->Read(); }
  Status VisitRuns(const std::function<Status(const StoredRun&)>& visit) override {
    return store_->VisitRuns(visit);
  }
  Status VisitActive(const std::function<Status(const StoredRun&)>& visit) override {
    return store_->VisitActive(visit);
  }
  Status Refresh() override { return store_->Refresh(); }
  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override {
    return store_->Commit(changes, documents);
  }
  Status Quarantine(const RunId& run_id, std::string_view reason) override {
    return store_->Quarantine(run_id, reason);
  }
  Status PutPlan(const Sha256Digest& sha256, std::string_view document) override {
    return store_->PutPlan(sha256, document);
  }
  Status MoveSink(const SinkMove& move) override { return store_->MoveSink(move); }
  Status RemoveSink(const SinkKey& key) override { return store_->RemoveSink(key); }
  Status Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) override {
    return store_->Purge(runs, now, expired);
  }
  RunNo LastRunNo() override { return store_->LastRunNo(); }
  Position LastPosition() override { return store_->LastPosition(); }
  Timestamp LastPersistedAt() override { return store_->LastPersistedAt(); }
  Status Backup(const std::string& directory) override { return store_->Backup(directory); }
  Status Compact() override { return store_->Compact(); }
  Status Health() override { return store_->Health(); }
  Status Check(const std::function<void(StoreFault)>& report) override {
    return store_->Check(report);
  }
  std::uint64_t DiskBytes() override { return store_->DiskBytes(); }

 private:
  const std::shared_ptr<StateStore> store_;
};

}  // namespace everstep
