#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "net/http_message.h"
#include "serve/server.h"
#include "testing/socket_client.h"
#include "testing/temporary_directory.h"

namespace everstep {

// A reply of a server under test.
struct ServerReply {
  int status = 0;                              // zero if there was no reply
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string Header(const std::string& name) const;
  Value Json() const;                        // undefined if the body is not JSON
  std::string Text(std::string_view) const;  // a member of the body as text; empty if absent
  std::string Code() const { return Text("code"); }
  // Status and body without the parts that differ from call to call.
  std::string Comparable() const;
};

// A server in this process with its own directory, and tokens for any tenant and role. Requests go
// over real sockets, one connection at a time. Not thread-safe.
class ServerWorkbench {
 public:
  struct Request {
    std::string method = "GET";
    std::string path{};
    std::string body{};
    HttpHeaders headers{};
    std::string token{};  // empty to send none
  };

  // `options` may set anything except the listen address and the data directory.
  explicit ServerWorkbench(ServerOptions options = {});

  Server& server() { return *server_; }
  Engine& engine() { return server_->engine(); }
  std::string address() const { return server_->addresses().front(); }
  std::string url() const { return "http://" + address(); }
  const std::string& directory() const { return directory_.path(); }
  // Stops the server and starts it again on the same directory. `options` replace the previous
  // ones.
  void Restart();
  void Restart(ServerOptions options);
  void Stop() { server_.reset(); }

  const std::string& admin() const { return admin_; }
  // A token with one role for a tenant; the same arguments yield the same token.
  std::string Token(const std::string& tenant, const std::string& role);

  ServerReply Send(const Request& request);
  ServerReply Get(const std::string& token, const std::string& path, HttpHeaders headers = {});
  ServerReply Post(const std::string& token, const std::string& path, const std::string& body,
                   HttpHeaders headers = {});
  SocketClient Connect(int receive_bytes = 0) const {
    return SocketClient(address(), receive_bytes);
  }

  // ---- common first steps of tests; each expects success
  // Starts a run of the document and returns its id.
  std::string StartRun(const std::string& token, const std::string& plan,
                       const std::string& inputs = "");
  // Waits for the run's end and returns its status.
  std::string EndOf(const std::string& token, const std::string& run_id);
  std::string RegisterWorker(const std::string& token, const std::string& kind, int slots = 10);

 private:
  void Start();

  TemporaryDirectory directory_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::optional<SocketClient> connection_;
  std::string admin_;
  std::map<std::string, std::string> tokens_;  // by tenant and role
};

// The bytes of a request as written by Send.
std::string RequestText(const ServerWorkbench::Request& request);

}  // namespace everstep
