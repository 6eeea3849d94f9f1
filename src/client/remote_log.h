#pragma once

#include <memory>

#include "client/api_client.h"
#include "everstep/log.h"

namespace everstep {

// A server's log, accessed through its API. `api` must outlive it.
class RemoteLog final : public Log {
 public:
  explicit RemoteLog(ApiClient& api) : api_(api) {}

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
  Status Refresh() override { return Ok(); }
  LogHealth Health(std::string_view tenant_id) override;
  Result<VerifyReport> Verify(const VerifyProgress& progress) override;
  Status Backup(const std::string& directory) override;
  Status Compact() override;
  Result<std::uint64_t> ApplyRetention(const RetentionPolicy& policy) override;

 private:
  ApiClient& api_;
};

}  // namespace everstep
