#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "everstep/client.h"
#include "everstep/result.h"
#include "net/http_client.h"
#include "net/http_connection.h"
#include "wire/wire.h"

namespace everstep {

// Sends requests to a server's API and converts problem responses to errors. Thread-safe.
class ApiClient {
 public:
  explicit ApiClient(ClientOptions options);

  struct Call {
    std::string method = "GET";
    std::string path{};  // "/v1/…", including the query
    std::string body{};
    std::string content_type = "application/json";
    std::string idempotency_key{};            // empty: none
    std::chrono::milliseconds extra_wait{0};  // added to the timeout, for long polls
  };
  // Returns the body of a 2xx response. A request that is safe to repeat (GET, or with an
  // idempotency key) and got no response is retried a few times at once, then for as long as
  // ClientOptions::ask_again allows.
  Result<std::string> Send(const Call& call);

  using RequestId = HttpClient::RequestId;
  using Done = std::function<void(Result<std::string>)>;
  // Like Send, but asynchronous and without retries. `done` is called exactly once, on the client's
  // thread or in the destructor, and must not block.
  RequestId SendLater(const Call& call, Done done);
  // Like Send, but on the caller's connection and without retries.
  Result<std::string> SendOn(HttpConnection& connection, const Call& call) const;
  // Ends the request with kServerUnavailable, unless it has already ended.
  void Cancel(RequestId id) { http_.Cancel(id); }

  static std::unique_ptr<HttpConnection> NewConnection();

  template <typename T>
  Result<T> Get(std::string path) {
    const auto body = Send({.path = std::move(path)});
    if (!body) return body.error();
    return FromWire<T>(*body, UnknownMembers::kIgnore);
  }
  template <typename T>
  Result<T> Post(Call call) {
    call.method = "POST";
    const auto body = Send(call);
    if (!body) return body.error();
    return FromWire<T>(*body, UnknownMembers::kIgnore);
  }

 private:
  HttpRequest RequestOf(const Call& call) const;
  HttpOutcome Exchange(const Call& call, int tries);
  Result<std::string> AnswerOf(HttpOutcome outcome) const;

  const ClientOptions options_;
  HttpClient http_;
  std::atomic<bool> has_answered_ = false;
};

// Percent-encodes `text` for use as a path segment or a query parameter value.
std::string EncodeForUrl(std::string_view text);

// Builds "?name=value&…". Omits parameters with an empty value.
class QueryWriter {
 public:
  void Add(std::string_view name, std::string_view value);
  void Add(std::string_view name, std::uint64_t value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace everstep
