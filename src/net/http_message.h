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
  std::chrono::milliseconds connect_timeout{10'000};  // of connecting
  std::size_t response_bytes_max = 16 << 20;
  std::uint32_t redirects_max = 5;  // zero: redirects are returned, not followed
  std::string proxy;                // empty: none; the environment is ignored
  std::string ca_file{};            // CA certificate bundle (PEM); empty: the system's
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
  std::string url;  // where the answer came from, after redirects

  // Returns the first header of that name (lower case), or an empty text.
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

enum class HttpFailure : std::uint8_t {
  kNone,
  kBadRequest,         // invalid URL, method or header: will fail again
  kDns,                // the host's name cannot be resolved
  kConnect,            // no connection, or it broke before the answer was complete
  kTls,                // the certificate or the handshake
  kTimeout,            // `timeout` or `connect_timeout` has expired
  kTooLarge,           // the answer has more than `response_bytes_max` bytes
  kAddressNotAllowed,  // the policy refuses every address of the host
  kRedirect,           // too many redirects, or one that is not followed
  kCancelled,
};

// How a request ended: with an answer of any status, or with a failure.
struct HttpOutcome {
  HttpFailure failure = HttpFailure::kNone;
  std::string message;    // of a failure
  bool connected = true;  // of a failure: the server may have the request
  HttpResponse response;  // of an answer
};

}  // namespace everstep
