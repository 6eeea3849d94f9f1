#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace everstep {

// A TCP connection that says what the test wants to say, right or wrong, and reads HTTP answers. No
// call waits longer than ten seconds; then what it returns is incomplete.
class SocketClient {
 public:
  struct Answer {
    int status = 0;                              // zero: the connection ended, or nothing came
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
    bool whole = false;  // the body came to its end
  };

  // "127.0.0.1:80". `receive_bytes`: a small buffer makes a slow reader; zero: the system's.
  explicit SocketClient(const std::string& address, int receive_bytes = 0);
  SocketClient(SocketClient&& other) noexcept;
  ~SocketClient();
  SocketClient& operator=(SocketClient&&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  // False: the other side has closed.
  bool Send(std::string_view bytes);
  // Sends no more; still reads.
  void EndSending();
  // Closes such that the other side sees a reset.
  void Reset();
  Answer ReadAnswer(bool head_only = false);
  // One line, without its end; empty: an empty line, or nothing comes any more.
  std::string ReadLine();
  // What has come, at least one byte; empty: nothing comes any more.
  std::string ReadSome();
  // All that comes until the other side closes.
  std::string ReadToEnd();
  // True: the other side has closed and nothing is left to read.
  bool AtEnd();
  // At least one more byte into the buffer; false: there is none.
  bool Fill();

 private:
  std::string ReadBytes(std::size_t count, bool& whole);
  std::string ReadChunks(bool& whole);

  int fd_ = -1;
  bool connected_ = false;
  std::string buffer_;
};

// "GET /path HTTP/1.1" with a Host and these header lines ("Name: value\r\n" each).
std::string GetText(std::string_view path, std::string_view headers = {});
std::string PostText(std::string_view path, std::string_view body, std::string_view headers = {});

}  // namespace everstep
