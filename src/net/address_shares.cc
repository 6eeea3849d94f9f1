#include "net/address_shares.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "net/address_policy.h"

namespace everstep {

std::string SourceOf(const std::string& address) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
    const auto& any = reinterpret_cast<const sockaddr&>(six);
    if (RangeOf(any) == AddressRange::kLoopback) return {};
    std::fill_n(six.sin6_addr.s6_addr + 8, 8, std::uint8_t{0});
    return AddressText(any) + "/64";
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  const bool is_four = inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1;
  const auto& any = reinterpret_cast<const sockaddr&>(four);
  if (is_four && RangeOf(any) == AddressRange::kLoopback) return {};
  return address;
}

AddressShares::AddressShares(std::size_t each_max, std::size_t connections_max)
    : loopback_too_(each_max > 0),
      each_max_(each_max > 0 ? each_max : std::max<std::size_t>(1, connections_max / 2)) {}

std::string AddressShares::KeyOf(const std::string& address) const {
  std::string source = SourceOf(address);
  return source.empty() && loopback_too_ ? "loopback" : source;
}

bool AddressShares::Take(const std::string& address) {
  const std::string key = KeyOf(address);
  if (key.empty()) return true;
  const std::lock_guard lock(mutex_);
  std::size_t& count = counts_[key];
  if (count >= each_max_) return false;
  ++count;
  return true;
}

void AddressShares::Leave(const std::string& address) {
  const std::string key = KeyOf(address);
  if (key.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(key);
  if (--found->second == 0) counts_.erase(found);
}

}  // namespace everstep
