#include "run/order_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace everstep {
namespace {

constexpr std::uint64_t kQuantum = 100;

// Orders are numbered in the order in which they are pushed.
class OrderQueueTest : public testing::Test {
 protected:
  void Push(const std::string& tenant, const std::string& run) {
    queue_.Push(Numbered(run), [&](const LaneOrder&) { return tenant; });
  }
  void PushFront(const std::string& tenant, const std::string& run) {
    queue_.PushFront(Numbered(run), [&](const LaneOrder&) { return tenant; });
  }
  // Pops an order, charges `cost` for it, and returns its run.
  std::string Pop(std::uint64_t cost) {
    const LaneOrder order = queue_.Pop();
    queue_.Charge(cost);
    number_ = std::get<AdmitOrder>(order.what).epoch;
    return order.run_id.value();
  }

  OrderQueue queue_{kQuantum};
  std::uint64_t number_ = 0;  // of the order that was popped last

 private:
  LaneOrder Numbered(const std::string& run) { return {RunId(run), AdmitOrder{++pushed_}}; }
  std::uint64_t pushed_ = 0;
};

TEST_F(OrderQueueTest, ATenantWaitsAtMostOneTurnOfAnother) {
  for (int i = 0; i < 1'000; ++i) Push("much", "m" + std::to_string(i));
  EXPECT_EQ(Pop(30), "m0");
  Push("little", "one");
  std::uint64_t spent = 0;
  while (Pop(30) != "one") spent += 30;
  EXPECT_LT(spent, kQuantum);
}

TEST_F(OrderQueueTest, CheapOrdersOfOneTenantShareATurn) {
  for (int i = 0; i < 3; ++i) Push("a", "a" + std::to_string(i));
  Push("b", "b0");
  EXPECT_EQ(Pop(1), "a0");
  EXPECT_EQ(Pop(1), "a1");
  EXPECT_EQ(Pop(1), "a2");
  EXPECT_EQ(Pop(1), "b0");
  EXPECT_TRUE(queue_.empty());
}

TEST_F(OrderQueueTest, ATenantInDebtSkipsRounds) {
  for (int i = 0; i < 4; ++i) Push("costly", "c");
  for (int i = 0; i < 8; ++i) Push("fair", "f");
  EXPECT_EQ(Pop(4 * kQuantum), "c");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Pop(kQuantum), "f") << i;
  EXPECT_EQ(Pop(4 * kQuantum), "c");
  EXPECT_EQ(Pop(kQuantum), "f");
}

TEST_F(OrderQueueTest, AStreamOfNewTenantsDoesNotStarveOthers) {
  for (int i = 0; i < 10; ++i) Push("old", "old");
  int old_had = 0;
  for (int i = 0; i < 100; ++i) {
    Push("new" + std::to_string(i), "new");
    Push("other" + std::to_string(i), "other" + std::to_string(i));
    if (Pop(kQuantum) == "old") ++old_had;
  }
  EXPECT_GE(old_had, 5);
}

TEST_F(OrderQueueTest, PushFrontGoesBeforeOtherOrdersOfTheTenant) {
  Push("a", "second");
  Push("a", "third");
  PushFront("a", "first");
  EXPECT_EQ(Pop(1), "first");
  EXPECT_EQ(Pop(1), "second");
  EXPECT_EQ(Pop(1), "third");
}

TEST_F(OrderQueueTest, OrdersOfARunKeepTheirOrderAcrossTenants) {
  std::mt19937 random(7);
  const auto any = [&](std::uint32_t count) { return std::to_string(random() % count); };
  std::map<std::string, std::uint64_t> last;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      Push("t" + any(5), "r" + any(20));
    } else if (!queue_.empty()) {
      const std::string run = Pop(random() % (3 * kQuantum));
      ASSERT_GT(number_, last[run]) << run;
      last[run] = number_;
    }
  }
}

TEST_F(OrderQueueTest, TakeAllEmptiesTheQueue) {
  Push("a", "a");
  Push("b", "b");
  Push("a", "c");
  EXPECT_EQ(queue_.TakeAll().size(), 3u);
  EXPECT_TRUE(queue_.empty());
  Push("b", "b");
  EXPECT_EQ(Pop(1), "b");
}

}  // namespace
}  // namespace everstep
