#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "net/output_queue.h"
#include "net/tls_context.h"

namespace everstep {

// A connected non-blocking socket, plain or TLS. Unless noted otherwise, used by one thread, on
// which SIGPIPE is blocked.
class Channel {
 public:
  enum class Outcome : std::uint8_t { kOk, kWouldBlock, kEnd, kBroken };

  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}
  // From now on all data goes through the session. Must be called before the first Read.
  void Secure(SslPtr session) { session_ = std::move(session); }

  int fd() const { return fd_.get(); }
  bool secure() const { return session_ != nullptr; }
  // kOk: `read` bytes were read, at least one. kEnd: the peer sends no more.
  Outcome Read(std::span<char> buffer, std::size_t& read);
  // Writes from the front of the queue and consumes it. kOk: `written` bytes, at least one.
  Outcome Write(OutputQueue& queue, std::size_t& written);
  // Sends on a plain channel without blocking and returns the number of bytes sent. May be called
  // on any thread while nobody else writes to the channel or closes it.
  std::size_t SendNow(std::string_view bytes) const;
  // False while the TLS handshake is unfinished; Read performs it.
  bool established() const {
    return session_ == nullptr || SSL_is_init_finished(session_.get()) == 1;
  }
  // Ends writing: the peer sees the end of the data.
  void EndWriting();
  void Close();

 private:
  Outcome OutcomeOf(int result);

  UniqueFd fd_;
  SslPtr session_;
};

}  // namespace everstep
