#include "bench/load_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "base/assert.h"
#include "net/http_text.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kReadBytes = 256 << 10;

std::size_t NumberAt(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The value of Content-Length in the lines of a head, each of which ends with CRLF.
std::size_t LengthOf(std::string_view lines) {
  constexpr std::string_view kName = "content-length:";
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    if (EqualsIgnoringCase(line.substr(0, kName.size()), kName)) {
      return NumberAt(Trim(line.substr(kName.size())));
    }
    lines.remove_prefix(line.size() + 2);
  }
  return 0;
}

[[noreturn]] void Unexpected(const LoadClient::Answer& answer) {
  std::fprintf(stderr, "everstep: the server answered %d: %.300s\n", answer.status,
               std::string(answer.body).c_str());
  std::abort();
}

}  // namespace

UniqueFd ConnectTo(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(NumberAt(address.substr(colon + 1))));
  if (::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) return {};
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    return {};
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

LoadClient::LoadClient(const std::string& address, std::size_t connections)
    : poll_(::epoll_create1(EPOLL_CLOEXEC)), connections_(connections) {
  for (std::size_t i = 0; i < connections; ++i) {
    connections_[i].fd = ConnectTo(address);
    EVERSTEP_ASSERT(static_cast<bool>(connections_[i].fd));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    EVERSTEP_ASSERT(::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, connections_[i].fd.get(), &event) == 0);
  }
}

// Requests are small compared with socket buffers, so sending does not block for long.
void LoadClient::SendOutput() {
  const std::size_t together = batch_.usable() ? std::min(sending_.size(), SendBatch::kMost) : 0;
  for (std::size_t i = 0; i < together; ++i) {
    batch_.Add(sending_[i]->fd.get(), sending_[i]->output);
  }
  if (together > 0) {
    const auto sent = batch_.Send();
    for (std::size_t i = 0; i < together; ++i) sending_[i]->output.remove_prefix(sent[i]);
  }
  for (Connection* connection : sending_) {
    std::string_view& rest = connection->output;
    while (!rest.empty()) {
      const ssize_t sent = ::send(connection->fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      EVERSTEP_ASSERT(sent > 0);
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  sending_.clear();
}

bool LoadClient::Read(Connection& connection, Answer& answer) {
  static thread_local std::vector<char> buffer(kReadBytes);
  const ssize_t count = ::recv(connection.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return false;
  EVERSTEP_ASSERT(count > 0);
  connection.input.append(buffer.data(), static_cast<std::size_t>(count));
  const std::string_view input = connection.input;
  const std::size_t end = input.find(kHeadEnd);
  if (end == std::string_view::npos) return false;
  const std::string_view head = input.substr(0, end + 2);
  const std::size_t length = LengthOf(head);
  if (input.size() < end + kHeadEnd.size() + length) return false;
  answer.status = static_cast<int>(NumberAt(head.substr(head.find(' ') + 1)));
  answer.body = input.substr(end + kHeadEnd.size(), length);
  return true;
}

void LoadClient::Run(const Next& next, const Answered& answered,
                     const std::function<bool()>& over) {
  std::array<epoll_event, 128> events;
  while (true) {
    const bool ended = over();
    if (ended && busy_ == 0) return;
    for (std::size_t i = 0; !ended && i < connections_.size(); ++i) {
      Connection& connection = connections_[i];
      if (connection.busy) continue;
      const auto request = next(i);
      if (!request) continue;
      connection.output = *request;
      connection.busy = true;
      ++busy_;
      sending_.push_back(&connection);
    }
    SendOutput();
    const int timeout = busy_ < connections_.size() ? 1 : -1;
    const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), timeout);
    for (int i = 0; i < count; ++i) {
      const std::size_t number = events[static_cast<std::size_t>(i)].data.u64;
      Connection& connection = connections_[number];
      Answer answer;
      if (!Read(connection, answer)) continue;
      connection.busy = false;
      --busy_;
      answered(number, answer);
      connection.input.clear();
    }
  }
}

std::string LoadClient::Call(const std::string& request, int expected_status) {
  std::string body;
  bool sent = false;
  bool done = false;
  Run(
      [&](std::size_t number) -> std::optional<std::string_view> {
        if (number != 0 || std::exchange(sent, true)) return std::nullopt;
        return request;
      },
      [&](std::size_t, const Answer& answer) {
        if (answer.status != expected_status) Unexpected(answer);
        body = answer.body;
        done = true;
      },
      [&] { return done; });
  return body;
}

std::string LoadClient::Get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

std::string LoadClient::Post(std::string_view target, std::string_view body) {
  std::string text = "POST " + std::string(target) +
                     " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n";
  return text.append(body);
}

}  // namespace everstep::cli
