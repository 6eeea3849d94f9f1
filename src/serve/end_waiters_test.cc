#include "serve/end_waiters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace everstep {
namespace {

class EndWaitersTest : public testing::Test {
 protected:
  void Add(const std::string& run_id) {
    waiters_.Add(run_id, std::chrono::hours(1),
                 [this](const RunView* view) { (view == nullptr ? unseen_ : seen_) += 1; });
  }

  CommitFeed feed_;
  EndWaiters waiters_{feed_};
  int seen_ = 0;
  int unseen_ = 0;
};

TEST_F(EndWaitersTest, WhoWaitsForTheRunIsCalled) {
  Add("a");
  Add("b");
  waiters_.Ended("a", [] { return RunView(); });
  EXPECT_EQ(seen_, 1);
  waiters_.Ended("b");
  EXPECT_EQ(unseen_, 1);
  waiters_.Ended("b");
  EXPECT_EQ(seen_ + unseen_, 2);
}

// The thread that ended the run does not make an answer for each of them.
TEST_F(EndWaitersTest, OnlyTheFirstOfManyGetTheRun) {
  for (int i = 0; i < 100; ++i) Add("a");
  int views = 0;
  waiters_.Ended("a", [&views] {
    ++views;
    return RunView();
  });
  EXPECT_EQ(views, 1);
  EXPECT_EQ(seen_, 4);
  EXPECT_EQ(unseen_, 96);
}

}  // namespace
}  // namespace everstep
