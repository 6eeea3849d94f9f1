#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace everstep {

// Returns the source under which the connections of an address are counted: an IPv4 address, or the
// first 64 bits of an IPv6 address, because one client has all addresses below them. Empty for a
// loopback address.
std::string SourceOf(const std::string& address);

// Limits the connections of each source. Thread-safe.
class AddressShares {
 public:
  // `each_max` is the limit of a source. Zero: half of `connections_max`, and no limit for
  // loopback.
  AddressShares(std::size_t each_max, std::size_t connections_max);

  // Counts one more connection from the address. False: its source has reached the limit.
  bool Take(const std::string& address);
  void Leave(const std::string& address);

 private:
  // Empty: not counted.
  std::string KeyOf(const std::string& address) const;

  const bool loopback_too_;
  const std::size_t each_max_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> counts_;  // guarded by mutex_
};

}  // namespace everstep
