#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace everstep {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // in order; may repeat

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http or https
  HttpHeaders headers;
  std::string body;
  std::chrono::milliseconds timeout{30'000};          // of everything, redirects included
  std::chrono::milliseconds connect_timeout{10'000};  // of one connection
  std::size_t response_bytes_max = 16 << 20;
  std::uint32_t redirects_max = 5;  // zero: a redirect is an answer like any other
  std::string proxy;                // empty: none, whatever the environment says
  std::string ca_file{};            // PEM: who vouches for the server; empty: the system's
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
  std::string url;  // where the answer came from, after redirects

  // The first of that name (lower case); empty: none.
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

enum class HttpFailure : std::uint8_t {
  kNone,
  kBadRequest,         // the URL, a header: the same request will fail again
  kDns,                // the host's name has no address
  kConnect,            // no connection, or it broke before the answer was complete
  kTls,                // the certificate or the handshake
  kTimeout,            // `timeout` or `connect_timeout` is over
  kTooLarge,           // the answer has more than `response_bytes_max` bytes
  kAddressNotAllowed,  // the policy refuses every address of the host
  kRedirect,           // too many redirects, or one that is not followed
  kCancelled,
};

// How a request ended: with an answer of any status, or with a failure.
struct HttpOutcome {
  HttpFailure failure = HttpFailure::kNone;
  std::string message;    // of a failure
  bool connected = true;  // of a failure: the request may have been taken
  HttpResponse response;  // of an answer
};

}  // namespace everstep
