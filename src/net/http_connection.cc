#include "net/http_connection.h"

#include <curl/curl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "net/http_answer_reader.h"
#include "net/http_text.h"
#include "net/http_transfer.h"

namespace everstep {
namespace {

constexpr std::size_t kReceiveBytes = 64 << 10;

HttpOutcome FailureWith(HttpFailure failure, std::string message) {
  HttpOutcome outcome;
  outcome.failure = failure;
  outcome.message = std::move(message);
  return outcome;
}

// "http://host:port/path?query" in its parts.
struct Target {
  std::string_view host;
  std::string_view path;
};

std::optional<Target> TargetOf(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos || !IsFieldText(url)) return std::nullopt;
  url.remove_prefix(scheme + 3);
  const std::size_t end = std::min(url.find_first_of("/?"), url.size());
  const std::string_view host = url.substr(0, end);
  if (host.empty() || host.find_first_of("@ ") != std::string_view::npos) return std::nullopt;
  return Target{host, url.substr(end)};
}

bool WriteRequest(const HttpRequest& request, std::string& out) {
  const auto target = TargetOf(request.url);
  if (!target || !IsToken(request.method)) return false;
  out.clear();
  out.append(request.method).append(target->path.starts_with('/') ? " " : " /");
  out.append(target->path).append(" HTTP/1.1\r\nHost: ").append(target->host);
  for (const auto& [name, value] : request.headers) {
    if (!IsToken(name) || !IsFieldText(value)) return false;
    out.append("\r\n").append(name).append(": ").append(value);
  }
  if (!request.body.empty() || request.method == "POST") {
    out.append("\r\nContent-Length: ").append(std::to_string(request.body.size()));
  }
  out.append("\r\n\r\n").append(request.body);
  return true;
}

}  // namespace

struct HttpConnection::Deadline {
  std::chrono::steady_clock::time_point at;
  std::chrono::milliseconds timeout;
};

struct HttpConnection::Curl {
  explicit Curl(const AddressPolicy& policy) : guard(policy), handle(curl_easy_init()) {
    EVERSTEP_ASSERT(handle != nullptr);
  }
  ~Curl() { curl_easy_cleanup(handle); }
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;

  AddressGuard guard;
  CURL* const handle;
  std::array<char, CURL_ERROR_SIZE> reason{};
};

HttpConnection::HttpConnection(AddressPolicy policy)
    : policy_(std::move(policy)), cancel_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  EVERSTEP_ASSERT(cancel_);
}

HttpConnection::~HttpConnection() = default;

void HttpConnection::Cancel() {
  cancelled_.store(true);
  const std::uint64_t one = 1;
  EVERSTEP_ASSERT(::write(cancel_.get(), &one, sizeof(one)) == sizeof(one));
}

HttpOutcome HttpConnection::Exchange(const HttpRequest& request) {
  HttpOutcome outcome;
  const Deadline deadline{SteadyNow() + request.timeout, request.timeout};
  if (!WriteRequest(request, text_)) {
    return FailureWith(HttpFailure::kBadRequest,
                       "the URL, the method or a header of the request is invalid");
  }
  if (curl_ != nullptr && IsStale()) Close();
  if (curl_ == nullptr && !Open(request, outcome)) return outcome;
  HttpAnswerReader answer(request.method != "HEAD", request.response_bytes_max);
  if (!Send(text_, deadline, outcome) || !Receive(deadline, answer, outcome)) {
    Close();
    return outcome;
  }
  if (!answer.keeps_connection()) Close();
  outcome.response = answer.TakeResponse();
  outcome.response.url = request.url;
  return outcome;
}

bool HttpConnection::Open(const HttpRequest& request, HttpOutcome& failure) {
  InitialiseCurl();
  curl_ = std::make_unique<Curl>(policy_);
  CURL* const handle = curl_->handle;
  SetConnecting(handle, request, curl_->guard);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, curl_->reason.data());
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_CONNECT_ONLY, 1L);
  // Exchange writes HTTP/1.1 itself.
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  const CURLcode code = curl_easy_perform(handle);
  curl_socket_t socket = CURL_SOCKET_BAD;
  if (code == CURLE_OK) curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &socket);
  if (socket == CURL_SOCKET_BAD) {
    const std::string reason =
        curl_->reason[0] != '\0' ? curl_->reason.data() : curl_easy_strerror(code);
    failure = curl_->guard.refused.empty()
                  ? FailureWith(FailureOf(code), reason)
                  : FailureWith(HttpFailure::kAddressNotAllowed,
                                "connecting to " + curl_->guard.refused + " is not allowed");
    Close();
    return false;
  }
  socket_ = socket;
  return true;
}

// No answer is outstanding, so anything that can be read means that the connection is no longer
// usable.
bool HttpConnection::IsStale() const {
  pollfd watched{socket_, POLLIN, 0};
  return ::poll(&watched, 1, 0) != 0;
}

bool HttpConnection::Send(std::string_view bytes, const Deadline& deadline, HttpOutcome& failure) {
  while (!bytes.empty()) {
    std::size_t sent = 0;
    const CURLcode code = curl_easy_send(curl_->handle, bytes.data(), bytes.size(), &sent);
    if (code == CURLE_OK) {
      bytes.remove_prefix(sent);
    } else if (code != CURLE_AGAIN) {
      failure = FailureWith(HttpFailure::kConnect, curl_easy_strerror(code));
      return false;
    } else if (!WaitFor(POLLOUT, deadline, failure)) {
      return false;
    }
  }
  return true;
}

bool HttpConnection::Receive(const Deadline& deadline, HttpAnswerReader& answer,
                             HttpOutcome& failure) {
  std::array<char, kReceiveBytes> buffer;
  while (true) {
    std::size_t received = 0;
    const CURLcode code = curl_easy_recv(curl_->handle, buffer.data(), buffer.size(), &received);
    if (code == CURLE_AGAIN) {
      if (!WaitFor(POLLIN, deadline, failure)) return false;
      continue;
    }
    if (code != CURLE_OK || received == 0) {
      failure =
          FailureWith(HttpFailure::kConnect, code == CURLE_OK ? "the server closed the connection"
                                                              : curl_easy_strerror(code));
      return false;
    }
    switch (answer.Read({buffer.data(), received})) {
      case HttpAnswerReader::Outcome::kMore:
        continue;
      case HttpAnswerReader::Outcome::kDone:
        return true;
      case HttpAnswerReader::Outcome::kMalformed:
        failure = FailureWith(HttpFailure::kConnect, "the answer is not valid HTTP");
        return false;
      case HttpAnswerReader::Outcome::kTooLarge:
        failure = FailureWith(HttpFailure::kTooLarge, "the answer is too large");
        return false;
    }
  }
}

bool HttpConnection::WaitFor(short events, const Deadline& deadline, HttpOutcome& failure) const {
  std::array<pollfd, 2> watched{{{socket_, events, 0}, {cancel_.get(), POLLIN, 0}}};
  while (true) {
    if (cancelled_.load()) {
      failure = FailureWith(HttpFailure::kCancelled, "the request was cancelled");
      return false;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.at - SteadyNow());
    if (left.count() <= 0) {
      failure = FailureWith(HttpFailure::kTimeout,
                            "no answer within " + std::to_string(deadline.timeout.count()) + " ms");
      return false;
    }
    const int limit = static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
    if (::poll(watched.data(), watched.size(), limit) > 0 && watched[0].revents != 0) return true;
  }
}

void HttpConnection::Close() {
  curl_.reset();
  socket_ = -1;
}

}  // namespace everstep
