#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// Every error code a caller can see. Each has a page docs/errors/<NAME>.md; a test checks this.
enum class ErrorCode : std::uint8_t {
  // Invalid input: nothing was written; the same input will fail again.
  kInvalidJson,
  kInvalidArgument,
  kSchemaValidationFailed,
  kEventTypeUnknown,
  kIdempotencyKeyMismatch,
  kEventTooLarge,
  kInvalidPlan,
  kInvalidInput,
  kPlanSchemaVersionUnknown,
  kPlanIntegrityValidationFailed,
  kPlanRefMismatch,
  kPlanUriNotAllowed,
  kPlanUnavailable,
  kCapabilityNotSupported,
  kTargetAdapterMismatch,
  kExpressionFailed,
  kSignalInvalidPayload,
  // Rejections: the input was well formed but the rules do not allow it. Nothing was written.
  kRunNotFound,
  kRunAlreadyExists,
  kRunScopeMismatch,
  kRunNotStarted,
  kRunPaused,
  kRunTerminal,
  kRunExpired,
  kRunQuarantined,
  kInvalidTransition,
  kStepNotFound,
  kStepTerminal,
  kStepAttemptStale,
  kHookNotFound,
  kHookTerminal,
  kWaitNotFound,
  kWaitTerminal,
  kSignalDuplicate,
  kErrorNotOpen,
  kChildNotFound,
  kChildTerminal,
  kAdmissionRejected,
  kUnauthenticated,
  kAuthzDenied,
  kAuthzReasonRequired,
  kAuthzTenantForbidden,
  kStepNotTerminal,
  kArtifactNotFound,
  kSecretUnavailable,
  kRunOwnedByEngine,
  kWorkerNotFound,
  kSinkNotFound,
  kDeadLetterNotFound,
  kInboundRuleNotFound,
  kPlanNotFound,
  kPlanVersionTaken,
  kNotFound,
  kAddressInUse,
  kServerUnavailable,
  kTenantFull,
  kEngineStopped,
  // Store errors. Only for kIndeterminate is it unknown whether the write is durable.
  kStoreNotFound,
  kStoreExists,
  kStoreLocked,
  kStoreFormatNewer,
  kStoreCorrupt,
  kStoreReadOnly,
  kStoreFull,
  kStoreStopped,
  kStoreIo,
  kIndeterminate,
};

inline constexpr int kErrorCodeCount = static_cast<int>(ErrorCode::kIndeterminate) + 1;

// The stable name, "RUN_TERMINAL" and so on; part of the API.
std::string_view Name(ErrorCode code);
std::optional<ErrorCode> ErrorCodeNamed(std::string_view name);

// Who has to act: the caller's data, the state of the run, the store, or recovery.
enum class ErrorKind : std::uint8_t { kInput, kRejection, kStore, kIndeterminate };
ErrorKind KindOf(ErrorCode code);

// One problem with an input: where it is (RFC 6901 pointer) and what is expected there.
struct Fault {
  std::string pointer;
  std::string message;
  std::uint32_t line = 0;  // in the document, from 1; zero: unknown
  std::uint32_t column = 0;

  bool operator==(const Fault&) const = default;
};

struct Error {
  ErrorCode code;
  std::string message;
  std::vector<Fault> faults;
  // How long to wait before repeating the call; zero: unknown.
  std::chrono::milliseconds retry_after{0};
};

// "CODE: message", then one line per fault.
std::string ToString(const Error& error);

}  // namespace everstep
