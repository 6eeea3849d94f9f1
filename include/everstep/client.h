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
  std::string token;                          // API token; empty: none is sent
  std::string certificate_authorities;        // CA bundle (PEM file); empty: the system's
  std::chrono::milliseconds timeout{30'000};  // per request
  // Called when a server that has answered before is unreachable or reports that it is temporarily
  // unavailable, and the request is safe to repeat. Returns true to send the request again, false
  // to give up and return `error`. May sleep before it returns. `tried` counts from 1. Runs on the
  // calling thread. Empty: the error is returned at once.
  std::function<bool(const Error& error, int tried)> ask_again;
};

// Returns an engine that runs on a remote server. Does not contact the server itself;
// kInvalidArgument: the URL is invalid. The engine is thread-safe.
//
// Each call sends HTTP requests and blocks. Engine calls that change something carry an idempotency
// key, so a request that got no response is repeated without taking effect twice. A PlanRef without
// a URI names a plan registered with the server by its id and version; no version: the newest.
//
// Operations that only the server's own process can do are not available: Backup, Verify, Compact
// and ApplyRetention return kInvalidArgument, Drain returns false, Metrics returns zeros.
// kServerUnavailable: no response. kUnauthenticated: the token is invalid. kAuthzDenied: the token
// does not permit the call.
Result<std::unique_ptr<Engine>> Connect(ClientOptions options);

}  // namespace everstep
