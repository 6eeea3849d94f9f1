#include "serve/problem.h"

#include <array>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "work/encoding.h"

namespace everstep {
namespace {

constexpr std::size_t kFaultsMax = 100;
constexpr std::chrono::seconds kSoon{1};
constexpr std::chrono::seconds kLater{30};  // somebody has to make room

struct ErrorRow {
  ErrorCode code;
  int status;
  std::string_view title;
};

using enum ErrorCode;

constexpr std::array<ErrorRow, kErrorCodeCount> kErrors = {{
    {kInvalidJson, 400, "The body is not JSON"},
    {kInvalidArgument, 400, "An argument is wrong"},
    {kSchemaValidationFailed, 422, "The document does not fit its schema"},
    {kEventTypeUnknown, 422, "The event type is not known"},
    {kIdempotencyKeyMismatch, 422, "The event's idempotency key is not the one of its fields"},
    {kEventTooLarge, 413, "The event is too large"},
    {kInvalidPlan, 422, "The plan has faults"},
    {kInvalidInput, 422, "The inputs do not fit the plan"},
    {kPlanSchemaVersionUnknown, 422, "The plan's schema version is not known"},
    {kPlanIntegrityValidationFailed, 422, "The plan is not the one of the reference"},
    {kPlanRefMismatch, 422, "The plan and its reference disagree"},
    {kPlanUriNotAllowed, 422, "Plans are not read from there"},
    {kPlanUnavailable, 422, "The plan cannot be read"},
    {kCapabilityNotSupported, 422, "The plan needs what is not there"},
    {kTargetAdapterMismatch, 422, "The plan is for another engine"},
    {kExpressionFailed, 422, "An expression failed"},
    {kSignalInvalidPayload, 422, "The signal's payload is wrong"},
    {kRunNotFound, 404, "There is no such run"},
    {kRunAlreadyExists, 409, "The run exists"},
    {kRunScopeMismatch, 409, "The run has another scope"},
    {kRunNotStarted, 409, "The run has not started"},
    {kRunPaused, 409, "The run is paused"},
    {kRunTerminal, 409, "The run has ended"},
    {kRunExpired, 410, "The run was removed"},
    {kRunQuarantined, 409, "The run is quarantined"},
    {kInvalidTransition, 409, "The state does not allow this"},
    {kStepNotFound, 404, "There is no such step"},
    {kStepTerminal, 409, "The step has ended"},
    {kStepAttemptStale, 409, "The attempt is not the current one"},
    {kHookNotFound, 404, "There is no such hook"},
    {kHookTerminal, 410, "The hook takes nothing more"},
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
    {kPlanVersionTaken, 409, "The version of the plan is another document"},
    {kNotFound, 404, "There is nothing here"},
    {kAddressInUse, 500, "The address is in use"},
    {kServerUnavailable, 502, "Another server does not answer"},
    {kTenantFull, 507, "The tenant has stored as much as it may"},
    {kEngineStopped, 503, "The engine is stopping"},
    {kStoreNotFound, 503, "The store is not there"},
    {kStoreExists, 500, "The store exists"},
    {kStoreLocked, 503, "The store is in use"},
    {kStoreFormatNewer, 500, "The store is of a newer version"},
    {kStoreCorrupt, 500, "The store is damaged"},
    {kStoreReadOnly, 503, "The store takes no writes"},
    {kStoreFull, 507, "The disk is nearly full"},
    {kStoreStopped, 503, "The store has stopped"},
    {kStoreIo, 500, "The disk failed"},
    {kIndeterminate, 503, "Whether it was written is not known; repeat the call"},
}};

struct HttpRow {
  HttpCode code;
  std::string_view name;
  int status;
  std::string_view title;
};

constexpr std::array<HttpRow, kHttpCodeCount> kHttp = {{
    {HttpCode::kBadRequest, "BAD_REQUEST", 400, "The request cannot be understood"},
    {HttpCode::kMethodNotAllowed, "METHOD_NOT_ALLOWED", 405, "This method is not for this path"},
    {HttpCode::kPreconditionFailed, "PRECONDITION_FAILED", 412, "It has changed meanwhile"},
    {HttpCode::kIdempotencyKeyInvalid, "IDEMPOTENCY_KEY_INVALID", 400,
     "The Idempotency-Key is malformed"},
    {HttpCode::kIdempotencyKeyInUse, "IDEMPOTENCY_KEY_IN_USE", 409,
     "A request with this Idempotency-Key is under way"},
    {HttpCode::kIdempotencyKeyReused, "IDEMPOTENCY_KEY_REUSED", 422,
     "The Idempotency-Key was used for another request"},
    {HttpCode::kIdempotencyAnswerGone, "IDEMPOTENCY_ANSWER_GONE", 410,
     "The request was done; its answer is not kept"},
    {HttpCode::kWebhookSignatureInvalid, "WEBHOOK_SIGNATURE_INVALID", 401,
     "The webhook's signature is not valid"},
    {HttpCode::kNotReady, "NOT_READY", 503, "The server is not ready"},
    {HttpCode::kContentTooLarge, "CONTENT_TOO_LARGE", 413, "The body is too large"},
    {HttpCode::kOverloaded, "OVERLOADED", 503, "Too much is under way"},
}};

constexpr bool RowsStandAtTheirCodes() {
  for (std::size_t i = 0; i < kErrors.size(); ++i) {
    if (static_cast<std::size_t>(kErrors[i].code) != i) return false;
  }
  for (std::size_t i = 0; i < kHttp.size(); ++i) {
    if (static_cast<std::size_t>(kHttp[i].code) != i) return false;
  }
  return true;
}
static_assert(RowsStandAtTheirCodes());

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
  // Both look alike to the last byte, so that nobody learns which runs other tenants have.
  const bool hidden = error.code == kAuthzTenantForbidden || error.code == kRunNotFound;
  const ErrorRow& row = RowOf(hidden ? kRunNotFound : error.code);
  Problem problem;
  problem.status = row.status;
  problem.code = Name(row.code);
  problem.title = row.title;
  // Messages of the server's own faults may name its files.
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
