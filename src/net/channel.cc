#include "net/channel.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/assert.h"

namespace everstep {

Channel::Outcome Channel::OutcomeOf(int result) {
  const int error = SSL_get_error(session_.get(), result);
  ERR_clear_error();
  switch (error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Outcome::kWouldBlock;
    case SSL_ERROR_ZERO_RETURN:
      return Outcome::kEnd;
    default:
      return Outcome::kBroken;
  }
}

Channel::Outcome Channel::Read(std::span<char> buffer, std::size_t& read) {
  read = 0;
  if (session_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_read_ex(session_.get(), buffer.data(), buffer.size(), &read);
    return result == 1 ? Outcome::kOk : OutcomeOf(result);
  }
  while (true) {
    const ssize_t result = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (result == 0) return Outcome::kEnd;
    if (result > 0) {
      read = static_cast<std::size_t>(result);
      return Outcome::kOk;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Outcome::kWouldBlock;
    if (errno != EINTR) return Outcome::kBroken;
  }
}

std::size_t Channel::SendNow(std::string_view bytes) const {
  EVERSTEP_ASSERT(session_ == nullptr);
  const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

Channel::Outcome Channel::Write(OutputQueue& queue, std::size_t& written) {
  constexpr std::size_t kPartsMax = 32;
  std::array<iovec, kPartsMax> parts;
  written = 0;
  const std::size_t count = queue.Front(parts);
  if (session_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_write_ex(session_.get(), parts[0].iov_base, parts[0].iov_len, &written);
    if (result != 1) return OutcomeOf(result);
    queue.Consume(written);
    return Outcome::kOk;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  while (true) {
    const ssize_t result =
        count == 1 ? ::send(fd_.get(), parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL)
                   : ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (result > 0) {
      written = static_cast<std::size_t>(result);
      queue.Consume(written);
      return Outcome::kOk;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Outcome::kWouldBlock;
    if (errno != EINTR) return Outcome::kBroken;
  }
}

void Channel::EndWriting() {
  if (session_ != nullptr && established()) {
    ERR_clear_error();
    SSL_shutdown(session_.get());
    ERR_clear_error();
  }
  ::shutdown(fd_.get(), SHUT_WR);
}

void Channel::Close() {
  session_.reset();
  fd_.Close();
}

}  // namespace everstep
