#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "store/state_store.h"

namespace everstep {

// A store that outlives the engines that open it, and whose power can fail at a given commit.
class CrashingStore final : public StateStore {
 public:
  struct Power {
    std::uint64_t commits = 0;               // that have become durable
    std::uint64_t fails_after = UINT64_MAX;  // as many more, then every write fails
    bool last_is_written = false;            // the write that fails is durable all the same
    bool failed = false;
  };

  CrashingStore(std::shared_ptr<StateStore> store, std::shared_ptr<Power> power)
      : store_(std::move(store)), power_(std::move(power)) {}

  Status Commit(std::span<const RunChange* const> changes) override {
    if (power_->failed) return Error{ErrorCode::kStoreStopped, "the power is off", {}};
    power_->failed = power_->fails_after == 0;
    if (power_->failed && !power_->last_is_written) return Lost();
    const Status written = store_->Commit(changes);
    if (written) ++power_->commits;
    if (power_->failed) return Lost();
    --power_->fails_after;
    return written;
  }

  std::unique_ptr<StateReader> Read() override { return store_->Read(); }
  Status VisitRuns(const std::function<Status(const StoredRun&)>& visit) override {
    return store_->VisitRuns(visit);
  }
  Status VisitActive(const std::function<Status(const StoredRun&)>& visit) override {
    return store_->VisitActive(visit);
  }
  Status Refresh() override { return store_->Refresh(); }
  Status Quarantine(const RunId& run_id, std::string_view reason) override {
    return store_->Quarantine(run_id, reason);
  }
  Status PutPlan(const Sha256Digest& sha256, std::string_view document) override {
    return store_->PutPlan(sha256, document);
  }
  Status PutDocuments(std::span<const Document> documents) override {
    return store_->PutDocuments(documents);
  }
  Status Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) override {
    return store_->Purge(runs, now, expired);
  }
  RunNo LastRunNo() override { return store_->LastRunNo(); }
  Position LastPosition() override { return store_->LastPosition(); }
  Timestamp LastPersistedAt() override { return store_->LastPersistedAt(); }
  Status Backup(const std::string& directory) override { return store_->Backup(directory); }
  Status Compact() override { return store_->Compact(); }
  Status Check(const std::function<void(StoreFault)>& report) override {
    return store_->Check(report);
  }
  std::uint64_t DiskBytes() override { return store_->DiskBytes(); }

 private:
  static Error Lost() { return {ErrorCode::kIndeterminate, "the power failed", {}}; }

  std::shared_ptr<StateStore> store_;
  std::shared_ptr<Power> power_;
};

}  // namespace everstep
