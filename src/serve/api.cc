#include "serve/api.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "engine/event_view.h"
#include "serve/operations.h"
#include "serve/query_reader.h"

namespace everstep {
namespace {

// One tenant can use eight of them; the rest is reserved for others.
constexpr std::uint32_t kPoolThreads = 10;
constexpr std::uint32_t kPoolReserved = 2;
// Neither a tenant that asks for metrics nor a disk that does not answer takes both.
constexpr std::uint32_t kProbeThreads = 2;
constexpr std::uint32_t kProbeReserved = 1;
// Once an io thread's round exceeds kIoRoundMax, it parses only bodies up to this size itself.
constexpr std::size_t kIoTinyBodyMax = 1 << 10;
constexpr std::chrono::milliseconds kIoRoundMax{10};

using enum RunsOn;
constexpr bool kReadsQuery = true;
constexpr OperationEntry kOperations[] = {
    {"getLiveness", GetLiveness, kIoThread},
    {"getReadiness", GetReadiness, kIoThread},
    {"getOpenApi", GetOpenApi, kIoThread},
    {"getErrorPage", GetErrorPage, kIoThread},
    {"receiveWebhook", ReceiveWebhook, kPool},
    {"receiveSignedEvents", ReceiveSignedEvents, kPool},
    {"getMetrics", GetMetrics, kProbe},
    {"startRun", StartRun, kIoThread, kReadsQuery},
    {"listRuns", ListRuns, kPool, kReadsQuery},
    {"countRuns", CountRuns, kPool},
    {"getRun", GetRun, kPool, kReadsQuery},
    {"cancelRun", CancelRun, kPool},
    {"approveRun", ApproveRun, kPool},
    {"getSnapshot", GetSnapshot, kPool, kReadsQuery},
    {"listSteps", ListSteps, kPool},
    {"getStep", GetStep, kPool},
    {"explainRun", ExplainRun, kPool},
    {"listRunEvents", ListRunEvents, kPool, kReadsQuery},
    {"sendSignal", SendSignal, kPool},
    {"listSignals", ListSignals, kPool, kReadsQuery},
    {"listEvents", ListEvents, kPool, kReadsQuery},
    {"appendEvents", AppendEvents, kIoThread, kReadsQuery, ContentKind::kOpaque},
    {"deliverHook", DeliverHook, kPool},
    {"failHook", FailHook, kPool},
    {"heartbeatHook", HeartbeatHook, kPool},
    {"getHook", GetHook, kPool},
    {"registerPlan", RegisterPlan, kPool, false, ContentKind::kYaml},
    {"listPlans", ListPlans, kPool, kReadsQuery},
    {"checkPlan", CheckPlan, kPool, false, ContentKind::kYaml},
    {"getPlan", GetPlan, kPool, kReadsQuery},
    {"getPlanVersion", GetPlanVersion, kPool},
    {"getPlanGraph", GetPlanGraph, kPool, kReadsQuery},
    {"listQueues", ListQueues, kPool},
    {"setQueue", SetQueue, kPool},
    {"listSinks", ListSinks, kPool},
    {"getSink", GetSink, kPool},
    {"putSink", PutSink, kPool, false, ContentKind::kYaml},
    {"removeSink", RemoveSink, kPool},
    {"pauseSink", PauseSink, kPool},
    {"resumeSink", ResumeSink, kPool},
    {"listPending", ListPending, kPool, kReadsQuery},
    {"listDeadLetters", ListDeadLetters, kPool, kReadsQuery},
    {"getDeadLetter", GetDeadLetter, kPool},
    {"replayDeadLetters", ReplayDeadLetters, kPool},
    {"purgeDeadLetters", PurgeDeadLetters, kPool},
    {"receiveEvents", ReceiveEvents, kPool},
    {"listInboundRules", ListInboundRules, kPool},
    {"putInboundRule", PutInboundRule, kPool, false, ContentKind::kYaml},
    {"removeInboundRule", RemoveInboundRule, kPool},
    {"putArtifact", PutArtifact, kIoThread, kReadsQuery},
    {"getArtifact", GetArtifact, kPool, kReadsQuery},
    {"listAlerts", ListAlerts, kIoThread},
    {"listAudit", ListAudit, kPool, kReadsQuery},
    {"listTokens", ListTokens, kPool},
    {"createToken", CreateToken, kPool},
    {"revokeToken", RevokeToken, kPool},
    {"rotateToken", RotateToken, kPool},
    {"listStreams", ListStreams, kPool, kReadsQuery},
    {"readStream", ReadStream, kPool, kReadsQuery},
    {"writeStream", WriteStream, kPool, kReadsQuery, ContentKind::kOpaque},
    {"listMessages", ListMessages, kPool, kReadsQuery},
    {"replayMessage", ReplayMessage, kPool},
    {"removeMessage", RemoveMessage, kPool},
    {"callWorld", CallWorld, kPool, false, ContentKind::kCbor},
    {"listWorkers", ListWorkers, kPool},
    {"registerWorker", RegisterWorker, kIoThread},
    {"pollWork", PollWork, kIoThread},
    {"drainWorker", DrainWorker, kIoThread},
    {"removeWorker", RemoveWorker, kIoThread},
};

// What is reserved for an answer before it is made: by most operations, and by those that return
// pages of up to kPageBytesMax, which are written as JSON.
constexpr std::size_t kAnswerReserve = 1 << 20;
constexpr std::size_t kPageReserve = 2 * kPageBytesMax;
constexpr std::string_view kAnsweredInPages[] = {"listRunEvents", "listSignals", "listEvents",
                                                 "readStream", "listPending"};

// Not audited: the runs' own logs record these operations and who performed them.
constexpr std::string_view kInRunLogs[] = {
    "startRun",      "appendEvents",        "pollWork",       "deliverHook",
    "failHook",      "heartbeatHook",       "receiveWebhook", "checkPlan",
    "receiveEvents", "receiveSignedEvents", "callWorld"};

// Answers kept in memory only: only this process knows its workers, and tasks contain secrets.
constexpr std::string_view kOfThisProcess[] = {"registerWorker", "pollWork", "drainWorker"};
// Answers not kept at all: they contain secrets, which are stored as hashes only.
constexpr std::string_view kAnsweredWithSecrets[] = {"createToken", "rotateToken"};

Keeping KeepingOf(const Route& route) {
  if (std::ranges::find(kOfThisProcess, route.operation) != std::end(kOfThisProcess)) {
    return Keeping::kInMemory;
  }
  return std::ranges::find(kAnsweredWithSecrets, route.operation) != std::end(kAnsweredWithSecrets)
             ? Keeping::kWithoutAnswer
             : Keeping::kDurably;
}

bool IsAudited(const Route& route, int status) {
  if (status == 401 || status == 403) return true;
  if (route.method == "GET") return false;
  return std::ranges::find(kInRunLogs, route.operation) == std::end(kInRunLogs);
}

// Long polls are not slow requests, and the client determines how fast a body arrives.
bool WaitsOnPurpose(const ApiCall& call) {
  return call.route().streams_body() || call.route().operation == "pollWork" ||
         call.route().operation == "callWorld" ||
         call.request().query.find("wait=") != std::string::npos;
}

// A query or body that the operation does not read is an error of the client. Returns false if the
// call was answered.
bool IsWanted(const OperationEntry& operation, ApiCall& call) {
  if (!call.route().path.starts_with("/v1/")) return true;
  if (!operation.reads_query) {
    if (const Status none = QueryReader(call.request().query).Finish(); !none) {
      call.Fail(none.error());
      return false;
    }
  }
  if (call.route().body_bytes_max > 0 || call.body().empty()) return true;
  call.Fail(HttpCode::kBadRequest, "this call takes no body");
  return false;
}

// The operator's metrics do not wait for those of tenants, whose names are not empty.
std::string PartyOfProbe(const ApiCall& call) {
  return call.May(Permission::kTenantAny) ? std::string() : call.party();
}

// The list may be split over several headers.
std::string TracestateOf(const ServerRequest& request) {
  std::string state;
  for (const auto& [name, value] : request.headers) {
    if (name != "tracestate") continue;
    if (!state.empty()) state.push_back(',');
    state.append(value);
  }
  return state;
}

TraceContext TraceOf(const ServerRequest& request, Random& random) {
  const std::string_view parent = request.Header("traceparent");
  if (parent.empty()) return NewTrace(random);
  const auto given = ParseTraceContext(parent, TracestateOf(request));
  return given ? ChildOf(*given, random) : NewTrace(random);
}

// When this io thread's current round began.
thread_local std::chrono::steady_clock::time_point round_begun;

std::chrono::steady_clock::time_point RoundBegun(std::chrono::steady_clock::time_point now) {
  if (round_begun == std::chrono::steady_clock::time_point()) round_begun = now;
  return round_begun;
}

}  // namespace

const OperationEntry* FindOperation(std::string_view id) {
  const auto found = std::ranges::find(kOperations, id, &OperationEntry::id);
  return found == std::end(kOperations) ? nullptr : &*found;
}

Api::Api(Parts parts, ApiOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      router_(Routes()),
      idempotency_(answers_),
      answers_(options_.answers, parts_.engine.store(), parts_.engine.embedded_log().committer(),
               parts_.clock),
      plans_(parts_.engine.store(), parts_.engine.embedded_log().committer(),
             parts_.engine.library(), parts_.clock),
      queue_limits_(parts_.engine.store(), parts_.engine.embedded_log().committer(), parts_.work),
      artifact_owners_(parts_.engine.store(), parts_.engine.embedded_log().committer()),
      inbound_rules_(parts_.engine.store(), parts_.engine.embedded_log().committer()),
      tenant_storage_(parts_.engine.store(), options_.tenant_bytes_max),
      readiness_([this] { return LookAtServer(*this); }),
      end_waiters_(parts_.engine.embedded_log().feed()),
      followers_(parts_.engine.embedded_log()),
      appends_(parts_.engine.log()),
      world_({parts_.engine.embedded_log(), parts_.queue, parts_.streams, parts_.clock,
              parts_.random, tenant_storage_,
              [this](std::string_view party, std::function<void()> work) {
                RunOnPool(party, std::move(work));
              },
              options_.loopback_endpoints}),
      devkit_({parts_.engine.embedded_log(), parts_.queue, parts_.clock, parts_.random}),
      shares_(options_.requests),
      unproven_shares_(options_.unproven_requests),
      stream_shares_(options_.streams),
      probes_(kProbeThreads, kProbeReserved),
      pool_(kPoolThreads, kPoolReserved) {
  for (const Route& route : Routes()) operations_.push_back(FindOperation(route.operation));
  parts_.engine.AddBackend(devkit_);
}

Api::~Api() {
  parts_.engine.RemoveBackend(devkit_);
  end_waiters_.Close();
  parts_.streams.EndWaits();
}

BodyTerms Api::TermsOfBody(const ServerRequest& head) {
  const RouteMatch match = router_.Match(head.method, head.path);
  // A body that no operation reads may still arrive; the operation refuses it, not the socket.
  constexpr std::size_t kUnwanted = 4 << 10;
  if (match.outcome != RouteMatch::Outcome::kFound) {
    return {.bytes_max = kUnwanted, .unproven = true};
  }
  if (match.route->streams_body()) return {options_.artifact_bytes_max, true};
  return {.bytes_max = std::max(match.route->body_bytes_max, kUnwanted),
          .unproven = !match.route->permission};
}

void Api::Handle(HttpCall http) {
  const ServerRequest& request = http.request();
  TraceContext trace = TraceOf(request, parts_.random);
  RouteMatch match = router_.Match(request.method, request.path);
  if (match.outcome != RouteMatch::Outcome::kFound) {
    const auto refuse = [&](const Problem& problem) {
      http.Reply(ToResponse(problem, trace.trace_id));
    };
    switch (match.outcome) {
      case RouteMatch::Outcome::kMethodNotAllowed:
        return refuse(MethodNotAllowed(match.allow));
      case RouteMatch::Outcome::kMalformedPath:
        return refuse(ProblemOf(HttpCode::kBadRequest, "the path is not validly percent-encoded"));
      default:
        return refuse(ProblemOf(Error{ErrorCode::kNotFound, "no such path in this API", {}}));
    }
  }
  const auto index = static_cast<std::size_t>(match.route - Routes().data());
  auto call = std::make_shared<ApiCall>(std::move(http), std::move(match), std::move(trace),
                                        static_cast<CallObserver&>(*this));
  const OperationEntry* operation = operations_[index];
  EVERSTEP_ASSERT(operation != nullptr);
  if (!Authenticate(*call) || !TakeShare(*call) || !IsWanted(*operation, *call)) return;
  const std::size_t bytes = call->body().size();
  const bool small =
      bytes <= kIoTinyBodyMax ||
      (bytes <= kIoBodyMax && call->begun() - RoundBegun(call->begun()) < kIoRoundMax);
  if (small) {
    if (!call->route().streams_body() && !ClaimIdempotencyKey(*call, call->body())) return;
    if (operation->where == kIoThread) return operation->run(*this, std::move(call));
  }
  const ApiCall& asked = *call;
  auto work = [this, operation, small, call = std::move(call)]() mutable {
    if (call->is_abandoned()) return;
    if (!small && !ClaimIdempotencyKey(*call, call->body())) return;
    if (!ChargeBody(*call, *operation)) return;
    if (operation->where == kPool && !ReserveAnswer(*call)) return;
    operation->run(*this, std::move(call));
    if (operation->where == kIoThread) appends_.Flush();
  };
  if (operation->where == kProbe) return RunOnProbes(PartyOfProbe(asked), std::move(work));
  pool_.Run(asked.party(), std::move(work));
}

void Api::RoundEnded() {
  round_begun = {};
  appends_.Flush();
}

bool Api::ReserveAnswer(ApiCall& call) {
  const bool pages =
      std::ranges::find(kAnsweredInPages, call.route().operation) != std::end(kAnsweredInPages);
  if (call.ReserveAnswer(pages ? kPageReserve : kAnswerReserve)) return true;
  call.FailForMemory();
  return false;
}

bool Api::ClaimIdempotencyKey(ApiCall& call, std::string_view body) {
  const ServerRequest& request = call.request();
  if (request.method != "POST") return true;
  // Keys are scoped to their caller, and open calls have no known caller.
  if (!call.route().permission) return true;
  std::optional<std::string_view> key;
  for (const auto& [name, value] : request.headers) {
    if (name != "idempotency-key") continue;
    if (key && *key != value) {
      call.Fail(HttpCode::kIdempotencyKeyInvalid,
                "the request has two different Idempotency-Key headers; send one");
      return false;
    }
    key = value;
  }
  if (!key) return true;
  Idempotency::Begun begun = idempotency_.Begin(
      {call.tenant(), call.caller().token_id, request.method, request.path, request.query}, *key,
      body);
  switch (begun.outcome) {
    case Idempotency::Outcome::kFresh:
      call.SetIdempotency(std::move(begun.call), KeepingOf(call.route()));
      return true;
    case Idempotency::Outcome::kReplayed:
      call.Reply(std::move(begun.response));
      return false;
    case Idempotency::Outcome::kInvalidKey:
      call.Fail(HttpCode::kIdempotencyKeyInvalid,
                "Idempotency-Key must be 1 to 255 printable characters");
      return false;
    case Idempotency::Outcome::kInUse:
      call.Fail(
          HttpCode::kIdempotencyKeyInUse,
          "a request with this Idempotency-Key is in progress; try again when it has finished");
      return false;
    case Idempotency::Outcome::kReused:
      call.Fail(HttpCode::kIdempotencyKeyReused,
                "this Idempotency-Key was used for a different request; use a new one");
      return false;
    case Idempotency::Outcome::kGone:
      call.Fail(
          HttpCode::kIdempotencyAnswerGone,
          "the request with this Idempotency-Key was executed before the server restarted; its "
          "answer contained a secret, which is not kept, or is damaged: use a new key");
      return false;
  }
  return false;
}

void Api::Answered(const ApiCall& call, int status, std::string_view code) {
  counts_.Add(call.route(), status);
  if (options_.log != nullptr) LogOutcome(call, status, code);
  if (!IsAudited(call.route(), status)) return;
  AuditEntry entry;
  entry.actor = call.caller().name;
  entry.token_id = call.caller().token_id;
  entry.tenant_id = call.tenant();
  entry.action = call.route().operation;
  entry.method = call.request().method;
  // A hook's token is as sensitive as a password.
  const bool secret = call.route().path.find("{token}") != std::string_view::npos;
  entry.path = secret ? std::string(call.route().path) : call.request().path;
  entry.status = status;
  entry.code = code;
  entry.source_ip = call.request().peer_address;
  entry.request_id = call.trace().trace_id;
  entry.anonymous = status == 401 || call.caller().token_id.empty();
  (void)parts_.audit.Append(entry);
}

// Logs neither path nor query: they may contain tokens of hooks.
void Api::LogOutcome(const ApiCall& call, int status, std::string_view code) {
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyNow() - call.begun());
  // A failed readiness probe is a normal answer, and repeats every few seconds.
  const bool failed = status >= 500 && call.route().operation != "getReadiness";
  const bool slow =
      options_.slow_request.count() > 0 && took >= options_.slow_request && !WaitsOnPurpose(call);
  if (!failed && !slow) return;
  LogLine line{failed ? LogLevel::kError : LogLevel::kWarn,
               failed ? "request.failed" : "request.slow",
               failed ? "request failed" : "slow request",
               {{"operation", std::string(call.route().operation)},
                {"status", std::to_string(status)},
                {"durationMs", std::to_string(took.count())},
                {"traceId", call.trace().trace_id}}};
  if (!code.empty()) line.fields.emplace_back("code", code);
  if (!call.store_error().empty()) line.fields.emplace_back("detail", call.store_error());
  if (!call.tenant().empty()) line.fields.emplace_back("tenantId", call.tenant());
  options_.log->Write(line);
}

std::optional<StoredRun> Api::FindRun(ApiCall& call, const std::string& run_id) {
  auto run = RequireRun(*parts_.engine.store().Read(), RunId(run_id), call.tenant());
  if (run) return *std::move(run);
  call.Fail(run.error());
  return std::nullopt;
}

Actor Api::ActorOf(const ApiCall& call) const {
  return {call.caller().name.empty() ? call.caller().token_id : call.caller().name,
          ActorRolesOf(call.caller().roles), call.request().peer_address};
}

}  // namespace everstep
