#include "client/api_client.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/value.h"

namespace everstep {
namespace {

constexpr int kTries = 4;
constexpr std::size_t kAnswerBytesMax = 256 << 20;

// The error code for responses without a known ErrorCode, for example from a proxy or from a server
// that is not Everstep.
ErrorCode CodeOfStatus(int status) {
  if (status == 401) return ErrorCode::kUnauthenticated;
  if (status == 403) return ErrorCode::kAuthzDenied;
  if (status == 404 || status == 405) return ErrorCode::kServerUnavailable;
  if (status == 429) return ErrorCode::kAdmissionRejected;
  return status >= 500 ? ErrorCode::kServerUnavailable : ErrorCode::kInvalidArgument;
}

// Reads an RFC 9457 problem document, as written by serve/problem.h.
Error ErrorOf(const HttpResponse& response) {
  const auto problem = ValueFromJson(response.body);
  if (!problem || problem->kind() != Value::Kind::kMap) {
    return {CodeOfStatus(response.status),
            "the server answered with status " + std::to_string(response.status),
            {}};
  }
  const std::string name = ToText(problem->Get("code"));
  const auto code = ErrorCodeNamed(name);
  Error error{code.value_or(CodeOfStatus(response.status)), ToText(problem->Get("detail")), {}};
  if (error.message.empty()) error.message = ToText(problem->Get("title"));
  if (!code && !name.empty()) error.message = name + ": " + error.message;
  const Value faults = problem->Get("faults");
  if (faults.kind() != Value::Kind::kList) return error;
  for (const Value& fault : faults.list()) {
    const auto number = [&fault](const char* member) {
      const Value value = fault.Get(member);
      return value.kind() == Value::Kind::kInt ? static_cast<std::uint32_t>(value.int_value()) : 0;
    };
    error.faults.push_back({ToText(fault.Get("pointer")), ToText(fault.Get("message")),
                            number("line"), number("column")});
  }
  return error;
}

// Returns true if the server could not be reached or did not respond in time, or if the server or a
// proxy reports that it is temporarily unavailable.
bool IsAway(const HttpOutcome& outcome) {
  switch (outcome.failure) {
    case HttpFailure::kNone:
      return outcome.response.status >= 502 && outcome.response.status <= 504;
    case HttpFailure::kDns:
    case HttpFailure::kConnect:
    case HttpFailure::kTimeout:
      return true;
    default:
      return false;
  }
}

AddressPolicy Anywhere() {
  AddressPolicy policy;
  policy.allow_private = true;
  return policy;
}

}  // namespace

ApiClient::ApiClient(ClientOptions options) : options_(std::move(options)), http_(Anywhere()) {}

HttpRequest ApiClient::RequestOf(const Call& call) const {
  HttpRequest request;
  request.method = call.method;
  request.url = options_.url + call.path;
  request.body = call.body;
  request.timeout = options_.timeout + call.extra_wait;
  request.response_bytes_max = kAnswerBytesMax;
  request.redirects_max = 0;
  request.ca_file = options_.certificate_authorities;
  if (!options_.token.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + options_.token);
  }
  if (!call.body.empty()) request.headers.emplace_back("Content-Type", call.content_type);
  if (!call.idempotency_key.empty()) {
    request.headers.emplace_back("Idempotency-Key", call.idempotency_key);
  }
  return request;
}

Result<std::string> ApiClient::AnswerOf(HttpOutcome outcome) const {
  if (outcome.failure != HttpFailure::kNone) {
    return Error{ErrorCode::kServerUnavailable, options_.url + ": " + outcome.message, {}};
  }
  const int status = outcome.response.status;
  if (status >= 200 && status < 300) return std::move(outcome.response.body);
  return ErrorOf(outcome.response);
}

HttpOutcome ApiClient::Exchange(const Call& call, int tries) {
  HttpOutcome outcome;
  for (int tried = 0; tried < tries; ++tried) {
    outcome = http_.SendAndWait(RequestOf(call));
    if (outcome.failure != HttpFailure::kConnect && outcome.failure != HttpFailure::kTimeout) break;
  }
  if (outcome.failure == HttpFailure::kNone) has_answered_ = true;
  return outcome;
}

Result<std::string> ApiClient::Send(const Call& call) {
  const bool repeatable = call.method == "GET" || !call.idempotency_key.empty();
  for (int tried = 1;; ++tried) {
    HttpOutcome outcome = Exchange(call, repeatable ? kTries : 1);
    const bool may_come_back =
        repeatable && has_answered_ && options_.ask_again != nullptr && IsAway(outcome);
    auto answer = AnswerOf(std::move(outcome));
    if (answer || !may_come_back || !options_.ask_again(answer.error(), tried)) return answer;
  }
}

ApiClient::RequestId ApiClient::SendLater(const Call& call, Done done) {
  return http_.Send(RequestOf(call), [this, done = std::move(done)](HttpOutcome outcome) {
    done(AnswerOf(std::move(outcome)));
  });
}

Result<std::string> ApiClient::SendOn(HttpConnection& connection, const Call& call) const {
  return AnswerOf(connection.Exchange(RequestOf(call)));
}

std::unique_ptr<HttpConnection> ApiClient::NewConnection() {
  return std::make_unique<HttpConnection>(Anywhere());
}

std::string EncodeForUrl(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

void QueryWriter::Add(std::string_view name, std::string_view value) {
  if (value.empty()) return;
  text_ += text_.empty() ? '?' : '&';
  text_.append(name).append("=").append(EncodeForUrl(value));
}

void QueryWriter::Add(std::string_view name, std::uint64_t value) {
  Add(name, std::to_string(value));
}

}  // namespace everstep
