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

// What only HTTP can say no to. Each has a page docs/errors/<NAME>.md, as every ErrorCode.
enum class HttpCode : std::uint8_t {
  kBadRequest,
  kMethodNotAllowed,
  kPreconditionFailed,
  kIdempotencyKeyInvalid,
  kIdempotencyKeyInUse,
  kIdempotencyKeyReused,
  kIdempotencyAnswerGone,
  kWebhookSignatureInvalid,
  kNotReady,
  kContentTooLarge,
  kOverloaded,
};

inline constexpr int kHttpCodeCount = static_cast<int>(HttpCode::kOverloaded) + 1;

// "METHOD_NOT_ALLOWED" and so on; stable, part of the API.
std::string_view Name(HttpCode code);

// An answer that is an error, RFC 9457.
struct Problem {
  int status = 500;
  std::string_view code;   // lives as long as the process, as does the title
  std::string_view title;  // the same for every problem of the code
  std::string detail;      // of this one; for the caller's eyes
  std::vector<Fault> faults;
  std::chrono::milliseconds retry_after{0};  // zero: no Retry-After
  HttpHeaders headers;                       // besides those that every problem has
};

// What a caller may know of an error. Details of the store's own troubles (5xx) stay here: they
// name files; log the error. A run of another tenant gives the very answer of a run that is not
// there.
Problem ProblemOf(const Error& error);
Problem ProblemOf(HttpCode code, std::string detail);
// 405; `allow` as in the header: "GET, HEAD".
Problem MethodNotAllowed(std::string_view allow);

// The status that ProblemOf gives.
int StatusOf(ErrorCode code);

// application/problem+json; never stored by a cache. At most 100 faults are written out. An empty
// trace id is left out.
ServerResponse ToResponse(const Problem& problem, std::string_view trace_id);

}  // namespace everstep
