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

// Keep-alive connections to one server, driven by one thread and as little else as possible: what
// is measured is the server. Aborts when the server goes away.
class LoadClient {
 public:
  struct Answer {
    int status = 0;
    std::string_view body;  // until the callback returns
  };
  // The next request of a connection, as it goes over the wire, which stays until it is answered;
  // nothing: none for now.
  using Next = std::function<std::optional<std::string_view>(std::size_t connection)>;
  using Answered = std::function<void(std::size_t connection, const Answer& answer)>;

  // "127.0.0.1:7377"
  LoadClient(const std::string& address, std::size_t connections);

  // One request at a time on each connection, until `over` says so and all are answered. Who had no
  // request is asked again every millisecond, after `over`.
  void Run(const Next& next, const Answered& answered, const std::function<bool()>& over);

  // One request, one answer, on the first connection.
  std::string Call(const std::string& request, int expected_status);

  static std::string Get(std::string_view target);
  static std::string Post(std::string_view target, std::string_view body);

 private:
  struct Connection {
    UniqueFd fd;
    std::string_view output;  // not taken by the socket yet
    std::string input;
    bool busy = false;
  };

  // All that have something to send, together.
  void SendOutput();
  // Takes what has come; true: an answer is whole.
  bool Read(Connection& connection, Answer& answer);

  UniqueFd poll_;
  std::vector<Connection> connections_;
  std::vector<Connection*> sending_;
  SendBatch batch_;
  std::size_t busy_ = 0;
};

// A connection to "host:port" of this machine.
UniqueFd ConnectTo(const std::string& address);

}  // namespace everstep::cli
