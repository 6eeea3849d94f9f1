#include "exit_codes.h"

#include <algorithm>
#include <array>

namespace everstep::cli {

ExitCode ExitCodeOfAnswer(ErrorCode code) {
  switch (KindOf(code)) {
    case ErrorKind::kInput:
      return ExitCode::kBadInput;
    case ErrorKind::kRejection:
      return ExitCode::kRefused;
    case ErrorKind::kStore:
      return ExitCode::kStore;
    case ErrorKind::kIndeterminate:
      break;
  }
  return ExitCode::kIndeterminate;
}

ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return ExitCode::kUsage;
    case ErrorCode::kAddressInUse:
      return ExitCode::kAddressInUse;
    case ErrorCode::kRunNotFound:
    case ErrorCode::kRunExpired:
    case ErrorCode::kStoreNotFound:
    case ErrorCode::kHookNotFound:
    case ErrorCode::kWaitNotFound:
    case ErrorCode::kChildNotFound:
    case ErrorCode::kStepNotFound:
    case ErrorCode::kPlanUnavailable:
    case ErrorCode::kPlanNotFound:
    case ErrorCode::kArtifactNotFound:
    case ErrorCode::kSecretUnavailable:
    case ErrorCode::kWorkerNotFound:
    case ErrorCode::kSinkNotFound:
    case ErrorCode::kDeadLetterNotFound:
    case ErrorCode::kInboundRuleNotFound:
    case ErrorCode::kNotFound:
      return ExitCode::kNotFound;
    case ErrorCode::kServerUnavailable:
    case ErrorCode::kEngineStopped:
      return ExitCode::kUnavailable;
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kAuthzDenied:
    case ErrorCode::kAuthzTenantForbidden:
      return ExitCode::kNotAllowed;
    case ErrorCode::kRunQuarantined:
      return ExitCode::kStore;
    default:
      return ExitCodeOfAnswer(code);
  }
}

ExitCode Worse(ExitCode one, ExitCode other) {
  constexpr std::array kFromGoodToBad = {
      ExitCode::kOk,          ExitCode::kRefused,    ExitCode::kBadInput,
      ExitCode::kNotFound,    ExitCode::kNotAllowed, ExitCode::kUnavailable,
      ExitCode::kInterrupted, ExitCode::kStore,      ExitCode::kIndeterminate};
  const auto rank = [&](ExitCode code) { return std::ranges::find(kFromGoodToBad, code); };
  return rank(one) < rank(other) ? other : one;
}

}  // namespace everstep::cli
