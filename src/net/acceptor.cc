#include "net/acceptor.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "net/address_policy.h"
#include "net/http_text.h"

namespace everstep {
namespace {

constexpr int kBacklog = 1'024;
constexpr int kAcceptsMax = 64;  // per round

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

struct Place {
  std::string host;
  std::string port;
  bool v6 = false;
};

Error Malformed(const std::string& where) {
  return {
      ErrorCode::kInvalidArgument, "'" + where + "' is not HOST:PORT with a port up to 65535", {}};
}

Error NotListening(const std::string& where, const char* reason) {
  return {ErrorCode::kInvalidArgument, "cannot listen at " + where + ": " + reason, {}};
}

Result<Place> ParsePlace(const std::string& where) {
  const std::size_t colon = where.rfind(':');
  if (colon == std::string::npos || colon == 0) return Malformed(where);
  Place place{where.substr(0, colon), where.substr(colon + 1), false};
  if (place.port.empty() || place.port.size() > 5 ||
      !std::all_of(place.port.begin(), place.port.end(), IsDigit) ||
      std::stoi(place.port) > 65535) {
    return Malformed(where);
  }
  if (place.host.starts_with('[') && place.host.ends_with(']')) {
    place.host = place.host.substr(1, place.host.size() - 2);
    place.v6 = true;
  }
  if (place.host.empty() || (!place.v6 && place.host.find(':') != std::string::npos)) {
    return Malformed(where);
  }
  return place;
}

std::string BoundAddress(int fd, bool v6) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  auto* address = reinterpret_cast<sockaddr*>(&bound);
  ::getsockname(fd, address, &size);
  const auto port = v6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                       : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
  const std::string host = AddressText(*address);
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(ntohs(port));
}

void SetOption(int fd, int level, int option) {
  const int on = 1;
  (void)::setsockopt(fd, level, option, &on, sizeof(on));
}

}  // namespace

Status CheckListenAddress(const std::string& where) {
  const Result<Place> place = ParsePlace(where);
  return place ? Ok() : Status(place.error());
}

Result<UniqueFd> ListenAt(const std::string& where, std::string& address) {
  const Result<Place> place = ParsePlace(where);
  if (!place) return place.error();
  addrinfo hints{};
  hints.ai_family = place->v6 ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(place->host.c_str(), place->port.c_str(), &hints, &found);
  if (failed != 0) return NotListening(where, ::gai_strerror(failed));
  const Addresses addresses(found);
  UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return NotListening(where, std::strerror(errno));
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR);
  if (place->v6) SetOption(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY);
  SetOption(fd.get(), IPPROTO_TCP, TCP_NODELAY);  // accepted sockets inherit it
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return Error{ErrorCode::kAddressInUse, "another process listens at " + where, {}};
    }
    return NotListening(where, std::strerror(errno));
  }
  address = BoundAddress(fd.get(), place->v6);
  return fd;
}

Acceptor::Acceptor(UniqueFd listener, Accepted accepted)
    : listener_(std::move(listener)),
      accepted_(std::move(accepted)),
      spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

void Acceptor::OnEvents(std::uint32_t /*events*/) {
  for (int i = 0; i < kAcceptsMax; ++i) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    auto* address = reinterpret_cast<sockaddr*>(&peer);
    UniqueFd socket(::accept4(listener_.get(), address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      accepted_(std::move(socket), AddressText(*address));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE) DropOne();
    // Skip a connection that is already gone.
    if (errno != ECONNABORTED && errno != EINTR && errno != EPROTO) return;
  }
}

// Accepts and closes a connection for which there is no descriptor: in the queue it would be
// reported again and again.
void Acceptor::DropOne() {
  spare_.Close();
  UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)).Close();
  spare_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  errno = EMFILE;
}

}  // namespace everstep
