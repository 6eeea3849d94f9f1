#include "base/sha256.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

namespace everstep {
namespace {

TEST(Sha256Test, GivesTheAnswersOfFips180) {
  EXPECT_EQ(ToHex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ToHex(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(ToHex(Sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, GivesTheSameDigestOnAnotherThread) {
  Sha256Digest elsewhere{};
  std::thread([&] { elsewhere = Sha256("abc"); }).join();
  EXPECT_EQ(elsewhere, Sha256("abc"));
}

RC_GTEST_PROP(Sha256Test, HexReadsBack, (const std::string& text)) {
  const Sha256Digest digest = Sha256(text);
  RC_ASSERT(ToHex(digest).size() == 64U);
  RC_ASSERT(DigestFromHex(ToHex(digest)) == digest);
}

TEST(Sha256Test, RefusesHexOfWrongLengthOrCase) {
  const std::string hex = ToHex(Sha256("abc"));
  EXPECT_TRUE(DigestFromHex(hex).has_value());
  EXPECT_FALSE(DigestFromHex("").has_value());
  EXPECT_FALSE(DigestFromHex(hex.substr(1)).has_value());
  EXPECT_FALSE(DigestFromHex(hex + "0").has_value());
  EXPECT_FALSE(DigestFromHex("B" + hex.substr(1)).has_value());
  EXPECT_FALSE(DigestFromHex("g" + hex.substr(1)).has_value());
}

TEST(Sha256Test, ReadsTheSixteenDigitsAndNothingElse) {
  const std::string hex = ToHex(Sha256("abc"));
  for (std::size_t at = 0; at < hex.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string other = hex;
      other[at] = static_cast<char>(c);
      const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      const auto read = DigestFromHex(other);
      ASSERT_EQ(read.has_value(), digit) << c << " at " << at;
      if (digit) {
        ASSERT_EQ(ToHex(*read), other);
      }
    }
  }
}

}  // namespace
}  // namespace everstep
