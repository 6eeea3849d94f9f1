#include "base/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace everstep {
namespace {

TEST(Crc32cTest, GivesTheAnswersOfRfc3720) {
  std::string up;
  std::string down;
  for (int i = 0; i < 32; ++i) {
    up.push_back(static_cast<char>(i));
    down.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(Crc32c(up), 0x46dd794eU);
  EXPECT_EQ(Crc32c(down), 0x113fdb5cU);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(""), 0U);
}

RC_GTEST_PROP(Crc32cTest, TheInstructionAndTheTableAgree, (const std::string& text)) {
  // Repeated, so that whole words and remainders of every length occur.
  std::string bytes;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) bytes.append(text);
  RC_ASSERT(Crc32c(bytes) == Crc32cPortable(bytes));
}

}  // namespace
}  // namespace everstep
