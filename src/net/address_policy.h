#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace everstep {

enum class AddressRange : std::uint8_t {
  kPublic,
  kLoopback,     // 127/8, ::1
  kPrivate,      // 10/8, 172.16/12, 192.168/16, 100.64/10 (carriers), fc00::/7, fec0::/10
  kLinkLocal,    // 169.254/16 (where clouds keep their metadata), fe80::/10
  kMulticast,    // 224/4, ff00::/8
  kUnspecified,  // 0/8, ::
  kReserved,     // broadcast, documentation, tests, not IP at all
};

std::string_view Name(AddressRange range);

// Of an IPv4 or IPv6 address. An IPv6 address that carries an IPv4 address (mapped, compatible,
// NAT64, 6to4) is what the IPv4 address is.
AddressRange RangeOf(const sockaddr& address);

// "127.0.0.1", "::1"; for messages.
std::string AddressText(const sockaddr& address);

// Where requests may go. Asked about the very address that is connected to, after names have been
// resolved, so that no name and no spelling of an address gets around it.
struct AddressPolicy {
  bool allow_private = false;     // loopback and private ranges
  bool allow_loopback = false;    // loopback alone
  bool allow_link_local = false;  // including cloud metadata

  bool Allows(const sockaddr& address) const;
  // Of a host that somebody else resolves, such as a proxy: false if it is the name of this machine
  // or an address that is not allowed. Of other names nothing can be said, so they are allowed.
  bool AllowsHost(std::string_view host) const;
};

}  // namespace everstep
