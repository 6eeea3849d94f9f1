#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "everstep/engine.h"
#include "everstep/result.h"
#include "net/http_server.h"
#include "queue/message_queue.h"
#include "serve/api.h"
#include "work/remote_work.h"

namespace everstep {

struct ServerOptions {
  EngineOptions engine;
  RemoteWorkOptions work;
  HttpServerOptions http;
  ApiOptions api;
  EventBusOptions bus;
  std::string data_directory;  // for tokens and the audit log
  MessageQueueOptions queue;
  bool queue_allow_private = false;  // messages go to private addresses of other machines too
  bool authentication = true;        // false: on loopback only
};

// Whether a server can be started like this, as far as that can be said without starting one:
// addresses are addresses, without authentication those of loopback; TLS files are there and belong
// together. kInvalidArgument with every fault; its pointer is the key of the setting.
Status CheckServable(const ServerOptions& options);

// Everything of `everstep serve` but the command line. Runs until it is destroyed.
class Server {
 public:
  // Opens the store, goes on with what was running, and listens. CheckServable, or what the parts
  // say.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  virtual ~Server() = default;

  virtual std::vector<std::string> addresses() const = 0;
  // The file with the token of the first admin; empty: it was moved away, or none is needed.
  virtual std::string admin_token_path() const = 0;
  virtual Engine& engine() = 0;
  // Takes no more requests, answers what has come, lets steps finish. False: something was still
  // under way after `wait`; it is delivered again by the next process.
  virtual bool Drain(std::chrono::milliseconds wait) = 0;
  virtual Status ReloadCertificate() = 0;
};

// Whether "host:port" can be reached from this machine alone.
bool IsLoopback(std::string_view address);

}  // namespace everstep
