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
  bool queue_allow_private = false;  // messages may also go to private addresses of other machines
  bool authentication = true;        // if false, listens on loopback addresses only
};

// Checks everything about `options` that can be checked without starting a server: addresses are
// valid, addresses without authentication are loopback, TLS files are readable and match. Returns
// kInvalidArgument with every fault; a fault's pointer is the key of the setting.
Status CheckServable(const ServerOptions& options);

// Everything of `everstep serve` except the command line. Runs until it is destroyed.
class Server {
 public:
  // Opens the store, resumes the runs that were in progress, and listens. Fails as CheckServable
  // does, or with the error of the part that could not be opened.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  virtual ~Server() = default;

  virtual std::vector<std::string> addresses() const = 0;
  // The file with the first admin's token. Empty if it was moved away or none is needed.
  virtual std::string admin_token_path() const = 0;
  virtual Engine& engine() = 0;
  // Stops accepting requests, answers those already received and lets steps finish. Returns false
  // if something was still in flight after `wait`; the next process delivers it again.
  virtual bool Drain(std::chrono::milliseconds wait) = 0;
  virtual Status ReloadCertificate() = 0;
};

// Whether "host" or "host:port" is reachable from this machine only. IPv6 addresses have brackets.
bool IsLoopback(std::string_view address);

}  // namespace everstep
