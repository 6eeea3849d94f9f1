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

// Requests to the API of a server, and its problems as errors. Thread-safe.
class ApiClient {
 public:
  explicit ApiClient(ClientOptions options);

  struct Call {
    std::string method = "GET";
    std::string path{};  // "/v1/…" with its query
    std::string body{};
    std::string content_type = "application/json";
    std::string idempotency_key{};            // empty: none
    std::chrono::milliseconds extra_wait{0};  // that the server may take on purpose
  };
  // The body of a 2xx answer. A request that may be repeated (GET, or with an idempotency key) and
  // got no answer is sent again, a few times at once and then as ClientOptions::ask_again says.
  Result<std::string> Send(const Call& call);

  using RequestId = HttpClient::RequestId;
  using Done = std::function<void(Result<std::string>)>;
  // The same without waiting and without repetition. `done` is called once, on the client's thread
  // or the destructor's, and must not block.
  RequestId SendLater(const Call& call, Done done);
  // The same on a connection of the caller's own.
  Result<std::string> SendOn(HttpConnection& connection, const Call& call) const;
  // The request ends with kServerUnavailable, unless it has just ended otherwise.
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

// `text` as one segment of a path, or as the value of a query parameter.
std::string EncodeForUrl(std::string_view text);

// "?name=value&…"; what is empty is left out.
class QueryWriter {
 public:
  void Add(std::string_view name, std::string_view value);
  void Add(std::string_view name, std::uint64_t value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace everstep
