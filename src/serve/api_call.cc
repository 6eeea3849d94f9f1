#include "serve/api_call.h"

namespace everstep {

std::string_view ApiCall::idempotency_key() const {
  std::string_view key = request().Header("idempotency-key");
  if (key.size() >= 2 && key.front() == '"' && key.back() == '"') {
    key = key.substr(1, key.size() - 2);
  }
  return key;
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
