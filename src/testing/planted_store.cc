#include <map>
#include <utility>

#include "testing/forwarding_store.h"
#include "testing/planted_bug.h"

namespace everstep {
namespace {

using StaleRuns = std::map<RunId, StoredRun>;

class PlantedReader final : public ForwardingReader {
 public:
  PlantedReader(PlantedBug bug, const StaleRuns& stale, std::unique_ptr<StateReader> reader)
      : ForwardingReader(std::move(reader)), bug_(bug), stale_(stale) {}

  Result<std::optional<StoredRun>> FindRun(const RunId& run_id) override {
    auto run = ForwardingReader::FindRun(run_id);
    if (!run || !*run) return run;
    const auto stale = stale_.find(run_id);
    if (stale != stale_.end()) return std::optional(stale->second);
    const bool ended = IsTerminal((*run)->state.status);
    if (bug_ == PlantedBug::kReopensEndedRuns && ended) (*run)->state.status = RunStatus::kRunning;
    if (bug_ == PlantedBug::kTurnsTimeBack) (*run)->state.updated_at = {};
    return run;
  }

 private:
  const PlantedBug bug_;
  const StaleRuns& stale_;
};

class PlantedStore final : public ForwardingStore {
 public:
  PlantedStore(PlantedBug bug, std::unique_ptr<StateStore> store, WriteWatch watch)
      : ForwardingStore(std::move(store)), bug_(bug), watch_(std::move(watch)) {}

  std::unique_ptr<StateReader> Read() override {
    return std::make_unique<PlantedReader>(bug_, stale_, ForwardingStore::Read());
  }
  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override {
    const Status written = ForwardingStore::Commit(changes, documents);
    if (bug_ == PlantedBug::kKeepsStaleState) Remember(changes, !written);
    return Seen(written);
  }
  Status Quarantine(const RunId& run_id, std::string_view reason) override {
    return Seen(ForwardingStore::Quarantine(run_id, reason));
  }
  Status Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) override {
    return Seen(ForwardingStore::Purge(runs, now, expired));
  }
  Status PutPlan(const Sha256Digest& sha256, std::string_view document) override {
    return Seen(ForwardingStore::PutPlan(sha256, document));
  }

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
  const WriteWatch watch_;
  StaleRuns stale_;
};

}  // namespace

std::unique_ptr<StateStore> PlantInStore(PlantedBug bug, std::unique_ptr<StateStore> store,
                                         WriteWatch watch) {
  return std::make_unique<PlantedStore>(bug, std::move(store), std::move(watch));
}

}  // namespace everstep
