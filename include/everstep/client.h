#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "everstep/engine.h"
#include "everstep/result.h"

namespace everstep {

struct ClientOptions {
  std::string url;                            // "https://everstep.example:7377"
  std::string token;                          // of the API; empty: none is sent
  std::string certificate_authorities;        // a PEM file; empty: the system's
  std::chrono::milliseconds timeout{30'000};  // of one request
  // A server that has answered and now does not, or says that it cannot for now, may be about to
  // come back. Asked before the same request is sent again, if it may be sent again: lets as much
  // time pass as it likes; false: the error is the answer. `tried` counts from 1. Called on the
  // thread of the call. Empty: the error is the answer.
  std::function<bool(const Error& error, int tried)> ask_again;
};

// An engine that is a server elsewhere. Calls are HTTP requests and block; those that change
// something carry an id, so that a request that got no answer is repeated without being done twice.
// What only the server's own process can do (Backup, Verify, Compact, retention, Drain) answers
// kInvalidArgument. A PlanRef without a URI names a plan that is registered with the server, by its
// id and, if not the newest is meant, its version. kServerUnavailable: no answer.
// kUnauthenticated: the token is not valid. kAuthzDenied: it does not allow this. Thread-safe.
Result<std::unique_ptr<Engine>> Connect(ClientOptions options);

}  // namespace everstep
