#include "everstep/error.h"

#include <array>

#include "base/assert.h"

namespace everstep {
namespace {

struct NamedCode {
  ErrorCode code;
  std::string_view name;
};

using enum ErrorCode;

constexpr std::array<NamedCode, kErrorCodeCount> kNames = {{
    {kInvalidJson, "INVALID_JSON"},
    {kInvalidArgument, "INVALID_ARGUMENT"},
    {kSchemaValidationFailed, "SCHEMA_VALIDATION_FAILED"},
    {kEventTypeUnknown, "EVENT_TYPE_UNKNOWN"},
    {kIdempotencyKeyMismatch, "IDEMPOTENCY_KEY_MISMATCH"},
    {kEventTooLarge, "EVENT_TOO_LARGE"},
    {kInvalidPlan, "INVALID_PLAN"},
    {kInvalidInput, "INVALID_INPUT"},
    {kPlanSchemaVersionUnknown, "PLAN_SCHEMA_VERSION_UNKNOWN"},
    {kPlanIntegrityValidationFailed, "PLAN_INTEGRITY_VALIDATION_FAILED"},
    {kPlanRefMismatch, "PLAN_REF_MISMATCH"},
    {kPlanUriNotAllowed, "PLAN_URI_NOT_ALLOWED"},
    {kPlanUnavailable, "PLAN_UNAVAILABLE"},
    {kCapabilityNotSupported, "CAPABILITY_NOT_SUPPORTED"},
    {kTargetAdapterMismatch, "TARGET_ADAPTER_MISMATCH"},
    {kExpressionFailed, "EXPRESSION_FAILED"},
    {kSignalInvalidPayload, "SIGNAL_INVALID_PAYLOAD"},
    {kRunNotFound, "RUN_NOT_FOUND"},
    {kRunAlreadyExists, "RUN_ALREADY_EXISTS"},
    {kRunScopeMismatch, "RUN_SCOPE_MISMATCH"},
    {kRunNotStarted, "RUN_NOT_STARTED"},
    {kRunPaused, "RUN_PAUSED"},
    {kRunTerminal, "RUN_TERMINAL"},
    {kRunExpired, "RUN_EXPIRED"},
    {kRunQuarantined, "RUN_QUARANTINED"},
    {kInvalidTransition, "INVALID_TRANSITION"},
    {kStepNotFound, "STEP_NOT_FOUND"},
    {kStepTerminal, "STEP_TERMINAL"},
    {kStepAttemptStale, "STEP_ATTEMPT_STALE"},
    {kHookNotFound, "HOOK_NOT_FOUND"},
    {kHookTerminal, "HOOK_TERMINAL"},
    {kWaitNotFound, "WAIT_NOT_FOUND"},
    {kWaitTerminal, "WAIT_TERMINAL"},
    {kSignalDuplicate, "SIGNAL_DUPLICATE"},
    {kErrorNotOpen, "ERROR_NOT_OPEN"},
    {kChildNotFound, "CHILD_NOT_FOUND"},
    {kChildTerminal, "CHILD_TERMINAL"},
    {kAdmissionRejected, "ADMISSION_REJECTED"},
    {kUnauthenticated, "UNAUTHENTICATED"},
    {kAuthzDenied, "AUTHZ_DENIED"},
    {kAuthzReasonRequired, "AUTHZ_REASON_REQUIRED"},
    {kAuthzTenantForbidden, "AUTHZ_TENANT_FORBIDDEN"},
    {kStepNotTerminal, "STEP_NOT_TERMINAL"},
    {kArtifactNotFound, "ARTIFACT_NOT_FOUND"},
    {kSecretUnavailable, "SECRET_UNAVAILABLE"},
    {kRunOwnedByEngine, "RUN_OWNED_BY_ENGINE"},
    {kWorkerNotFound, "WORKER_NOT_FOUND"},
    {kSinkNotFound, "SINK_NOT_FOUND"},
    {kDeadLetterNotFound, "DEAD_LETTER_NOT_FOUND"},
    {kInboundRuleNotFound, "INBOUND_RULE_NOT_FOUND"},
    {kPlanNotFound, "PLAN_NOT_FOUND"},
    {kPlanVersionTaken, "PLAN_VERSION_TAKEN"},
    {kNotFound, "NOT_FOUND"},
    {kAddressInUse, "ADDRESS_IN_USE"},
    {kServerUnavailable, "SERVER_UNAVAILABLE"},
    {kTenantFull, "TENANT_FULL"},
    {kEngineStopped, "ENGINE_STOPPED"},
    {kStoreNotFound, "STORE_NOT_FOUND"},
    {kStoreExists, "STORE_EXISTS"},
    {kStoreLocked, "STORE_LOCKED"},
    {kStoreFormatNewer, "STORE_FORMAT_NEWER"},
    {kStoreCorrupt, "STORE_CORRUPT"},
    {kStoreReadOnly, "STORE_READ_ONLY"},
    {kStoreFull, "STORE_FULL"},
    {kStoreStopped, "STORE_STOPPED"},
    {kStoreIo, "STORE_IO"},
    {kIndeterminate, "INDETERMINATE"},
}};

constexpr bool NamesAreOrderedByCode() {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (static_cast<std::size_t>(kNames[i].code) != i) return false;
  }
  return true;
}
static_assert(NamesAreOrderedByCode());

}  // namespace

std::string_view Name(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  EVERSTEP_ASSERT(index < kNames.size());
  return kNames[index].name;
}

std::optional<ErrorCode> ErrorCodeNamed(std::string_view name) {
  for (const NamedCode& known : kNames) {
    if (known.name == name) return known.code;
  }
  return std::nullopt;
}

ErrorKind KindOf(ErrorCode code) {
  // The enum is grouped by kind; each bound is the last code of its group.
  if (code <= ErrorCode::kSignalInvalidPayload) return ErrorKind::kInput;
  if (code <= ErrorCode::kEngineStopped) return ErrorKind::kRejection;
  if (code <= ErrorCode::kStoreIo) return ErrorKind::kStore;
  return ErrorKind::kIndeterminate;
}

std::string ToString(const Error& error) {
  std::string text(Name(error.code));
  text.append(": ").append(error.message);
  for (const Fault& fault : error.faults) {
    text.append("\n  ");
    if (fault.line > 0) {
      text.append(std::to_string(fault.line)).append(":").append(std::to_string(fault.column));
      text.append(" ");
    }
    text.append(fault.pointer.empty() ? "(document)" : fault.pointer);
    text.append(": ").append(fault.message);
  }
  return text;
}

}  // namespace everstep
