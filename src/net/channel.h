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

// A connected socket, plain or TLS, that never blocks. One thread, on which SIGPIPE is
// blocked, but for what is said.
class Channel {
 public:
  enum class Outcome : std::uint8_t { kOk, kWouldBlock, kEnd, kBroken };

  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}
  // From here on everything goes through the session. Before the first Read.
  void Secure(SslPtr session) { session_ = std::move(session); }

  int fd() const { return fd_.get(); }
  bool secure() const { return session_ != nullptr; }
  // kOk: `read` bytes, at least one. kEnd: the other side sends no more.
  Outcome Read(std::span<char> buffer, std::size_t& read);
  // Writes from the front of the queue. kOk: `written` bytes, at least one.
  Outcome Write(OutputQueue& queue, std::size_t& written);
  // Of a plain one, on any thread, while nobody else writes or closes it: how much of it was sent.
  std::size_t SendNow(std::string_view bytes) const;
  // False: the keys are not agreed yet; Read does it.
  bool established() const {
    return session_ == nullptr || SSL_is_init_finished(session_.get()) == 1;
  }
  // No more is written; the other side sees the end.
  void EndWriting();
  void Close();

 private:
  Outcome OutcomeOf(int result);

  UniqueFd fd_;
  SslPtr session_;
};

}  // namespace everstep
