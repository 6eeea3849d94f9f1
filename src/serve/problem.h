#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/error.h"
#include "net/http_server.h"

namespace everstep {

// Error codes that only HTTP needs. Each has a page docs/errors/<NAME>.md, like every ErrorCode.
enum class HttpCode : std::uint8_t {
  kBadRequest,
  kMethodNotAllowed,
  kPreconditionFailed,
  kIdempotencyKeyInvalid,
  kIdempotencyKeyInUse,
  kIdempotencyKeyReused,
  kIdempotencyAnswerGone,
  kWebhookSignatureInvalid,
  kArtifactDamaged,
  kNotReady,
  kContentTooLarge,
  kOverloaded,
};

inline constexpr int kHttpCodeCount = static_cast<int>(HttpCode::kOverloaded) + 1;

// "METHOD_NOT_ALLOWED" and so on; stable, part of the API.
std::string_view Name(HttpCode code);

// An error response as in RFC 9457.
struct Problem {
  int status = 500;
  std::string_view code;   // lives as long as the process, like the title
  std::string_view title;  // the same for every problem of the code
  std::string detail;      // specific to this error; safe to show to the caller
  std::vector<Fault> faults;
  std::chrono::milliseconds retry_after{0};  // zero: no Retry-After
  HttpHeaders headers;                       // in addition to those of every problem
};

// What a caller may learn about an error. Details of internal errors (5xx) are left out because
// they may contain file names; log the error instead. A run of another tenant gets the same answer
// as a missing run.
Problem ProblemOf(const Error& error);
Problem ProblemOf(HttpCode code, std::string detail);
// A 405; `allow` is the header's value: "GET, HEAD".
Problem MethodNotAllowed(std::string_view allow);

// The status that ProblemOf uses.
int StatusOf(ErrorCode code);

// Formats application/problem+json, which caches must not store. Writes at most 100 faults, and
// leaves out an empty trace id.
ServerResponse ToResponse(const Problem& problem, std::string_view trace_id);

}  // namespace everstep
