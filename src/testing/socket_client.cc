#include "testing/socket_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr timeval kPatience{.tv_sec = 60, .tv_usec = 0};

}  // namespace

SocketClient::SocketClient(const std::string& address, int receive_bytes) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  EVERSTEP_ASSERT(::inet_pton(AF_INET, address.substr(0, colon).c_str(), &place.sin_addr) == 1);
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EVERSTEP_ASSERT(fd_ >= 0);
  if (receive_bytes > 0) {
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  }
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&place), sizeof(place)) == 0;
}

SocketClient::SocketClient(SocketClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      connected_(other.connected_),
      buffer_(std::move(other.buffer_)) {}

SocketClient::~SocketClient() {
  if (fd_ >= 0) ::close(fd_);
}

bool SocketClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void SocketClient::EndSending() { ::shutdown(fd_, SHUT_WR); }

void SocketClient::Reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  ::close(std::exchange(fd_, -1));
}

bool SocketClient::Fill() {
  std::array<char, 16 << 10> piece;
  ssize_t got = 0;
  do {
    got = ::recv(fd_, piece.data(), piece.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  buffer_.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

std::string SocketClient::ReadLine() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!Fill()) return {};
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

std::string SocketClient::ReadBytes(std::size_t count, bool& whole) {
  while (buffer_.size() < count) {
    if (!Fill()) break;
  }
  whole = buffer_.size() >= count;
  std::string bytes = buffer_.substr(0, count);
  buffer_.erase(0, bytes.size());
  return bytes;
}

std::string SocketClient::ReadChunks(bool& whole) {
  std::string body;
  while (true) {
    const std::string size = ReadLine();
    whole = !size.empty();
    if (!whole) return body;
    const std::size_t count = std::strtoul(size.c_str(), nullptr, 16);
    body += ReadBytes(count, whole);
    if (!whole) return body;
    ReadLine();
    if (count == 0) return body;
  }
}

SocketClient::Answer SocketClient::ReadAnswer(bool head_only) {
  Answer answer;
  const std::string first = ReadLine();
  if (first.size() < 12) return answer;
  answer.status = std::atoi(first.c_str() + 9);
  for (std::string line = ReadLine(); !line.empty(); line = ReadLine()) {
    const std::size_t colon = line.find(':');
    std::string name = line.substr(0, colon);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    answer.headers[name] = line.substr(line.find_first_not_of(' ', colon + 1));
  }
  answer.whole = true;
  if (head_only || answer.status == 100 || answer.status == 204 || answer.status == 304) {
    return answer;
  }
  if (answer.headers.contains("transfer-encoding")) {
    answer.body = ReadChunks(answer.whole);
  } else if (answer.headers.contains("content-length")) {
    answer.body = ReadBytes(std::stoul(answer.headers["content-length"]), answer.whole);
  } else {
    answer.body = ReadToEnd();
  }
  return answer;
}

std::string SocketClient::ReadSome() {
  if (buffer_.empty()) Fill();
  return std::exchange(buffer_, {});
}

std::string SocketClient::ReadToEnd() {
  while (Fill()) {
  }
  return std::exchange(buffer_, {});
}

bool SocketClient::AtEnd() { return buffer_.empty() && !Fill(); }

std::string GetText(std::string_view path, std::string_view headers) {
  std::string text = "GET ";
  text += path;
  text += " HTTP/1.1\r\nHost: test\r\n";
  text += headers;
  return text + "\r\n";
}

std::string PostText(std::string_view path, std::string_view body, std::string_view headers) {
  std::string text = "POST ";
  text += path;
  text += " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  text += headers;
  text += "\r\n";
  text += body;
  return text;
}

}  // namespace everstep
