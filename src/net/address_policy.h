#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace everstep {

enum class AddressRange : std::uint8_t {
  kPublic,
  kLoopback,     // 127/8, ::1
  kPrivate,      // 10/8, 172.16/12, 192.168/16, 100.64/10 (carrier NAT), fc00::/7, fec0::/10
  kLinkLocal,    // 169.254/16 (includes cloud metadata), fe80::/10
  kMulticast,    // 224/4, ff00::/8
  kUnspecified,  // 0/8, ::
  kReserved,     // broadcast, documentation, tests, not IP at all
};

std::string_view Name(AddressRange range);

// Classifies an IPv4 or IPv6 address. An IPv6 address that embeds an IPv4 address (mapped,
// compatible, NAT64, 6to4) is classified as the IPv4 address.
AddressRange RangeOf(const sockaddr& address);

// Returns the address as text: "127.0.0.1", "::1".
std::string AddressText(const sockaddr& address);

// Decides where requests may go. It is applied to the address that is actually connected to, after
// names have been resolved, so no name and no spelling of an address can bypass it.
struct AddressPolicy {
  bool allow_private = false;     // loopback and private ranges
  bool allow_loopback = false;    // loopback alone
  bool allow_link_local = false;  // including cloud metadata

  bool Allows(const sockaddr& address) const;
  // Checks a host that somebody else resolves, such as a proxy: false if it is a name of this
  // machine or an address that is not allowed. Other names cannot be judged, so they are allowed.
  bool AllowsHost(std::string_view host) const;
};

}  // namespace everstep
