#include "serve/checked_json.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

TEST(CheckedJsonTest, TheContentIsReturnedWithoutItsChecksum) {
  const std::string text = WithChecksum(R"({"a":1})");
  EXPECT_EQ(text.size(), std::string(R"({"a":1,"crc32c":"01234567"})").size() + 1);
  EXPECT_EQ(WithoutChecksum(text), R"({"a":1})");
}

TEST(CheckedJsonTest, EveryFlippedBitAndEveryCutIsDetected) {
  const std::string text = WithChecksum(R"({"a":1,"b":"some text"})");
  for (std::size_t at = 0; at < text.size(); ++at) {
    EXPECT_FALSE(WithoutChecksum(text.substr(0, at))) << at;
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_FALSE(WithoutChecksum(damaged)) << at << " bit " << bit;
    }
  }
  EXPECT_FALSE(WithoutChecksum(text + text));
}

}  // namespace
}  // namespace everstep
