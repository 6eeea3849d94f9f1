#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace everstep {

// A TCP connection that sends whatever the test wants, valid or not, and reads HTTP answers. No
// call blocks longer than ten seconds; after that it returns an incomplete result.
class SocketClient {
 public:
  struct Answer {
    int status = 0;                              // zero if the connection ended or nothing arrived
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
    bool whole = false;  // the body is complete
  };

  // `address` like "127.0.0.1:80". A small `receive_bytes` makes a slow reader; zero: the system's
  // default.
  explicit SocketClient(const std::string& address, int receive_bytes = 0);
  SocketClient(SocketClient&& other) noexcept;
  ~SocketClient();
  SocketClient& operator=(SocketClient&&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  // Returns false if the peer has closed.
  bool Send(std::string_view bytes);
  // Sends no more; reading still works.
  void EndSending();
  // Closes so that the peer sees a reset.
  void Reset();
  Answer ReadAnswer(bool head_only = false);
  // Reads one line without its line end; empty for an empty line or at the end of the stream.
  std::string ReadLine();
  // Reads what is available, at least one byte; empty at the end of the stream.
  std::string ReadSome();
  // Reads until the peer closes.
  std::string ReadToEnd();
  // Returns whether the peer has closed and nothing is left to read.
  bool AtEnd();
  // Reads at least one more byte into the buffer. Returns false at the end of the stream.
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
