#include "serve/api_call.h"

#include "base/sha256.h"

namespace everstep {

std::string ApiCall::IdOfKey() const {
  return idempotency_.under_way() ? ToHex(idempotency_.key()) : std::string();
}

void ApiCall::Json(int status, std::string body, HttpHeaders headers) {
  ServerResponse response;
  response.status = status;
  response.headers = std::move(headers);
  response.headers.emplace_back("Content-Type", "application/json");
  response.body = std::move(body);
  Reply(std::move(response));
}

void ApiCall::Reply(ServerResponse response) { Send(std::move(response), {}); }

void ApiCall::Fail(const Error& error) {
  if (KindOf(error.code) == ErrorKind::kStore) store_error_ = error.message;
  Fail(ProblemOf(error));
}

void ApiCall::Fail(HttpCode code, std::string detail) { Fail(ProblemOf(code, std::move(detail))); }

void ApiCall::Fail(const Problem& problem) {
  Send(ToResponse(problem, trace_.trace_id), problem.code);
}

void ApiCall::FailForMemory() {
  Fail(HttpCode::kOverloaded, "the requests in flight use up the server's memory; try again");
}

void ApiCall::Send(ServerResponse response, std::string_view code) {
  // What a reading call makes can be made again. Other calls have done their work and report it.
  const bool reads = request().method == "GET" || request().method == "HEAD";
  if (reads && !ChargeAnswer(response.body.size())) return FailForMemory();
  observer_.Answered(*this, response.status, code);
  share_.Release();
  if (!idempotency_.under_way()) return http_.Reply(std::move(response));
  auto kept = std::make_shared<ServerResponse>(std::move(response));
  idempotency_.Finish(*kept, keeping_,
                      [self = shared_from_this(), kept] { self->http_.Reply(std::move(*kept)); });
}

std::shared_ptr<ReplyStream> ApiCall::Stream(ServerResponse head) {
  observer_.Answered(*this, head.status, {});
  share_.Release();
  return http_.Stream(std::move(head));
}

}  // namespace everstep
