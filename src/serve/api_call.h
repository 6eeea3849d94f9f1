#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "everstep/result.h"
#include "net/http_server.h"
#include "serve/access_tokens.h"
#include "serve/idempotency.h"
#include "serve/party_shares.h"
#include "serve/problem.h"
#include "serve/router.h"
#include "serve/trace_context.h"
#include "wire/wire.h"

namespace everstep {

// Notified of every answered call.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void Answered(const class ApiCall& call, int status, std::string_view code) = 0;
};

// One authenticated call in flight: the caller, the request, and the way to answer. Held by whoever
// works on it. Answered once, and only after the answer is kept if the call has an Idempotency-Key.
class ApiCall : public std::enable_shared_from_this<ApiCall> {
 public:
  ApiCall(HttpCall http, RouteMatch match, TraceContext trace, CallObserver& observer)
      : http_(std::move(http)),
        match_(std::move(match)),
        trace_(std::move(trace)),
        observer_(observer) {}

  const ServerRequest& request() const { return http_.request(); }
  const std::string& body() const { return http_.request().body; }
  // Null if the body is part of the request.
  const std::shared_ptr<RequestBody>& streamed_body() const { return http_.body(); }
  const Route& route() const { return *match_.route; }
  const std::string& Parameter(std::string_view name) const { return match_.Parameter(name); }
  const TraceContext& trace() const { return trace_; }
  std::chrono::steady_clock::time_point begun() const { return begun_; }
  // The message of the store's error that the call was answered with. For the log only: the answer
  // does not contain it.
  const std::string& store_error() const { return store_error_; }
  const Caller& caller() const { return caller_; }
  const std::string& tenant() const { return caller_.tenant_id; }
  // Whose work this is. The work of one party takes turns with that of others.
  const std::string& party() const { return party_; }
  void SetParty(std::string party, PartyShares::Share share) {
    party_ = std::move(party);
    share_ = std::move(share);
  }
  bool May(Permission permission) const { return caller_.permissions.Has(permission); }
  void SetCaller(Caller caller) { caller_ = std::move(caller); }
  void SetIdempotency(Idempotency::Call call, Keeping keeping) {
    idempotency_ = std::move(call);
    keeping_ = keeping;
  }
  // See HttpCall.
  HttpCall::Vouched Vouch(const ClientName& client) { return http_.Vouch(client); }
  MemoryCharge::Outcome Charge(std::size_t bytes, MemoryClaim claim) {
    return http_.Charge(bytes, claim);
  }
  bool ReserveAnswer(std::size_t bytes) { return http_.ReserveAnswer(bytes); }
  bool ChargeAnswer(std::size_t bytes) { return http_.ChargeAnswer(bytes); }
  void ReleaseReserve() { http_.ReleaseReserve(); }
  bool is_abandoned() const { return http_.is_abandoned(); }
  // An id for the engine, derived from the request's Idempotency-Key. Empty if there is none.
  std::string IdOfKey() const;

  // ---- answers
  // Runs `work`, which answers, on this thread or the connection's; see HttpCall.
  void AnswerBy(std::unique_ptr<AnswerWork> work) const { http_.AnswerBy(std::move(work)); }
  void Json(int status, std::string body, HttpHeaders headers = {});
  template <typename T>
  void Answer(const T& value, int status = 200) {
    Json(status, ToWire(value));
  }
  void Reply(ServerResponse response);
  void Fail(const Error& error);
  void Fail(HttpCode code, std::string detail);
  void Fail(const Problem& problem);
  void FailForMemory();
  std::shared_ptr<ReplyStream> Stream(ServerResponse head);

  // Parses the body strictly; an empty body is read as {}. Nullopt if the call was answered with an
  // error.
  template <typename T>
  std::optional<T> Read() {
    auto value =
        FromWire<T>(body().empty() ? "{}" : std::string_view(body()), UnknownMembers::kRefuse);
    if (value) return *std::move(value);
    Fail(value.error());
    return std::nullopt;
  }

 private:
  void Send(ServerResponse response, std::string_view code);

  HttpCall http_;
  RouteMatch match_;
  TraceContext trace_;
  CallObserver& observer_;
  const std::chrono::steady_clock::time_point begun_ = SteadyNow();
  std::string store_error_;
  Caller caller_;
  std::string party_;
  PartyShares::Share share_;  // of its party's limit, held until the call is answered
  Idempotency::Call idempotency_;
  Keeping keeping_ = Keeping::kInMemory;
};

using CallPtr = std::shared_ptr<ApiCall>;

}  // namespace everstep
