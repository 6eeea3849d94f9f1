#include "frames.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace everstep::cli {
namespace {

constexpr std::size_t kLengthBytes = 4;

std::uint32_t LengthAt(const char* bytes) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

int SendFrame(int socket, Frame::Kind kind, std::string_view content) {
  if (content.size() >= kFrameBytesMax) return EMSGSIZE;
  std::string bytes;
  bytes.reserve(kLengthBytes + 1 + content.size());
  const auto length = static_cast<std::uint32_t>(content.size() + 1);
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes.push_back(static_cast<char>(length >> (8 * i) & 0xff));
  }
  bytes.push_back(static_cast<char>(kind));
  bytes.append(content);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t sent = send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool FrameReader::Receive() {
  std::array<char, 64 << 10> piece;
  while (true) {
    const ssize_t got = recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes_.append(piece.data(), static_cast<std::size_t>(got));
      const bool has_length = bytes_.size() - taken_ >= kLengthBytes;
      if (has_length && LengthAt(bytes_.data() + taken_) > kFrameBytesMax) return false;
      if (static_cast<std::size_t>(got) < piece.size()) return true;
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
}

std::optional<Frame> FrameReader::Take() {
  const std::size_t left = bytes_.size() - taken_;
  if (left < kLengthBytes) return std::nullopt;
  const std::size_t length = LengthAt(bytes_.data() + taken_);
  if (length == 0 || length > kFrameBytesMax || left < kLengthBytes + length) return std::nullopt;
  const char* start = bytes_.data() + taken_ + kLengthBytes;
  Frame frame{static_cast<Frame::Kind>(*start), std::string(start + 1, length - 1)};
  taken_ += kLengthBytes + length;
  if (taken_ == bytes_.size()) {
    bytes_.clear();
    taken_ = 0;
  }
  return frame;
}

}  // namespace everstep::cli
