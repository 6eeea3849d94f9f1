#include "testing/loopback_http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

// Returns the lower-case name and the value of a header line.
std::pair<std::string, std::string> HeaderOf(std::string_view line) {
  const std::size_t colon = std::min(line.find(':'), line.size() - 1);
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  return {std::move(name), std::string(value)};
}

std::optional<LoopbackHttpServer::Request> ReadRequest(int connection) {
  std::string bytes;
  std::array<char, 16384> piece{};
  std::size_t end = std::string::npos;
  LoopbackHttpServer::Request request;
  while (true) {
    const ssize_t size = ::recv(connection, piece.data(), piece.size(), 0);
    if (size <= 0) return std::nullopt;
    bytes.append(piece.data(), static_cast<std::size_t>(size));
    if (bytes.front() < 'A' || bytes.front() > 'Z') return std::nullopt;  // not HTTP
    if (end == std::string::npos) {
      end = bytes.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      std::size_t at = bytes.find("\r\n");
      const std::string first = bytes.substr(0, at);
      request.method = first.substr(0, first.find(' '));
      request.target = first.substr(request.method.size() + 1);
      request.target.resize(request.target.find(' '));
      while (at < end) {
        const std::size_t next = bytes.find("\r\n", at + 2);
        request.headers.insert(HeaderOf(std::string_view(bytes).substr(at + 2, next - at - 2)));
        at = next;
      }
    }
    const auto length = request.headers.find("content-length");
    const std::size_t wanted =
        length == request.headers.end() ? 0 : static_cast<std::size_t>(std::stoul(length->second));
    if (bytes.size() < end + 4 + wanted) continue;
    request.body = bytes.substr(end + 4, wanted);
    return request;
  }
}

void Send(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace

LoopbackHttpServer::LoopbackHttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* general = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  EVERSTEP_ASSERT(::bind(listener_, general, size) == 0);
  EVERSTEP_ASSERT(::listen(listener_, static_cast<int>(kConnectionsMax)) == 0);
  EVERSTEP_ASSERT(::getsockname(listener_, general, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

LoopbackHttpServer::~LoopbackHttpServer() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  for (const int connection : open_) ::shutdown(connection, SHUT_RDWR);
  changed_.notify_all();
  changed_.wait(lock, [this] { return open_.empty(); });
  lock.unlock();
  acceptor_.join();
  ::close(listener_);
}

void LoopbackHttpServer::Accept() {
  while (true) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || open_.size() < kConnectionsMax; });
    if (closing_) {
      ::close(connection);
      return;
    }
    open_.insert(connection);
    // The destructor waits until `open_` is empty; removing the entry is the thread's last action.
    std::thread([this, connection] { Serve(connection); }).detach();
  }
}

void LoopbackHttpServer::Serve(int connection) {
  if (const auto request = ReadRequest(connection)) {
    const Response response = handler_(*request);
    std::string head = "HTTP/1.1 " + std::to_string(response.status) + " Answer\r\n";
    bool sized = false;
    for (const auto& [name, value] : response.headers) {
      head.append(name).append(": ").append(value).append("\r\n");
      sized = sized || name == "Content-Length";
    }
    if (!sized) head += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
    Send(connection, head + "Connection: close\r\n\r\n" + response.body);
  }
  ::shutdown(connection, SHUT_RDWR);
  const std::lock_guard lock(mutex_);
  open_.erase(connection);
  ::close(connection);
  changed_.notify_all();
}

}  // namespace everstep
