#include "base/ulid.h"

#include <gtest/gtest.h>

#include <string>

namespace everstep {
namespace {

class SetClock final : public Clock {
 public:
  Timestamp Now() override { return now; }
  Timestamp now = *ParseTimestamp("2026-02-12T00:00:00.000Z");
};

// Returns the same number every time.
class ConstantRandom final : public Random {
 public:
  explicit ConstantRandom(std::uint64_t value) : value_(value) {}
  std::uint64_t Next() override { return value_; }

 private:
  std::uint64_t value_;
};

TEST(UlidTest, EncodesTimeAndRandomnessInCrockfordsAlphabet) {
  SetClock clock;
  // The time that the ULID reference implementation shows as 01ARYZ6S41.
  clock.now = FromMicros(1'469'918'176'385'000);
  ConstantRandom zeros(0);
  EXPECT_EQ(UlidGenerator(clock, zeros).Next(), "01ARYZ6S410000000000000000");
  ConstantRandom ones(~0ULL);
  EXPECT_EQ(UlidGenerator(clock, ones).Next(), "01ARYZ6S41ZZZZZZZZZZZZZZZZ");
}

TEST(UlidTest, GrowsWithinAMillisecond) {
  SetClock clock;
  SeededRandom random(1);
  UlidGenerator ulids(clock, random);
  std::string last = ulids.Next();
  for (int i = 0; i < 1000; ++i) {
    clock.now += std::chrono::microseconds(i % 2);  // stays in the millisecond for the first half
    const std::string next = ulids.Next();
    ASSERT_GT(next, last);
    ASSERT_TRUE(IsUlid(next));
    last = next;
  }
}

TEST(UlidTest, GrowsWhenTheClockJumpsBack) {
  SetClock clock;
  SeededRandom random(1);
  UlidGenerator ulids(clock, random);
  const std::string first = ulids.Next();
  clock.now -= std::chrono::hours(1);
  const std::string second = ulids.Next();
  clock.now += std::chrono::hours(1);
  const std::string third = ulids.Next();
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST(UlidTest, TakesFreshRandomnessInEachMillisecond) {
  SetClock clock;
  SeededRandom random(1);
  UlidGenerator ulids(clock, random);
  const std::string first = ulids.Next();
  clock.now += std::chrono::milliseconds(1);
  const std::string second = ulids.Next();
  EXPECT_LT(first, second);
  EXPECT_NE(first.substr(10, 8), second.substr(10, 8));
}

TEST(UlidTest, BorrowsFromTheNextMillisecondWhenTheRandomPartIsUsedUp) {
  SetClock clock;
  ConstantRandom ones(~0ULL);
  UlidGenerator ulids(clock, ones);
  const std::string last_of_this = ulids.Next();
  const std::string borrowed = ulids.Next();
  EXPECT_LT(last_of_this, borrowed);
  EXPECT_EQ(borrowed.substr(10), "0000000000000000");
  clock.now += std::chrono::milliseconds(1);
  EXPECT_LT(borrowed, ulids.Next());
}

TEST(UlidTest, CarriesIntoTheUpperRandomBits) {
  class Carry final : public Random {
   public:
    std::uint64_t Next() override { return first_ ? (first_ = false, 0x1234) : ~0ULL; }

   private:
    bool first_ = true;
  };
  SetClock clock;
  Carry random;
  UlidGenerator ulids(clock, random);
  const std::string before = ulids.Next();
  const std::string after = ulids.Next();
  EXPECT_LT(before, after);
  EXPECT_EQ(before.substr(0, 10), after.substr(0, 10));
}

TEST(UlidTest, IsRecognised) {
  EXPECT_TRUE(IsUlid("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
  EXPECT_TRUE(IsUlid("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
  EXPECT_FALSE(IsUlid("8ZZZZZZZZZZZZZZZZZZZZZZZZZ"));  // more than 128 bits
  EXPECT_FALSE(IsUlid("01ARZ3NDEKTSV4RRFFQ69G5FA"));
  EXPECT_FALSE(IsUlid("01ARZ3NDEKTSV4RRFFQ69G5FAVV"));
  EXPECT_FALSE(IsUlid("01arz3ndektsv4rrffq69g5fav"));
  EXPECT_FALSE(IsUlid("01ARZ3NDEKTSV4RRFFQ69G5FAI"));
  EXPECT_FALSE(IsUlid(""));
}

}  // namespace
}  // namespace everstep
