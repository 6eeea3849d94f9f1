#pragma once

#include <mutex>
#include <unordered_map>

#include "base/clock.h"
#include "net/http_client.h"
#include "work/tool_port.h"
#include "work/worker_threads.h"

namespace everstep {

struct HttpToolOptions {
  std::uint32_t slots = 64;
  AddressPolicy addresses;
  std::vector<std::string> proxies;           // see HttpClient
  std::uint64_t inline_bytes_max = 64 << 10;  // larger bodies become artifacts
};

// Sends one HTTP request (docs/tools.md).
class HttpTool final : public Tool {
 public:
  HttpTool(HttpToolOptions options, const ArtifactStore& artifacts, Clock& clock);

  std::string_view kind() const override { return "http"; }
  std::uint32_t slots() const override { return options_.slots; }
  void Start(ToolCall call, Done done) override;
  void Cancel(CallId call, bool force) override;

 private:
  struct Plan;
  using Requests = std::unordered_map<CallId, HttpClient::RequestId>;

  void Answered(const std::shared_ptr<const Plan>& plan, HttpOutcome answer);
  ToolOutcome Outcome(const Plan& plan, HttpOutcome answer) const;
  ToolOutcome Success(const Plan& plan, const HttpResponse& response) const;
  ToolOutcome WrongStatus(const Plan& plan, const HttpResponse& response) const;

  const HttpToolOptions options_;
  const ArtifactStore& artifacts_;
  Clock& clock_;
  std::mutex mutex_;
  Requests requests_;      // by call
  WorkerThreads threads_;  // process large responses, to keep the client's thread free for I/O
  HttpClient client_;      // destroyed first: its last responses still go to `threads_`
};

}  // namespace everstep
