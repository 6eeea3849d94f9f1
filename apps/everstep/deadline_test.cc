#include "deadline.h"

#include <gtest/gtest.h>

#include <future>

namespace everstep::cli {
namespace {

using std::chrono::milliseconds;

TEST(DeadlineTest, CallsBackWhenTheTimeIsUp) {
  std::promise<void> missed;
  Deadline deadline([&missed] { missed.set_value(); });
  deadline.Set(milliseconds(1));
  missed.get_future().wait();
}

TEST(DeadlineTest, DoesNotCallBackWhenDestroyedInTime) {
  bool missed = false;
  {
    Deadline never([&missed] { missed = true; });
    Deadline later([&missed] { missed = true; });
    later.Set(std::chrono::hours(1));
  }
  EXPECT_FALSE(missed);
}

}  // namespace
}  // namespace everstep::cli
