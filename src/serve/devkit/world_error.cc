#include "serve/devkit/world_error.h"

#include <algorithm>

#include "serve/problem.h"

namespace everstep {

void WorldError::Write(CborWriter& cbor) const {
  cbor.BeginMap();
  cbor.Member("name", name);
  cbor.Member("status", static_cast<std::uint64_t>(status));
  cbor.Member("message", message);
  if (retry_after > 0) cbor.Member("retryAfter", static_cast<std::uint64_t>(retry_after));
  if (!code.empty()) cbor.Member("code", code);
  cbor.End();
}

WorldError WorldErrorOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kRunExpired:
      return WorldError::Expired(error.message);
    case ErrorCode::kRunTerminal:
    case ErrorCode::kStepTerminal:
    case ErrorCode::kRunAlreadyExists:
      return WorldError::Conflict(error.message);
    case ErrorCode::kRunPaused:
      return WorldError::Throttled(error.message, 1);
    default:
      break;
  }
  const Problem problem = ProblemOf(error);
  WorldError answer;
  answer.status = problem.status;
  answer.message = problem.detail;
  for (const Fault& fault : problem.faults) {
    answer.message.append("; ").append(fault.pointer).append(" ").append(fault.message);
  }
  answer.code = Name(error.code);
  if (error.retry_after.count() > 0) {
    answer.retry_after = static_cast<std::uint32_t>(
        std::chrono::ceil<std::chrono::seconds>(error.retry_after).count());
  } else if (problem.status == 429 || problem.status == 503) {
    answer.retry_after = 1;
  }
  return answer;
}

}  // namespace everstep
