#include "serve/readiness.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ReadinessTest : public testing::Test {
 protected:
  std::string TextAt(milliseconds time) {
    const auto known = readiness_.Ask(Readiness::Time(time));
    return known ? known->text : "look";
  }

  int looks_ = 0;
  bool healthy_ = true;
  Readiness readiness_{[this] {
    ++looks_;
    return Readiness::Answer{healthy_, healthy_ ? "ready\n" : "full\n"};
  }};
};

TEST_F(ReadinessTest, TheServerIsLookedAtOnceASecondAtMost) {
  EXPECT_EQ(TextAt(seconds(0)), "look");
  EXPECT_EQ(readiness_.Look().text, "ready\n");
  healthy_ = false;
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(TextAt(milliseconds(i)), "ready\n");
  EXPECT_EQ(TextAt(seconds(1)), "look");
  EXPECT_FALSE(readiness_.Look().ready);
  EXPECT_EQ(TextAt(milliseconds(1'999)), "full\n");
  EXPECT_EQ(looks_, 2);
}

TEST_F(ReadinessTest, OthersDoNotWaitForALookUnlessItNeverEnds) {
  EXPECT_EQ(TextAt(seconds(5)), "look");
  EXPECT_EQ(TextAt(seconds(5)), "ready\n");
  EXPECT_EQ(TextAt(seconds(15)), "ready\n");
  EXPECT_EQ(TextAt(seconds(16)), "the disk does not answer\n");
  EXPECT_EQ(readiness_.Look().text, "ready\n");
  EXPECT_EQ(TextAt(seconds(16)), "look");
}

}  // namespace
}  // namespace everstep
