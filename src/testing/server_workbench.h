#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/value.h"
#include "net/http_message.h"
#include "serve/server.h"
#include "testing/socket_client.h"
#include "testing/temporary_directory.h"

namespace everstep {

// An answer of a server under test.
struct ServerReply {
  int status = 0;                              // zero: there was none
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string Header(const std::string& name) const;
  Value Json() const;                        // undefined: the body is none
  std::string Text(std::string_view) const;  // a member of it as text; empty: not there
  std::string Code() const { return Text("code"); }
  // Status and body without what differs from call to call.
  std::string Comparable() const;
};

// A server in this process with a folder of its own, and tokens for everybody. Requests go over
// real sockets, one connection at a time. One thread.
class ServerWorkbench {
 public:
  struct Request {
    std::string method = "GET";
    std::string path{};
    std::string body{};
    HttpHeaders headers{};
    std::string token{};  // empty: none is sent
  };

  // `options` may say anything but where to listen and where data lies.
  explicit ServerWorkbench(ServerOptions options = {});

  Server& server() { return *server_; }
  Engine& engine() { return server_->engine(); }
  std::string address() const { return server_->addresses().front(); }
  std::string url() const { return "http://" + address(); }
  const std::string& directory() const { return directory_.path(); }
  // Ends the server and starts it again on the same folder. `options` replace those before.
  void Restart();
  void Restart(ServerOptions options);
  void Stop() { server_.reset(); }

  const std::string& admin() const { return admin_; }
  // A token with one role for a tenant; the same one for the same two.
  std::string Token(const std::string& tenant, const std::string& role);

  ServerReply Send(const Request& request);
  ServerReply Get(const std::string& token, const std::string& path, HttpHeaders headers = {});
  ServerReply Post(const std::string& token, const std::string& path, const std::string& body,
                   HttpHeaders headers = {});
  SocketClient Connect(int receive_bytes = 0) const {
    return SocketClient(address(), receive_bytes);
  }

  // ---- what many tests begin with; each expects to come through
  // Starts a run of the document and answers its id.
  std::string StartRun(const std::string& token, const std::string& plan,
                       const std::string& inputs = "");
  // Waits for the end and answers the status.
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

// The bytes of a request as Send writes them.
std::string RequestText(const ServerWorkbench::Request& request);

}  // namespace everstep
