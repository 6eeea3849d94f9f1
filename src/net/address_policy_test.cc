#include "net/address_policy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
#include <string>
#include <vector>

namespace everstep {
namespace {

struct Address {
  explicit Address(const std::string& text) {
    auto* ip4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* ip6 = reinterpret_cast<sockaddr_in6*>(&storage);
    if (::inet_pton(AF_INET, text.c_str(), &ip4->sin_addr) == 1) {
      storage.ss_family = AF_INET;
    } else {
      EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &ip6->sin6_addr), 1) << text;
      storage.ss_family = AF_INET6;
    }
  }
  const sockaddr& general() const { return reinterpret_cast<const sockaddr&>(storage); }
  sockaddr_storage storage{};
};

AddressRange RangeOf(const std::string& text) { return everstep::RangeOf(Address(text).general()); }

TEST(AddressPolicy, KnowsTheRangeOfAnAddress) {
  const std::vector<std::pair<AddressRange, std::vector<std::string>>> table = {
      {AddressRange::kPublic,
       {"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.1",
        "169.253.0.1", "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8"}},
      {AddressRange::kLoopback,
       {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::127.0.0.1",
        "64:ff9b::127.0.0.1", "2002:7f00:1::"}},
      {AddressRange::kPrivate,
       {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
        "100.127.255.255", "fc00::1", "fd12:3456::1", "fec0::1", "::ffff:10.0.0.1",
        "64:ff9b:1::1"}},
      {AddressRange::kLinkLocal,
       {"169.254.0.1", "169.254.169.254", "fe80::1", "febf::1", "::ffff:169.254.169.254"}},
      {AddressRange::kMulticast, {"224.0.0.1", "239.255.255.255", "ff02::1"}},
      {AddressRange::kUnspecified, {"0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"}},
      {AddressRange::kReserved,
       {"255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "203.0.113.9", "2001:db8::1",
        "2001::1", "4000::1"}},
  };
  for (const auto& [range, addresses] : table) {
    for (const std::string& text : addresses) {
      EXPECT_EQ(Name(RangeOf(text)), Name(range)) << text;
    }
  }
}

TEST(AddressPolicy, RefusesAllButPublicAddressesByDefault) {
  const AddressPolicy policy;
  EXPECT_TRUE(policy.Allows(Address("1.1.1.1").general()));
  for (const char* text : {"127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1",
                           "::1", "fe80::1", "::ffff:127.0.0.1", "100.64.0.1", "240.0.0.1"}) {
    EXPECT_FALSE(policy.Allows(Address(text).general())) << text;
  }
}

TEST(AddressPolicy, PrivateAddressesAreAllowedWithoutCloudMetadata) {
  const AddressPolicy policy{.allow_private = true};
  EXPECT_TRUE(policy.Allows(Address("127.0.0.1").general()));
  EXPECT_TRUE(policy.Allows(Address("192.168.0.1").general()));
  EXPECT_FALSE(policy.Allows(Address("169.254.169.254").general()));
  EXPECT_FALSE(policy.Allows(Address("0.0.0.0").general()));
  EXPECT_FALSE(policy.Allows(Address("255.255.255.255").general()));
  const AddressPolicy all{.allow_private = true, .allow_link_local = true};
  EXPECT_TRUE(all.Allows(Address("169.254.169.254").general()));
}

TEST(AddressPolicy, NonInternetAddressesAreRefused) {
  sockaddr address{};
  address.sa_family = AF_UNIX;
  EXPECT_FALSE((AddressPolicy{.allow_private = true}.Allows(address)));
}

}  // namespace
}  // namespace everstep
