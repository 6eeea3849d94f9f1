#include "net/deadlines.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

using std::chrono::milliseconds;
using TimePoint = Deadlines::TimePoint;

class DeadlinesTest : public testing::Test {
 protected:
  static TimePoint At(int ms) { return TimePoint(milliseconds(ms)); }
  // The one that is due, or null.
  DeadlineLink* Due(int ms, Deadline expected) {
    Deadline kind = Deadline::kNone;
    DeadlineLink* due = deadlines_.TakeDue(At(ms), kind);
    EXPECT_TRUE(due == nullptr || kind == expected);
    return due;
  }

  Deadlines deadlines_{
      {milliseconds(10), milliseconds(20), milliseconds(30), milliseconds(40), milliseconds(50)}};
  DeadlineLink first_;
  DeadlineLink second_;
};

TEST_F(DeadlinesTest, TheEarliestOfAllKindsIsNext) {
  EXPECT_FALSE(deadlines_.Next());
  deadlines_.Set(first_, Deadline::kIdle, At(0));
  deadlines_.Set(second_, Deadline::kHead, At(5));
  EXPECT_EQ(deadlines_.Next(), At(15));
  EXPECT_EQ(Due(14, Deadline::kHead), nullptr);
  EXPECT_EQ(Due(15, Deadline::kHead), &second_);
  EXPECT_EQ(Due(15, Deadline::kHead), nullptr);
  EXPECT_EQ(Due(30, Deadline::kIdle), &first_);
  EXPECT_FALSE(deadlines_.Next());
}

TEST_F(DeadlinesTest, SettingAgainRestartsOrRemovesADeadline) {
  deadlines_.Set(first_, Deadline::kBody, At(0));
  deadlines_.Set(second_, Deadline::kBody, At(1));
  deadlines_.Set(first_, Deadline::kBody, At(15));
  EXPECT_EQ(Due(30, Deadline::kBody), &second_);
  EXPECT_EQ(deadlines_.Next(), At(35));
  deadlines_.Set(first_, Deadline::kNone, At(31));
  EXPECT_EQ(Due(100, Deadline::kBody), nullptr);
}

}  // namespace
}  // namespace everstep
