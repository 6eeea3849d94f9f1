#include "run/slot_board.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace everstep {
namespace {

const RunId kRun("run-1");
const RunId kOther("run-2");
const std::string kFirst = "fetch";
const std::string kSecond = "fetch:3";

class SlotBoardTest : public testing::Test {
 protected:
  SlotBoardTest() { board_.SetCapacity("python", 1); }

  bool Ask(const RunId& run_id, const std::string& activity_id) {
    return board_.Request(run_id, activity_id, {"default", "python", {}, 0}, Timestamp{});
  }

  std::vector<std::pair<RunId, std::string>> granted_;
  SlotBoard board_{std::chrono::seconds(10), 100,
                   [this](const RunId& run_id, const std::string& activity_id) {
                     granted_.emplace_back(run_id, activity_id);
                   }};
};

TEST_F(SlotBoardTest, AnActivityCanRequestAgainBeforeItReleasesItsSlot) {
  ASSERT_TRUE(Ask(kRun, kFirst));
  EXPECT_FALSE(Ask(kRun, kFirst));
  EXPECT_FALSE(board_.Holds(kRun, kFirst));
  EXPECT_NE(board_.Why(kRun, kFirst), "");
  board_.Release(kRun, kFirst);
  ASSERT_EQ(granted_.size(), 1U);
  EXPECT_TRUE(board_.Holds(kRun, kFirst));
  board_.Release(kRun, kFirst);
  EXPECT_TRUE(Ask(kOther, kFirst));
}

TEST_F(SlotBoardTest, KeepReleasesRequestsThatWereNotGranted) {
  ASSERT_TRUE(Ask(kRun, kFirst));
  EXPECT_FALSE(Ask(kRun, kSecond));
  EXPECT_EQ(board_.Keep(kRun, {kFirst, kSecond}), std::set<std::string>{kFirst});
  EXPECT_TRUE(granted_.empty());
  EXPECT_FALSE(Ask(kOther, kFirst));
  EXPECT_TRUE(board_.Keep(kRun, {}).empty());
  ASSERT_EQ(granted_.size(), 1U);
  EXPECT_EQ(granted_.front().first, kOther);
}

TEST_F(SlotBoardTest, KeepDoesNotAffectOtherRuns) {
  ASSERT_TRUE(Ask(kOther, kFirst));
  EXPECT_TRUE(board_.Keep(kRun, {}).empty());
  EXPECT_TRUE(board_.Holds(kOther, kFirst));
}

TEST_F(SlotBoardTest, QueuesWithoutACapacityShareOne) {
  board_.SetCapacity(std::string(SlotBoard::kShared), 3);
  const auto ask = [this](const std::string& activity_id, const char* queue) {
    return board_.Request(kRun, activity_id, {"default", queue, {}, 0}, Timestamp{});
  };
  EXPECT_TRUE(ask(kFirst, "a"));
  board_.Weigh(kRun, kFirst, SlotBoard::kInputBytesPerSlot);
  EXPECT_TRUE(ask(kSecond, "b"));
  EXPECT_FALSE(ask("third", "c"));
  EXPECT_TRUE(ask("fourth", "python"));
  board_.Weigh(kRun, "fourth", 1 << 20);
  board_.Release(kRun, kFirst);
  EXPECT_TRUE(board_.Holds(kRun, "third"));
  EXPECT_TRUE(ask("fifth", "d"));
}

}  // namespace
}  // namespace everstep
