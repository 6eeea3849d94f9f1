#include "serve/problem.h"

#include <array>
#include <utility>

#include "base/assert.h"
#include "base/encoding.h"
#include "base/json.h"

namespace everstep {
namespace {

constexpr std::size_t kFaultsMax = 100;
constexpr std::chrono::seconds kSoon{1};
constexpr std::chrono::seconds kLater{30};  // somebody has to free space

struct ErrorRow {
  ErrorCode code;
  int status;
  std::string_view title;
};

using enum ErrorCode;

constexpr std::array<ErrorRow, kErrorCodeCount> kErrors = {{
    {kInvalidJson, 400, "The body is not JSON"},
    {kInvalidArgument, 400, "Invalid argument"},
    {kSchemaValidationFailed, 422, "The document does not match its schema"},
    {kEventTypeUnknown, 422, "Unknown event type"},
    {kIdempotencyKeyMismatch, 422, "The event's idempotency key does not match its fields"},
    {kEventTooLarge, 413, "The event is too large"},
    {kInvalidPlan, 422, "Invalid plan"},
    {kInvalidInput, 422, "The inputs do not match the plan"},
    {kPlanSchemaVersionUnknown, 422, "Unknown schema version of the plan"},
    {kPlanIntegrityValidationFailed, 422, "The plan's digest differs from the reference"},
    {kPlanRefMismatch, 422, "The plan and its reference disagree"},
    {kPlanUriNotAllowed, 422, "Plans may not be read from this URI"},
    {kPlanUnavailable, 422, "The plan cannot be read"},
    {kCapabilityNotSupported, 422, "The plan needs an unsupported capability"},
    {kTargetAdapterMismatch, 422, "The plan is for another engine"},
    {kExpressionFailed, 422, "An expression failed"},
    {kSignalInvalidPayload, 422, "Invalid signal payload"},
    {kRunNotFound, 404, "There is no such run"},
    {kRunAlreadyExists, 409, "The run already exists"},
    {kRunScopeMismatch, 409, "The run has a different scope"},
    {kRunNotStarted, 409, "The run has not started"},
    {kRunPaused, 409, "The run is paused"},
    {kRunTerminal, 409, "The run has ended"},
    {kRunExpired, 410, "The run was removed"},
    {kRunQuarantined, 409, "The run is quarantined"},
    {kInvalidTransition, 409, "The current state does not allow this"},
    {kStepNotFound, 404, "There is no such step"},
    {kStepTerminal, 409, "The step has ended"},
    {kStepAttemptStale, 409, "The attempt is not the current one"},
    {kHookNotFound, 404, "There is no such hook"},
    {kHookTerminal, 410, "The hook accepts no more deliveries"},
    {kWaitNotFound, 404, "There is no such wait"},
    {kWaitTerminal, 409, "The wait has ended"},
    {kSignalDuplicate, 409, "The signal id was used for something else"},
    {kErrorNotOpen, 409, "The error is not open"},
    {kChildNotFound, 404, "There is no such child run"},
    {kChildTerminal, 409, "The child run has ended"},
    {kAdmissionRejected, 429, "A limit on starting runs is reached"},
    {kUnauthenticated, 401, "A valid token is required"},
    {kAuthzDenied, 403, "The role does not allow this"},
    {kAuthzReasonRequired, 422, "A reason is required"},
    {kAuthzTenantForbidden, 404, "There is no such run"},
    {kStepNotTerminal, 409, "The step has not ended"},
    {kArtifactNotFound, 404, "There is no such artifact"},
    {kSecretUnavailable, 422, "A secret cannot be resolved"},
    {kRunOwnedByEngine, 409, "The engine writes the log of this run"},
    {kWorkerNotFound, 404, "There is no such worker"},
    {kSinkNotFound, 404, "There is no such sink"},
    {kDeadLetterNotFound, 404, "There is no such dead letter"},
    {kInboundRuleNotFound, 404, "There is no such rule"},
    {kPlanNotFound, 404, "There is no such plan"},
    {kPlanVersionTaken, 409, "This plan version has different content"},
    {kNotFound, 404, "Not found"},
    {kAddressInUse, 500, "The address is in use"},
    {kServerUnavailable, 502, "An upstream server does not respond"},
    {kTenantFull, 507, "The tenant's storage limit is reached"},
    {kEngineStopped, 503, "The engine is stopping"},
    {kStoreNotFound, 503, "The store does not exist"},
    {kStoreExists, 500, "The store already exists"},
    {kStoreLocked, 503, "The store is in use"},
    {kStoreFormatNewer, 500, "The store's format is newer than this program"},
    {kStoreCorrupt, 500, "The store is damaged"},
    {kStoreReadOnly, 503, "The store is read-only"},
    {kStoreFull, 507, "The disk is nearly full"},
    {kStoreStopped, 503, "The store has stopped"},
    {kStoreIo, 500, "The disk failed"},
    {kIndeterminate, 503, "The outcome of the write is unknown; repeat the call"},
}};

struct HttpRow {
  HttpCode code;
  std::string_view name;
  int status;
  std::string_view title;
};

constexpr std::array<HttpRow, kHttpCodeCount> kHttp = {{
    {HttpCode::kBadRequest, "BAD_REQUEST", 400, "The request cannot be understood"},
    {HttpCode::kMethodNotAllowed, "METHOD_NOT_ALLOWED", 405, "Method not allowed for this path"},
    {HttpCode::kPreconditionFailed, "PRECONDITION_FAILED", 412, "Precondition failed"},
    {HttpCode::kIdempotencyKeyInvalid, "IDEMPOTENCY_KEY_INVALID", 400,
     "The Idempotency-Key is malformed"},
    {HttpCode::kIdempotencyKeyInUse, "IDEMPOTENCY_KEY_IN_USE", 409,
     "A request with this Idempotency-Key is in progress"},
    {HttpCode::kIdempotencyKeyReused, "IDEMPOTENCY_KEY_REUSED", 422,
     "The Idempotency-Key was used for a different request"},
    {HttpCode::kIdempotencyAnswerGone, "IDEMPOTENCY_ANSWER_GONE", 410,
     "The request was executed; its answer was not kept"},
    {HttpCode::kWebhookSignatureInvalid, "WEBHOOK_SIGNATURE_INVALID", 401,
     "The webhook's signature is not valid"},
    {HttpCode::kArtifactDamaged, "ARTIFACT_DAMAGED", 500,
     "The stored artifact is damaged or missing"},
    {HttpCode::kNotReady, "NOT_READY", 503, "The server is not ready"},
    {HttpCode::kContentTooLarge, "CONTENT_TOO_LARGE", 413, "The body is too large"},
    {HttpCode::kOverloaded, "OVERLOADED", 503, "The server is overloaded"},
}};

constexpr bool CodesIndexTheirRows() {
  for (std::size_t i = 0; i < kErrors.size(); ++i) {
    if (static_cast<std::size_t>(kErrors[i].code) != i) return false;
  }
  for (std::size_t i = 0; i < kHttp.size(); ++i) {
    if (static_cast<std::size_t>(kHttp[i].code) != i) return false;
  }
  return true;
}
static_assert(CodesIndexTheirRows());

const ErrorRow& RowOf(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  EVERSTEP_ASSERT(index < kErrors.size());
  return kErrors[index];
}

const HttpRow& RowOf(HttpCode code) {
  const auto index = static_cast<std::size_t>(code);
  EVERSTEP_ASSERT(index < kHttp.size());
  return kHttp[index];
}

std::chrono::milliseconds UsualWait(int status) {
  if (status == 429 || status == 503) return kSoon;
  if (status == 507) return kLater;
  return {};
}

void WriteFaults(const std::vector<Fault>& faults, JsonWriter& writer) {
  writer.Key("faults");
  writer.BeginArray();
  for (std::size_t i = 0; i < faults.size() && i < kFaultsMax; ++i) {
    const Fault& fault = faults[i];
    writer.BeginObject();
    writer.Member("pointer", ValidUtf8(fault.pointer));
    writer.Member("message", ValidUtf8(fault.message));
    if (fault.line > 0) {
      writer.Member("line", std::uint64_t{fault.line});
      writer.Member("column", std::uint64_t{fault.column});
    }
    writer.EndObject();
  }
  writer.EndArray();
  if (faults.size() > kFaultsMax) {
    writer.Member("faultsLeftOut", std::uint64_t{faults.size() - kFaultsMax});
  }
}

}  // namespace

std::string_view Name(HttpCode code) { return RowOf(code).name; }

int StatusOf(ErrorCode code) { return RowOf(code).status; }

Problem ProblemOf(const Error& error) {
  // Both answers are identical, so that nobody can find out which runs other tenants have.
  const bool hidden = error.code == kAuthzTenantForbidden || error.code == kRunNotFound;
  const ErrorRow& row = RowOf(hidden ? kRunNotFound : error.code);
  Problem problem;
  problem.status = row.status;
  problem.code = Name(row.code);
  problem.title = row.title;
  // Messages of internal errors may contain file names.
  const bool inner = hidden || (row.status >= 500 && row.code != kTenantFull);
  problem.detail = inner ? std::string(row.title) : error.message;
  if (!inner) problem.faults = error.faults;
  problem.retry_after = UsualWait(row.status);
  if (!hidden && error.retry_after.count() > 0) problem.retry_after = error.retry_after;
  if (row.code == kUnauthenticated) {
    problem.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"everstep\"");
  }
  return problem;
}

Problem ProblemOf(HttpCode code, std::string detail) {
  const HttpRow& row = RowOf(code);
  Problem problem;
  problem.status = row.status;
  problem.code = row.name;
  problem.title = row.title;
  problem.detail = std::move(detail);
  problem.retry_after = UsualWait(row.status);
  return problem;
}

Problem MethodNotAllowed(std::string_view allow) {
  Problem problem = ProblemOf(HttpCode::kMethodNotAllowed, "allowed: " + std::string(allow));
  problem.headers.emplace_back("Allow", allow);
  return problem;
}

ServerResponse ToResponse(const Problem& problem, std::string_view trace_id) {
  ServerResponse response;
  response.status = problem.status;
  response.headers = problem.headers;
  response.headers.emplace_back("Content-Type", "application/problem+json");
  response.headers.emplace_back("Cache-Control", "no-store");
  if (problem.retry_after.count() > 0) {
    const auto wait = std::chrono::ceil<std::chrono::seconds>(problem.retry_after);
    response.headers.emplace_back("Retry-After", std::to_string(wait.count()));
  }
  JsonWriter writer(response.body);
  writer.BeginObject();
  writer.Member("type", "/docs/errors/" + std::string(problem.code));
  writer.Member("title", problem.title);
  writer.Member("status", static_cast<std::uint64_t>(problem.status));
  writer.Member("code", problem.code);
  if (!problem.detail.empty()) writer.Member("detail", ValidUtf8(problem.detail));
  if (!problem.faults.empty()) WriteFaults(problem.faults, writer);
  if (!trace_id.empty()) writer.Member("traceId", trace_id);
  writer.EndObject();
  return response;
}

}  // namespace everstep
