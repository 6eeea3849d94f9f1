#include "net/address_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace everstep {
namespace {

struct Block4 {
  std::uint32_t start;
  int bits;
  AddressRange range;
};

constexpr std::uint32_t Ip(std::uint32_t a, std::uint32_t b, std::uint32_t c = 0) {
  return a << 24 | b << 16 | c << 8;
}

// The IANA registry of special-purpose addresses.
constexpr std::array kBlocks4 = {
    Block4{Ip(0, 0), 8, AddressRange::kUnspecified},
    Block4{Ip(10, 0), 8, AddressRange::kPrivate},
    Block4{Ip(100, 64), 10, AddressRange::kPrivate},
    Block4{Ip(127, 0), 8, AddressRange::kLoopback},
    Block4{Ip(169, 254), 16, AddressRange::kLinkLocal},
    Block4{Ip(172, 16), 12, AddressRange::kPrivate},
    Block4{Ip(192, 0, 0), 24, AddressRange::kReserved},
    Block4{Ip(192, 0, 2), 24, AddressRange::kReserved},
    Block4{Ip(192, 88, 99), 24, AddressRange::kReserved},
    Block4{Ip(192, 168), 16, AddressRange::kPrivate},
    Block4{Ip(198, 18), 15, AddressRange::kReserved},
    Block4{Ip(198, 51, 100), 24, AddressRange::kReserved},
    Block4{Ip(203, 0, 113), 24, AddressRange::kReserved},
    Block4{Ip(224, 0), 4, AddressRange::kMulticast},
    Block4{Ip(240, 0), 4, AddressRange::kReserved},
};

AddressRange RangeOf4(std::uint32_t address) {
  for (const Block4& block : kBlocks4) {
    if ((address ^ block.start) >> (32 - block.bits) == 0) return block.range;
  }
  return AddressRange::kPublic;
}

using Bytes6 = std::array<std::uint8_t, 16>;

std::uint32_t Ip4At(const Bytes6& bytes, std::size_t at) {
  std::uint32_t address = 0;
  for (std::size_t i = at; i < at + 4; ++i) address = address << 8 | bytes[i];
  return address;
}

bool StartsWith(const Bytes6& bytes, std::initializer_list<std::uint8_t> start) {
  return std::equal(start.begin(), start.end(), bytes.begin());
}

bool IsZero(const Bytes6& bytes, std::size_t end) {
  return std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(end),
                     [](std::uint8_t byte) { return byte == 0; });
}

AddressRange RangeOf6(const Bytes6& bytes) {
  if (IsZero(bytes, 16)) return AddressRange::kUnspecified;
  if (IsZero(bytes, 15) && bytes[15] == 1) return AddressRange::kLoopback;
  // Mapped ::ffff:0:0/96 and the older compatible ::/96.
  if (IsZero(bytes, 10) && ((bytes[10] == 0xff && bytes[11] == 0xff) || IsZero(bytes, 12))) {
    return RangeOf4(Ip4At(bytes, 12));
  }
  if (StartsWith(bytes, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) {
    return RangeOf4(Ip4At(bytes, 12));  // NAT64
  }
  if (StartsWith(bytes, {0, 0x64, 0xff, 0x9b, 0, 1})) return AddressRange::kPrivate;
  if (StartsWith(bytes, {0x20, 0x02})) return RangeOf4(Ip4At(bytes, 2));  // 6to4
  if ((bytes[0] & 0xfe) == 0xfc) return AddressRange::kPrivate;
  if (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) return AddressRange::kLinkLocal;
  if (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0xc0) return AddressRange::kPrivate;
  if (bytes[0] == 0xff) return AddressRange::kMulticast;
  if (StartsWith(bytes, {0x20, 0x01, 0x0d, 0xb8})) return AddressRange::kReserved;
  if (StartsWith(bytes, {0x20, 0x01}) && bytes[2] < 2) return AddressRange::kReserved;  // Teredo …
  // Nothing else outside of 2000::/3 has been allocated.
  return (bytes[0] & 0xe0) == 0x20 ? AddressRange::kPublic : AddressRange::kReserved;
}

}  // namespace

std::string_view Name(AddressRange range) {
  switch (range) {
    case AddressRange::kPublic:
      return "public";
    case AddressRange::kLoopback:
      return "loopback";
    case AddressRange::kPrivate:
      return "private";
    case AddressRange::kLinkLocal:
      return "link-local";
    case AddressRange::kMulticast:
      return "multicast";
    case AddressRange::kUnspecified:
      return "unspecified";
    case AddressRange::kReserved:
      return "reserved";
  }
  return "reserved";
}

AddressRange RangeOf(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in ip4;
    std::memcpy(&ip4, &address, sizeof(ip4));
    return RangeOf4(ntohl(ip4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 ip6;
    std::memcpy(&ip6, &address, sizeof(ip6));
    Bytes6 bytes;
    std::memcpy(bytes.data(), &ip6.sin6_addr, bytes.size());
    return RangeOf6(bytes);
  }
  return AddressRange::kReserved;
}

std::string AddressText(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    sockaddr_in ip4;
    std::memcpy(&ip4, &address, sizeof(ip4));
    ::inet_ntop(AF_INET, &ip4.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 ip6;
    std::memcpy(&ip6, &address, sizeof(ip6));
    ::inet_ntop(AF_INET6, &ip6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

bool AddressPolicy::Allows(const sockaddr& address) const {
  switch (RangeOf(address)) {
    case AddressRange::kPublic:
      return true;
    case AddressRange::kLoopback:
      return allow_private || allow_loopback;
    case AddressRange::kPrivate:
      return allow_private;
    case AddressRange::kLinkLocal:
      return allow_link_local;
    default:
      return false;
  }
}

bool AddressPolicy::AllowsHost(std::string_view host) const {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (name == "localhost" || name.ends_with(".localhost")) return allow_private || allow_loopback;
  sockaddr_in ip4{};
  ip4.sin_family = AF_INET;
  if (::inet_pton(AF_INET, name.c_str(), &ip4.sin_addr) == 1) {
    return Allows(reinterpret_cast<const sockaddr&>(ip4));
  }
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
    sockaddr_in6 ip6{};
    ip6.sin6_family = AF_INET6;
    name.resize(std::min(name.find('%'), name.size()));
    return ::inet_pton(AF_INET6, name.c_str(), &ip6.sin6_addr) == 1 &&
           Allows(reinterpret_cast<const sockaddr&>(ip6));
  }
  return true;
}

}  // namespace everstep
