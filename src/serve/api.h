#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/shared_limit.h"
#include "bus/event_bus.h"
#include "bus/webhook_signature.h"
#include "net/http_server.h"
#include "run/local_engine.h"
#include "serve/access_tokens.h"
#include "serve/alert_list.h"
#include "serve/api_call.h"
#include "serve/append_queue.h"
#include "serve/artifact_owners.h"
#include "serve/audit_log.h"
#include "serve/devkit/devkit_backend.h"
#include "serve/devkit/world_service.h"
#include "serve/durable_answers.h"
#include "serve/end_waiters.h"
#include "serve/fair_threads.h"
#include "serve/followers.h"
#include "serve/idempotency.h"
#include "serve/inbound_rules.h"
#include "serve/party_shares.h"
#include "serve/plan_registry.h"
#include "serve/queue_limits.h"
#include "serve/readiness.h"
#include "serve/request_counts.h"
#include "serve/router.h"
#include "serve/server_log.h"
#include "serve/tenant_storage.h"
#include "work/artifact_store.h"
#include "work/remote_work.h"

namespace everstep {

struct ApiOptions {
  std::string version;
  bool metrics_open = false;  // GET /metrics without a token
  // Applications on this machine may give loopback addresses for messages.
  bool loopback_endpoints = true;
  SharedLimit streams{12'000};  // followed event streams and run streams
  // Per tenant: the secrets that sign calls to /webhooks, which need no token.
  std::map<std::string, std::vector<WebhookSecret>> webhook_secrets;
  MemoryIdempotencyStore::Limits answers;         // to requests with an Idempotency-Key
  std::uint64_t artifact_bytes_max = 1ULL << 30;  // of one upload
  std::uint64_t free_bytes_ready = 256ULL << 20;  // not ready with less free disk
  std::uint64_t free_bytes_min = 0;               // uploads leave this much free for the log
  std::uint64_t tenant_bytes_max = 0;             // of a tenant on disk; zero: no limit
  SharedLimit requests{3'584};                    // in flight; more are refused with 503
  SharedLimit unproven_requests{512};             // likewise, of unauthenticated clients
  std::string data_directory;
  ServerLog* log = nullptr;                       // must outlive the API; null: logs nothing
  std::chrono::milliseconds slow_request{1'000};  // slower requests are logged; zero: none
};

// Pages of events, signals and chunks end with the one that reaches this many bytes.
inline constexpr std::size_t kPageBytesMax = 4 << 20;

class Api;
// Carries out an operation of the table in routes.cc. Answers the call, now or later.
using Operation = void (*)(Api& api, CallPtr call);
enum class RunsOn : std::uint8_t {
  kIoThread,  // must not block; calls with a large body run on the pool
  kPool,      // may wait for the store, the disk or other hosts
  kProbe,     // like kPool, but never queued behind other work
};

// The HTTP API of an engine: finds the route, checks the caller, and passes the call to its
// operation.
class Api final : public HttpHandler, private CallObserver {
 public:
  struct Parts {
    LocalEngine& engine;
    RemoteWork& work;
    const ArtifactStore& artifacts;
    EventBus& bus;
    AccessTokens* tokens;  // null: everybody is an admin of the tenant "default"
    AuditLog& audit;
    MessageQueue& queue;
    RunStreams& streams;
    Clock& clock;
    Random& random;
  };

  Api(Parts parts, ApiOptions options);
  ~Api() override;

  // HttpHandler
  void Handle(HttpCall call) override;
  void RoundEnded() override;
  BodyTerms TermsOfBody(const ServerRequest& head) override;
  Sender SenderOf(const ServerRequest& head) override;

  // The engine's callbacks, any thread.
  void RunEnded(const Execution& run) {
    // Whoever waits for a large run reads it on a thread of the pool.
    if (run.bytes() > kIoBodyMax) return end_waiters_.Ended(run.run_id().value());
    end_waiters_.Ended(run.run_id().value(), [&run] { return run.View(); });
  }
  void Raised(const Alert& alert) { alerts_.Add(alert, parts_.clock.Now()); }
  // Where /metrics gets the socket metrics; must be set before the first request.
  void SetHttpMetrics(std::function<HttpServerMetrics()> read) { http_metrics_ = std::move(read); }
  // Shutting down: no longer ready; ends every wait for a run to end.
  void SetDraining() {
    draining_.store(true);
    end_waiters_.Close();
    parts_.streams.EndWaits();
  }
  // Drops, unanswered, the work queued on the pool. Work already running continues.
  void Abandon() { pool_.Stop(); }

  // ---- for operations
  LocalEngine& engine() { return parts_.engine; }
  Log& log() { return parts_.engine.log(); }
  EmbeddedLog& embedded_log() { return parts_.engine.embedded_log(); }
  RemoteWork& work() { return parts_.work; }
  EventBus& bus() { return parts_.bus; }
  const ArtifactStore& artifacts() const { return parts_.artifacts; }
  AccessTokens* tokens() { return parts_.tokens; }
  AuditLog& audit() { return parts_.audit; }
  Clock& clock() { return parts_.clock; }
  Random& random() { return parts_.random; }
  const ApiOptions& options() const { return options_; }
  AppendQueue& appends() { return appends_; }
  WorldService& world() { return world_; }
  MessageQueue& queue() { return parts_.queue; }
  RunStreams& streams() { return parts_.streams; }
  Followers& followers() { return followers_; }
  EndWaiters& end_waiters() { return end_waiters_; }
  PlanRegistry& plans() { return plans_; }
  QueueLimits& queue_limits() { return queue_limits_; }
  ArtifactOwners& artifact_owners() { return artifact_owners_; }
  TenantStorage& tenant_storage() { return tenant_storage_; }
  InboundRules& inbound_rules() { return inbound_rules_; }
  AlertList& alerts() { return alerts_; }
  WebhookIds& webhook_ids() { return webhook_ids_; }
  RequestCounts& counts() { return counts_; }
  HttpServerMetrics HttpMetrics() const {
    return http_metrics_ ? http_metrics_() : HttpServerMetrics{};
  }
  bool draining() const { return draining_.load(); }
  // Runs work that may block on a thread of the pool; parties take turns.
  void RunOnPool(std::string_view party, std::function<void()> work) {
    pool_.Run(party, std::move(work));
  }
  // The same on threads for probes, which are never queued behind other work.
  void RunOnProbes(std::string_view party, std::function<void()> work) {
    probes_.Run(party, std::move(work));
  }
  Readiness& readiness() { return readiness_; }
  std::size_t kept_answer_bytes() const { return answers_.bytes(); }  // of idempotency keys
  // The first document of the store that could not be read when this API was made.
  Status loaded() const { return answers_.loaded() ? queue_limits_.loaded() : answers_.loaded(); }

  // Returns the run if it belongs to the caller's tenant. Nullopt if the call was answered with an
  // error.
  std::optional<StoredRun> FindRun(ApiCall& call, const std::string& run_id);
  Actor ActorOf(const ApiCall& call) const;
  // Claims the call's Idempotency-Key for `body`, the body or a stand-in for it. Returns false if
  // the call was answered (replayed or refused). Operations with a streamed body must call
  // this themselves; for the others Handle does.
  bool ClaimIdempotencyKey(ApiCall& call, std::string_view body);
  // Charges the memory for parsing a plan and its inputs. Returns false if the call was answered.
  bool ChargeStart(ApiCall& call, std::string_view plan, std::string_view inputs);
  // Reserves memory for the answer. Returns false if the call was answered.
  bool ReserveAnswer(ApiCall& call);
  // Takes a share of the stream limit. Nullopt if the call was answered with an error.
  std::optional<PartyShares::Share> TakeStream(ApiCall& call);

 private:
  // Larger bodies are not parsed on an io thread, where other connections would have to wait.
  static constexpr std::size_t kIoBodyMax = 64 << 10;

  void Answered(const ApiCall& call, int status, std::string_view code) override;
  void LogOutcome(const ApiCall& call, int status, std::string_view code);
  // The caller, and why the call is refused, if it is.
  struct Admission {
    Caller caller;
    std::optional<Problem> refusal;
  };
  Admission Admit(const Route& route, const ServerRequest& request);
  // These return false if the call was answered.
  bool Authenticate(ApiCall& call);
  bool TakeShare(ApiCall& call);
  bool ChargeBody(ApiCall& call, const struct OperationEntry& operation);
  bool ChargeValues(ApiCall& call, std::size_t values, bool is_estimate);

  const Parts parts_;
  const ApiOptions options_;
  const Router router_;
  std::vector<const struct OperationEntry*> operations_;  // in the order of the routes
  AlertList alerts_;
  RequestCounts counts_;
  Idempotency idempotency_;  // declared before its store, which calls it from the destructor
  DurableAnswers answers_;
  WebhookIds webhook_ids_;
  PlanRegistry plans_;
  QueueLimits queue_limits_;
  ArtifactOwners artifact_owners_;
  InboundRules inbound_rules_;
  TenantStorage tenant_storage_;
  std::function<HttpServerMetrics()> http_metrics_;
  std::atomic<bool> draining_{false};
  Readiness readiness_;
  EndWaiters end_waiters_;
  Followers followers_;
  AppendQueue appends_;
  WorldService world_;
  DevkitBackend devkit_;
  PartyShares shares_;
  PartyShares unproven_shares_;
  PartyShares stream_shares_;
  FairThreads probes_;
  FairThreads pool_;
};

}  // namespace everstep
