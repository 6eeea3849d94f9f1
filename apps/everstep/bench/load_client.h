#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "net/send_batch.h"

namespace everstep::cli {

// Keep-alive connections to one server, driven by one thread with as little work as possible, so
// that the server is measured and not the client. Answers must have a Content-Length or no body.
// Aborts if the server closes a connection.
class LoadClient {
 public:
  struct Answer {
    int status = 0;
    std::string_view body;  // valid until the callback returns
  };
  // Returns the next request of a connection in wire format, which must stay valid until it is
  // answered, or nothing if there is none for now.
  using Next = std::function<std::optional<std::string_view>(std::size_t connection)>;
  using Answered = std::function<void(std::size_t connection, const Answer& answer)>;

  // "127.0.0.1:7377"
  LoadClient(const std::string& address, std::size_t connections);

  // Sends one request at a time on each connection, until `over` returns true and all requests are
  // answered. While a connection has no request, `over` and `next` are called every millisecond.
  void Run(const Next& next, const Answered& answered, const std::function<bool()>& over);

  // Sends one request on the first connection and returns the body of the answer. Aborts if the
  // status is not the expected one.
  std::string Call(const std::string& request, int expected_status);

  static std::string Get(std::string_view target);
  static std::string Post(std::string_view target, std::string_view body);

 private:
  struct Connection {
    UniqueFd fd;
    std::string_view output;  // not yet written to the socket
    std::string input;
    bool busy = false;
  };

  // Sends the output of all connections in `sending_`.
  void SendOutput();
  // Reads what has arrived. Returns whether the answer is complete.
  bool Read(Connection& connection, Answer& answer);

  UniqueFd poll_;
  std::vector<Connection> connections_;
  std::vector<Connection*> sending_;
  SendBatch batch_;
  std::size_t busy_ = 0;
};

// Connects to an IPv4 "address:port". Returns an invalid descriptor if that is not possible.
UniqueFd ConnectTo(const std::string& address);

}  // namespace everstep::cli
