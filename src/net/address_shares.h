#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace everstep {

// Of one address, as connections are counted: an IPv4 address, or the first 64 bits of an IPv6
// address, all of which one client has. Empty: the address is of loopback.
std::string SourceOf(const std::string& address);

// How many connections each source has. Thread-safe.
class AddressShares {
 public:
  // Zero: half of `connections_max`, and any number from loopback.
  AddressShares(std::size_t each_max, std::size_t connections_max);

  // One more connection from that address. False: it has as many as it may.
  bool Take(const std::string& address);
  void Leave(const std::string& address);

 private:
  // Empty: is not counted.
  std::string KeyOf(const std::string& address) const;

  const bool loopback_too_;
  const std::size_t each_max_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> counts_;  // guarded by mutex_
};

}  // namespace everstep
