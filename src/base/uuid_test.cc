#include "base/uuid.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace everstep {
namespace {

TEST(UuidTest, MakesVersionFourInLowerCaseAndNeverTwice) {
  SeededRandom random(7);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = NewUuid(random);
    EXPECT_TRUE(IsUuidV4(uuid)) << uuid;
    EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef-"), std::string::npos) << uuid;
    EXPECT_TRUE(seen.insert(uuid).second) << uuid;
  }
}

TEST(UuidTest, TheSameSeedMakesTheSameIds) {
  SeededRandom one(7);
  SeededRandom other(7);
  EXPECT_EQ(NewUuid(one), NewUuid(other));
  EXPECT_EQ(NewUuid(one), NewUuid(other));
}

TEST(UuidTest, EveryRandomDigitVaries) {
  SeededRandom random(7);
  std::array<std::set<char>, 36> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = NewUuid(random);
    for (std::size_t at = 0; at < uuid.size(); ++at) seen[at].insert(uuid[at]);
  }
  for (std::size_t at = 0; at < seen.size(); ++at) {
    const bool fixed = at == 8 || at == 13 || at == 14 || at == 18 || at == 23;
    EXPECT_EQ(seen[at].size(), fixed ? 1U : at == 19 ? 4U : 16U) << at;
  }
}

TEST(UuidTest, IsRecognised) {
  EXPECT_TRUE(IsUuidV4("0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a"));
  EXPECT_TRUE(IsUuidV4("0D3C6A9E-4F0C-4A8E-BD5D-3D4C0F7DBB8A"));
  EXPECT_FALSE(IsUuidV4("0d3c6a9e-4f0c-1a8e-9d5d-3d4c0f7dbb8a"));  // version 1
  EXPECT_FALSE(IsUuidV4("0d3c6a9e-4f0c-4a8e-cd5d-3d4c0f7dbb8a"));  // another variant
  EXPECT_FALSE(IsUuidV4("0d3c6a9e4f0c4a8e9d5d3d4c0f7dbb8a"));
  EXPECT_FALSE(IsUuidV4("0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8"));
  EXPECT_FALSE(IsUuidV4("0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8g"));
  EXPECT_FALSE(IsUuidV4("{d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8}"));
  EXPECT_FALSE(IsUuidV4(""));
}

}  // namespace
}  // namespace everstep
