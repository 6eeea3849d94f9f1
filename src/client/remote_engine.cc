#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "client/api_client.h"
#include "client/remote_log.h"
#include "everstep/client.h"
#include "wire/api_types.h"
#include "wire/engine_types.h"

namespace everstep {
namespace {

constexpr std::chrono::milliseconds kWaitAtOnce{50'000};  // the server allows at most 60 s

std::string RunPath(std::string_view run_id) { return "/v1/runs/" + EncodeForUrl(run_id); }

bool HasEnded(std::string_view status) {
  return status == "COMPLETED" || status == "FAILED" || status == "CANCELLED";
}

class RemoteEngine final : public Engine {
 public:
  explicit RemoteEngine(ClientOptions options) : api_(std::move(options)), log_(api_) {}

  Log& log() override { return log_; }

  Result<StartedRun> Start(const StartRequest& request) override {
    StartBody body;
    body.start = request;
    if (request.plan_ref && request.plan_ref->uri.empty()) {
      body.plan_id = request.plan_ref->plan_id;
      body.plan_version = request.plan_ref->plan_version;
      body.start.plan_ref.reset();
    }
    return api_.Post<StartedRun>(
        {.path = "/v1/runs", .body = ToWire(body), .idempotency_key = NewKey()});
  }

  Result<SignalDecision> Signal(const SignalRequest& request) override {
    SignalRequest named = request;
    if (named.signal_id.empty()) named.signal_id = NewKey();
    return api_.Post<SignalDecision>({.path = RunPath(request.run_id) + "/signals",
                                      .body = ToWire(named),
                                      .idempotency_key = named.signal_id});
  }

  Status Approve(std::string_view run_id, const Actor&, std::string_view reason) override {
    const ReasonBody body{std::string(reason)};
    const auto answer = api_.Send({.method = "POST",
                                   .path = RunPath(run_id) + "/approve",
                                   .body = ToWire(body),
                                   .idempotency_key = NewKey()});
    if (!answer) return answer.error();
    return Ok();
  }

  Result<std::string> Deliver(const HookDelivery& delivery) override {
    ApiClient::Call call{.path = "/v1/hooks/" + EncodeForUrl(delivery.token)};
    call.idempotency_key = delivery.delivery_id.empty() ? NewKey() : delivery.delivery_id;
    switch (delivery.kind) {
      case HookDelivery::Kind::kPayload:
        call.body = delivery.payload.empty() ? "null" : delivery.payload;
        break;
      case HookDelivery::Kind::kFailure:
        call.path += "/fail";
        call.body = ToWire(
            HookFailureBody{delivery.error_code, delivery.error_message, delivery.retryable});
        break;
      case HookDelivery::Kind::kHeartbeat:
        call.path += "/heartbeat";
        call.idempotency_key.clear();  // each one counts, and a further one does no harm
        break;
    }
    auto hook = api_.Post<HookView>(std::move(call));
    if (!hook) return std::move(hook).error();
    return std::move(hook->run_id);
  }

  Result<Explanation> Why(std::string_view run_id) override {
    return api_.Get<Explanation>(RunPath(run_id) + "/why");
  }
  Result<RunView> View(std::string_view run_id) override {
    return api_.Get<RunView>(RunPath(run_id));
  }

  Result<bool> WaitForEnd(std::string_view run_id, std::chrono::milliseconds wait) override {
    const auto until = SteadyNow() + wait;
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - SteadyNow());
      const auto part = std::clamp(left, std::chrono::milliseconds(0), kWaitAtOnce);
      ApiClient::Call call{.path =
                               RunPath(run_id) + "?wait=" + std::to_string(part.count()) + "ms"};
      call.extra_wait = part;
      const auto asked = SteadyNow();
      const auto body = api_.Send(call);
      if (!body) return body.error();
      const auto view = FromWire<RunView>(*body, UnknownMembers::kIgnore);
      if (!view) return view.error();
      if (HasEnded(view->status)) return true;
      // A server that is stopping answers early.
      if (left <= kWaitAtOnce || SteadyNow() < asked + part) return false;
    }
  }

  EngineMetrics Metrics() override { return {}; }  // available from GET /metrics instead
  bool Drain(std::chrono::milliseconds) override { return false; }

 private:
  static std::string NewKey() { return NewUuid(SystemRandom()); }

  ApiClient api_;
  RemoteLog log_;
};

}  // namespace

Result<std::unique_ptr<Engine>> Connect(ClientOptions options) {
  while (options.url.ends_with('/')) options.url.pop_back();
  if (!options.url.starts_with("http://") && !options.url.starts_with("https://")) {
    return Error{ErrorCode::kInvalidArgument,
                 "the server's URL must begin with http:// or https://: '" + options.url + "'",
                 {}};
  }
  return std::unique_ptr<Engine>(std::make_unique<RemoteEngine>(std::move(options)));
}

}  // namespace everstep
