#include "work/http_tool.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/encoding.h"
#include "net/retry_after.h"
#include "work/http_request_inputs.h"
#include "work/inputs.h"

namespace everstep {
namespace {

constexpr std::size_t kExcerptBytes = 2048;
constexpr std::uint32_t kAnswerThreads = 2;

enum class ResponseType : std::uint8_t { kAuto, kJson, kText, kBinary };

ResponseType ReadResponseType(Inputs& inputs) {
  const std::string name = inputs.Text("responseType", "auto");
  if (name == "json") return ResponseType::kJson;
  if (name == "text") return ResponseType::kText;
  if (name == "binary") return ResponseType::kBinary;
  if (name != "auto") inputs.Fault("responseType", "must be auto, json, text or binary");
  return ResponseType::kAuto;
}

bool SaysJson(std::string_view content_type) {
  const std::string_view media = content_type.substr(0, content_type.find(';'));
  return media == "application/json" || media.ends_with("+json");
}

Value HeadersValue(const HttpHeaders& headers) {
  ValueMap members;
  for (const auto& [name, bytes] : headers) {
    const std::string value = ValidUtf8(bytes);
    const auto same = std::find_if(members.begin(), members.end(),
                                   [&key = name](const auto& m) { return m.first == key; });
    if (same == members.end()) {
      members.emplace_back(ValidUtf8(name), Value::Text(value));
    } else {
      same->second = Value::Text(same->second.text() + ", " + value);
    }
  }
  return Value::Map(std::move(members));
}

bool RetryableStatus(int status) {
  constexpr std::array<int, 7> kStatuses = {408, 425, 429, 500, 502, 503, 504};
  return std::find(kStatuses.begin(), kStatuses.end(), status) != kStatuses.end();
}

ToolOutcome FailureOutcome(const HttpOutcome& answer) {
  switch (answer.failure) {
    case HttpFailure::kBadRequest:
      return ToolOutcome::BadInput(answer.message);
    case HttpFailure::kDns:
      return ToolOutcome::Failure("HTTP_DNS", answer.message, true);
    case HttpFailure::kTls:
      return ToolOutcome::Failure("HTTP_TLS", answer.message, false);
    case HttpFailure::kTimeout:
      return ToolOutcome::Failure("TIMEOUT", answer.message, true, "TIMEOUT");
    case HttpFailure::kTooLarge:
      return ToolOutcome::Failure("HTTP_TOO_LARGE", answer.message, false, "USER");
    case HttpFailure::kAddressNotAllowed:
      return ToolOutcome::Failure("ADDRESS_NOT_ALLOWED", answer.message, false, "USER");
    case HttpFailure::kRedirect:
      return ToolOutcome::Failure("HTTP_REDIRECT", answer.message, false);
    case HttpFailure::kCancelled:
      return ToolOutcome::Cancelled();
    default:
      return ToolOutcome::Failure("HTTP_CONNECT", answer.message, true);
  }
}

}  // namespace

// The parts of a call that are needed when the response arrives.
struct HttpTool::Plan {
  CallId call = 0;
  Done done;
  std::shared_ptr<const SecretMask> mask;
  ResponseType type = ResponseType::kAuto;
  std::vector<std::int64_t> expected;  // statuses; empty: 200 to 299

  bool Expects(int status) const {
    if (expected.empty()) return status >= 200 && status < 300;
    return std::find(expected.begin(), expected.end(), status) != expected.end();
  }
};

HttpTool::HttpTool(HttpToolOptions options, const ArtifactStore& artifacts, Clock& clock)
    : options_(std::move(options)),
      artifacts_(artifacts),
      clock_(clock),
      threads_(kAnswerThreads),
      client_(options_.addresses, options_.proxies) {}

void HttpTool::Start(ToolCall call, Done done) {
  Inputs inputs(call.inputs);
  HttpRequest request = ReadHttpRequest(inputs, call.task);
  auto plan = std::make_shared<Plan>();
  plan->type = ReadResponseType(inputs);
  plan->expected = inputs.Ints("expectStatus");
  if (!inputs.ok()) return done(ToolOutcome::BadInput(inputs.faults()));
  plan->call = call.id;
  plan->done = std::move(done);
  plan->mask = call.mask;
  const std::shared_ptr<const Plan> kept = std::move(plan);
  // Held during Send, so that the response finds the entry that it removes.
  const std::lock_guard lock(mutex_);
  const auto id = client_.Send(
      std::move(request), [this, kept](HttpOutcome answer) { Answered(kept, std::move(answer)); });
  requests_.emplace(call.id, id);
}

void HttpTool::Cancel(CallId call, bool /*force*/) {
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(call);
  if (found != requests_.end()) client_.Cancel(found->second);
}

void HttpTool::Answered(const std::shared_ptr<const Plan>& plan, HttpOutcome answer) {
  {
    const std::lock_guard lock(mutex_);
    requests_.erase(plan->call);
  }
  if (answer.response.body.size() <= options_.inline_bytes_max) {
    plan->done(Outcome(*plan, std::move(answer)));
    return;
  }
  threads_.Run([this, plan, answer = std::move(answer)]() mutable {
    plan->done(Outcome(*plan, std::move(answer)));
  });
}

ToolOutcome HttpTool::Outcome(const Plan& plan, HttpOutcome answer) const {
  if (answer.failure != HttpFailure::kNone) return FailureOutcome(answer);
  if (!plan.Expects(answer.response.status)) return WrongStatus(plan, answer.response);
  return Success(plan, answer.response);
}

ToolOutcome HttpTool::Success(const Plan& plan, const HttpResponse& response) const {
  const std::string content_type(response.Header("content-type"));
  ToolOutcome outcome;
  Value body;
  std::string name = "body";
  const bool text = plan.type == ResponseType::kText ||
                    (plan.type == ResponseType::kAuto && IsUtf8(response.body));
  const bool json = plan.type == ResponseType::kJson ||
                    (plan.type == ResponseType::kAuto && SaysJson(content_type));
  Result<Value> parsed =
      json && !response.body.empty() ? ValueFromJson(response.body) : Result<Value>(Value::Null());
  if (!parsed && plan.type == ResponseType::kJson) {
    return ToolOutcome::Failure("HTTP_BAD_BODY", "invalid response body: " + parsed.error().message,
                                false);
  }
  if (response.body.size() > options_.inline_bytes_max) {
    const std::string type = content_type.empty() ? "application/octet-stream" : content_type;
    auto stored = artifacts_.Write(plan.mask->Mask(std::string_view(response.body)),
                                   {"body", ValidUtf8(type), ""});
    if (!stored) return ToolOutcome::Failure("ARTIFACT_FAILED", stored.error().message, true);
    body = stored->InResult();
    outcome.artifacts.push_back(*std::move(stored));
  } else if (json && parsed) {
    body = *std::move(parsed);
  } else if (text && plan.type != ResponseType::kBinary) {
    body = Value::Text(ValidUtf8(response.body));
  } else {
    name = "bodyBase64";
    body = Value::Text(Base64(response.body));
  }
  outcome.result = Value::Map(ValueMap{{"status", Value::Int(response.status)},
                                       {"headers", HeadersValue(response.headers)},
                                       {name, std::move(body)}});
  return outcome;
}

ToolOutcome HttpTool::WrongStatus(const Plan& plan, const HttpResponse& response) const {
  ToolOutcome outcome = ToolOutcome::Failure(
      "HTTP_STATUS", "unexpected response status " + std::to_string(response.status),
      RetryableStatus(response.status), response.status < 500 ? "USER" : "SYSTEM");
  // Mask before truncating: a truncated secret would not be found.
  const std::string body = plan.mask->Mask(std::string_view(response.body));
  ValueMap details = {{"status", Value::Int(response.status)},
                      {"url", Value::Text(ValidUtf8(response.url))},
                      {"body", Value::Text(ValidUtf8(body.substr(0, kExcerptBytes)))}};
  if (const std::string_view header = response.Header("retry-after"); !header.empty()) {
    outcome.retry_after = RetryAfter(header, clock_.Now());
  }
  outcome.details = Value::Map(std::move(details));
  return outcome;
}

}  // namespace everstep
