#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace everstep {

// An HTTP/1.1 server on 127.0.0.1 for tests: one request per connection, one thread per connection,
// at most kConnectionsMax at once. The destructor closes all connections and joins the threads.
class LoopbackHttpServer {
 public:
  static constexpr std::size_t kConnectionsMax = 128;

  struct Request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
  };
  struct Response {
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
  };
  // Called on the connection threads.
  using Handler = std::function<Response(const Request&)>;

  explicit LoopbackHttpServer(Handler handler);
  ~LoopbackHttpServer();
  LoopbackHttpServer(const LoopbackHttpServer&) = delete;
  LoopbackHttpServer& operator=(const LoopbackHttpServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string Url(const std::string& target) const {
    return "http://127.0.0.1:" + std::to_string(port_) + target;
  }

 private:
  void Accept();
  void Serve(int connection);

  const Handler handler_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> open_;
  bool closing_ = false;
  std::thread acceptor_;
};

}  // namespace everstep
