#include "serve/api_call.h"

#include "base/sha256.h"
#include "event/identifier.h"

namespace everstep {

std::string ApiCall::IdOfKey() const {
  std::string_view key = request().Header("idempotency-key");
  if (key.size() >= 2 && key.front() == '"' && key.back() == '"') {
    key = key.substr(1, key.size() - 2);
  }
  if (key.empty()) return {};
  // A key may have characters that an id has not.
  return IsIdentifier(key) ? std::string(key) : ToHex(Sha256(key));
}

void ApiCall::Json(int status, std::string body, HttpHeaders headers) {
  ServerResponse response;
  response.status = status;
  response.headers = std::move(headers);
  response.headers.emplace_back("Content-Type", "application/json");
  response.body = std::move(body);
  Reply(std::move(response));
}

void ApiCall::Reply(ServerResponse response) {
  idempotency_.Finish(response);
  observer_.Answered(*this, response.status, {});
  http_.Reply(std::move(response));
}

void ApiCall::Fail(const Error& error) { Fail(ProblemOf(error)); }

void ApiCall::Fail(HttpCode code, std::string detail) { Fail(ProblemOf(code, std::move(detail))); }

void ApiCall::Fail(const Problem& problem) {
  ServerResponse response = ToResponse(problem, trace_.trace_id);
  idempotency_.Finish(response);
  observer_.Answered(*this, response.status, problem.code);
  http_.Reply(std::move(response));
}

std::shared_ptr<ReplyStream> ApiCall::Stream(ServerResponse head) {
  observer_.Answered(*this, head.status, {});
  return http_.Stream(std::move(head));
}

}  // namespace everstep
