#include "deadline.h"

#include <gtest/gtest.h>

#include <future>

namespace everstep::cli {
namespace {

using std::chrono::milliseconds;

TEST(DeadlineTest, OneThatIsMissedIsTold) {
  std::promise<void> told;
  Deadline deadline([&told] { told.set_value(); });
  deadline.Set(milliseconds(1));
  told.get_future().wait();
}

TEST(DeadlineTest, OneThatIsMetIsNot) {
  bool told = false;
  {
    Deadline never([&told] { told = true; });
    Deadline later([&told] { told = true; });
    later.Set(std::chrono::hours(1));
  }
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace everstep::cli
