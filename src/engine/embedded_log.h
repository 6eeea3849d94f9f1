#pragma once

#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "engine/append_authority.h"
#include "engine/commit_feed.h"
#include "engine/committer.h"
#include "everstep/log.h"
#include "store/state_store.h"

namespace everstep {

// A Log on a store in this process, composed of store, append authority, committer and commit feed.
class EmbeddedLog final : public Log {
 public:
  struct Options {
    bool read_only = false;
    std::uint64_t memory_bytes_max = 32ULL << 20;
  };

  EmbeddedLog(std::unique_ptr<StateStore> store, Clock& clock, Random& random, Options options);

  using Log::Append;
  using Log::AppendAll;
  using Log::Snapshot;
  using Log::Subscribe;
  using Log::Verify;

  Result<Appended> Append(Dialect dialect, std::string_view event,
                          const AppendDefaults& defaults) override;
  std::vector<Result<Appended>> AppendAll(Dialect dialect, std::span<const std::string_view> events,
                                          const AppendDefaults& defaults) override;
  Result<EventPage> Read(const EventRequest& request) override;
  Result<std::vector<LogEvent>> ReadSince(SystemTime since, std::string_view tenant_id,
                                          Dialect dialect, std::size_t limit) override;
  Result<RunSnapshot> Snapshot(std::string_view run_id, std::optional<std::uint64_t> at) override;
  Result<RunList> Runs(const RunFilter& filter) override;
  Result<std::optional<std::string>> RunOfHook(std::string_view tenant_id,
                                               std::string_view token) override;
  Result<std::unique_ptr<Subscription>> Subscribe(std::string_view run_id, std::uint64_t after,
                                                  Dialect dialect) override;
  Status Refresh() override { return store_->Refresh(); }
  LogHealth Health(std::string_view tenant_id) override;
  Result<VerifyReport> Verify(const VerifyProgress& progress) override;
  Status Backup(const std::string& directory) override { return store_->Backup(directory); }
  Status Compact() override { return store_->Compact(); }
  Result<std::uint64_t> ApplyRetention(const RetentionPolicy& policy) override;

  StateStore& store() { return *store_; }
  AppendAuthority& authority() { return authority_; }
  Committer& committer() { return committer_; }
  CommitFeed& feed() { return feed_; }

 private:
  Error SetAside(std::unique_ptr<StateReader> reader, const RunId& run_id, Error error);

  const Options options_;
  std::unique_ptr<StateStore> store_;
  Clock& clock_;
  CommitFeed feed_;
  Committer committer_;
  AppendAuthority authority_;
};

}  // namespace everstep
