#include "net/address_shares.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

TEST(AddressSharesTest, AnAddressHasItsShareAndGivesItBack) {
  AddressShares shares(2, 100);
  EXPECT_TRUE(shares.Take("192.0.2.1"));
  EXPECT_TRUE(shares.Take("192.0.2.1"));
  EXPECT_FALSE(shares.Take("192.0.2.1"));
  EXPECT_TRUE(shares.Take("192.0.2.2"));
  shares.Leave("192.0.2.1");
  EXPECT_TRUE(shares.Take("192.0.2.1"));
}

TEST(AddressSharesTest, TheAddressesOfAnIpv6NetworkCountAsOne) {
  AddressShares shares(1, 100);
  EXPECT_TRUE(shares.Take("2001:db8::1"));
  EXPECT_FALSE(shares.Take("2001:db8::ffff:2"));
  EXPECT_TRUE(shares.Take("2001:db8:0:1::1"));
}

TEST(AddressSharesTest, TheDefaultIsHalfOfAllAndDoesNotCountLoopback) {
  AddressShares shares(0, 2);
  EXPECT_TRUE(shares.Take("192.0.2.1"));
  EXPECT_FALSE(shares.Take("192.0.2.1"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(shares.Take("127.0.0.1"));
    EXPECT_TRUE(shares.Take("::1"));
  }
  AddressShares ordered(1, 2);
  EXPECT_TRUE(ordered.Take("127.0.0.1"));
  EXPECT_FALSE(ordered.Take("::1"));
}

}  // namespace
}  // namespace everstep
