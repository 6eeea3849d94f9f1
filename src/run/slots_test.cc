#include "run/slots.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace everstep {
namespace {

using std::chrono::seconds;
using Handles = std::vector<std::uint64_t>;

const Timestamp kStart = FromMicros(1'770'000'000'000'000);
constexpr seconds kAgeing{10};

SlotAsk Ask(std::uint64_t handle, std::string queue = "shell", std::string key = "",
            std::string tenant = "acme") {
  return {.handle = handle,
          .tenant = std::move(tenant),
          .queue = std::move(queue),
          .key = std::move(key),
          .priority = 0,
          .weight = 1};
}

class SlotsTest : public ::testing::Test {
 protected:
  bool Request(const SlotAsk& ask) { return slots_.Request(ask, kStart); }
  void SetCapacity(std::string_view queue, std::uint32_t capacity) {
    EXPECT_EQ(slots_.SetCapacity(queue, capacity), Handles{});
  }

  Slots slots_{kAgeing};
};

TEST_F(SlotsTest, AQueueWithoutCapacityHasNoLimit) {
  for (std::uint64_t handle = 1; handle <= 100; ++handle) EXPECT_TRUE(Request(Ask(handle)));
  EXPECT_EQ(slots_.in_use("shell"), 100u);
}

TEST_F(SlotsTest, ATenantHoldsAtMostItsShareOfAQueue) {
  Slots slots(kAgeing, 50);
  EXPECT_EQ(slots.SetCapacity("shell", 4), Handles{});
  EXPECT_TRUE(slots.Request(Ask(1), kStart));
  EXPECT_TRUE(slots.Request(Ask(2), kStart));
  EXPECT_FALSE(slots.Request(Ask(3), kStart));
  EXPECT_EQ(slots.Why(3),
            "waits for a slot of queue shell; its tenant holds its full share, 2 of 4, 0 ahead");
  // Other tenants get the remaining slots; the task that waits for the share is skipped.
  EXPECT_TRUE(slots.Request(Ask(4, "shell", "", "rival"), kStart));
  EXPECT_TRUE(slots.Request(Ask(5, "shell", "", "rival"), kStart));
  EXPECT_FALSE(slots.Request(Ask(6, "shell", "", "rival"), kStart));
  EXPECT_EQ(slots.Release(4), Handles{6});
  EXPECT_EQ(slots.Release(1), Handles{3});
  EXPECT_FALSE(slots.Request(Ask(7), kStart));
  EXPECT_EQ(slots.SetCapacity("shell", 8), Handles{7});
  EXPECT_EQ(slots.SetCapacity("shell", 1), Handles{});
  for (const std::uint64_t handle : {2U, 3U, 5U, 6U, 7U}) (void)slots.Release(handle);
  EXPECT_EQ(slots.in_use("shell"), 0u);
  EXPECT_TRUE(slots.Request(Ask(8), kStart)) << "a share is at least one";
}

TEST_F(SlotsTest, AFreedSlotGoesToTheFirstWaitingTask) {
  SetCapacity("shell", 2);
  EXPECT_TRUE(Request(Ask(1)));
  EXPECT_TRUE(Request(Ask(2)));
  EXPECT_FALSE(Request(Ask(3)));
  EXPECT_FALSE(Request(Ask(4)));
  EXPECT_TRUE(Request(Ask(5, "http")));
  EXPECT_EQ(slots_.Why(4), "waits for one of 2 slots of queue shell, 2 in use, 1 ahead");
  EXPECT_EQ(slots_.Why(1), "");
  EXPECT_EQ(slots_.Release(1), Handles{3});
  EXPECT_TRUE(slots_.Holds(3));
  EXPECT_EQ(slots_.Release(1), Handles{});
  EXPECT_EQ(slots_.Release(5), Handles{});
  EXPECT_EQ(slots_.Release(2), Handles{4});
}

TEST_F(SlotsTest, AKeyIsHeldByOneTaskAcrossAllQueues) {
  EXPECT_TRUE(Request(Ask(1, "shell", "db")));
  EXPECT_FALSE(Request(Ask(2, "http", "db")));
  EXPECT_FALSE(Request(Ask(3, "shell", "db")));
  EXPECT_TRUE(Request(Ask(4, "shell", "db", "other")));
  EXPECT_TRUE(Request(Ask(5, "shell", "cache")));
  EXPECT_EQ(slots_.Why(2), "waits for concurrency key db, which is in use, 0 ahead");
  EXPECT_EQ(slots_.KeyHolder(2), 1u);
  EXPECT_EQ(slots_.KeyHolder(5), std::nullopt);
  EXPECT_EQ(slots_.Release(1), Handles{2});
  EXPECT_EQ(slots_.Release(2), Handles{3});
}

TEST_F(SlotsTest, NoQueueMonopolizesAKey) {
  EXPECT_TRUE(Request(Ask(1, "a", "db")));
  for (std::uint64_t handle = 2; handle <= 9; ++handle) Request(Ask(handle, "a", "db"));
  EXPECT_FALSE(Request(Ask(10, "b", "db")));
  EXPECT_EQ(slots_.Release(1), Handles{10});
  EXPECT_EQ(slots_.Release(10), Handles{2});
}

TEST_F(SlotsTest, ATaskThatWaitsForItsKeyBlocksNoOthers) {
  SetCapacity("shell", 2);
  EXPECT_TRUE(Request(Ask(1, "shell", "db")));
  EXPECT_TRUE(Request(Ask(2)));
  EXPECT_FALSE(Request(Ask(3, "shell", "db")));
  EXPECT_FALSE(Request(Ask(4)));
  EXPECT_EQ(slots_.Release(2), Handles{4});
  EXPECT_EQ(slots_.Release(4), Handles{});
  EXPECT_TRUE(Request(Ask(5)));
  EXPECT_EQ(slots_.Release(1), Handles{3});
}

TEST_F(SlotsTest, AFreedKeyDoesNotExceedTheCapacityOfAQueue) {
  SetCapacity("shell", 1);
  EXPECT_TRUE(Request(Ask(1, "http", "db")));
  EXPECT_TRUE(Request(Ask(2)));
  EXPECT_FALSE(Request(Ask(3, "shell", "db")));
  EXPECT_EQ(slots_.Release(1), Handles{});
  EXPECT_EQ(slots_.Why(3), "waits for the slot of queue shell, 1 in use, 0 ahead");
  EXPECT_TRUE(Request(Ask(4, "http", "db")));
  EXPECT_EQ(slots_.Release(2), Handles{});
  EXPECT_EQ(slots_.Release(4), Handles{3});
}

TEST_F(SlotsTest, TenantsTakeTurnsAndPriorityCountsWithinATenant) {
  SetCapacity("shell", 1);
  EXPECT_TRUE(Request(Ask(1)));
  for (std::uint64_t handle = 10; handle < 13; ++handle) Request(Ask(handle, "shell", "", "big"));
  auto urgent = Ask(13, "shell", "", "big");
  urgent.priority = 5;
  EXPECT_FALSE(Request(urgent));
  EXPECT_FALSE(Request(Ask(20, "shell", "", "small")));
  Handles order;
  for (Handles next = slots_.Release(1); !next.empty(); next = slots_.Release(next.front())) {
    ASSERT_EQ(next.size(), 1u);
    order.push_back(next.front());
  }
  EXPECT_EQ(order, (Handles{13, 20, 10, 11, 12}));
}

TEST_F(SlotsTest, MoreCapacityGrantsSlotsToWaitingTasks) {
  SetCapacity("shell", 1);
  EXPECT_TRUE(Request(Ask(1)));
  for (std::uint64_t handle = 2; handle <= 5; ++handle) EXPECT_FALSE(Request(Ask(handle)));
  EXPECT_EQ(slots_.SetCapacity("shell", 3), (Handles{2, 3}));
  SetCapacity("shell", 1);
  EXPECT_EQ(slots_.Release(1), Handles{});
  EXPECT_EQ(slots_.SetCapacity("shell", 0), (Handles{4, 5}));
}

TEST_F(SlotsTest, CancelRemovesOnlyWaitingTasks) {
  SetCapacity("shell", 1);
  EXPECT_TRUE(Request(Ask(1)));
  EXPECT_FALSE(Request(Ask(2)));
  EXPECT_FALSE(Request(Ask(3)));
  EXPECT_TRUE(slots_.Cancel(2));
  EXPECT_FALSE(slots_.Cancel(2));
  EXPECT_FALSE(slots_.Cancel(1));
  EXPECT_EQ(slots_.Release(1), Handles{3});
}

// A model of the rules, which checks Slots after every call.
class SlotBooks {
 public:
  SlotBooks() {
    for (const char* queue : {"a", "b", "c"}) {
      capacity_[queue] = *rc::gen::inRange(0u, 4u);
      RC_ASSERT(slots_.SetCapacity(queue, capacity_[queue]).empty());
    }
  }

  void Act() {
    now_ += seconds(*rc::gen::inRange(0, 5));
    const int kind = *rc::gen::inRange(0, 6);
    if (kind < 3 || asks_.empty()) {
      Request();
    } else if (kind < 5) {
      Release(Any());
    } else {
      const auto handle = Any();
      const bool waits = !running_.contains(handle);
      RC_ASSERT(slots_.Why(handle).empty() != waits);
      RC_ASSERT(slots_.Cancel(handle) == waits);
      if (waits) asks_.erase(handle);
    }
  }

  void Check() const {
    std::map<std::string, std::uint32_t> used;
    std::set<std::string> keys;
    for (const auto handle : running_) {
      const SlotAsk& ask = asks_.at(handle);
      ++used[ask.queue];
      if (!ask.key.empty()) RC_ASSERT(keys.insert(ask.tenant + " " + ask.key).second);
    }
    for (const auto& [queue, capacity] : capacity_) {
      RC_ASSERT(capacity == 0 || used[queue] <= capacity);
    }
    for (const auto& [handle, ask] : asks_) {
      if (running_.contains(handle)) continue;
      const bool full = capacity_.at(ask.queue) > 0 && used[ask.queue] == capacity_.at(ask.queue);
      RC_ASSERT(full || keys.contains(ask.tenant + " " + ask.key));
    }
  }

  void Finish() {
    while (!running_.empty()) Release(*running_.begin());
    RC_ASSERT(asks_.empty());
    RC_ASSERT(slots_.keys_known() == 0u);
    for (const auto& [queue, capacity] : capacity_) {
      RC_ASSERT(slots_.SetCapacity(queue, 0).empty());
    }
    RC_ASSERT(slots_.queues_known() == 0u);
  }

 private:
  std::uint64_t Any() {
    return std::next(asks_.begin(), *rc::gen::inRange<int>(0, static_cast<int>(asks_.size())))
        ->first;
  }
  void Request() {
    SlotAsk ask =
        Ask(++made_, *rc::gen::element<std::string>("a", "b", "c"),
            *rc::gen::element<std::string>("", "k", "l"), *rc::gen::element<std::string>("t", "u"));
    ask.priority = *rc::gen::inRange(-2, 3);
    asks_.emplace(ask.handle, ask);
    if (slots_.Request(ask, now_)) running_.insert(ask.handle);
  }
  void Release(std::uint64_t handle) {
    const Handles granted = slots_.Release(handle);
    asks_.erase(handle);
    running_.erase(handle);
    for (const auto next : granted) {
      RC_ASSERT(asks_.contains(next));
      RC_ASSERT(running_.insert(next).second);
    }
  }

  Slots slots_{kAgeing};
  Timestamp now_ = kStart;
  std::uint64_t made_ = 0;
  std::map<std::string, std::uint32_t> capacity_;
  std::map<std::uint64_t, SlotAsk> asks_;
  std::set<std::uint64_t> running_;
};

RC_GTEST_PROP(SlotsPropertyTest, LimitsHoldAndNothingWaitsThatCouldRun, ()) {
  SlotBooks books;
  const int acts = *rc::gen::inRange(1, 120);
  for (int i = 0; i < acts; ++i) {
    books.Act();
    books.Check();
  }
  books.Finish();
}

TEST_F(SlotsTest, ATaskCanTakeSeveralSlotsEvenBeyondTheCapacity) {
  SetCapacity("shell", 4);
  EXPECT_TRUE(Request(Ask(1, "shell")));
  slots_.Grow(1, 6);
  EXPECT_EQ(slots_.in_use("shell"), 6U);
  EXPECT_FALSE(Request(Ask(2, "shell")));
  EXPECT_EQ(slots_.Release(1), Handles{2});
  EXPECT_EQ(slots_.in_use("shell"), 1U);
  slots_.Grow(3, 2);  // unknown
  EXPECT_EQ(slots_.in_use("shell"), 1U);
}

TEST_F(SlotsTest, AHundredThousandTasksPassThroughEightSlots) {
  constexpr std::uint64_t kTasks = 100'000;
  SetCapacity("shell", 8);
  for (std::uint64_t handle = 0; handle < kTasks; ++handle) {
    const std::string key = handle % 2 == 0 ? "" : "key-" + std::to_string(handle % 100);
    Request(Ask(handle, "shell", key, "tenant-" + std::to_string(handle % 50)));
  }
  Handles running(8);
  for (std::uint64_t handle = 0; handle < 8; ++handle) running[handle] = handle;
  std::uint64_t ended = 0;
  while (!running.empty()) {
    const auto handle = running.back();
    running.pop_back();
    for (const auto next : slots_.Release(handle)) running.push_back(next);
    ++ended;
  }
  EXPECT_EQ(ended, kTasks);
}

}  // namespace
}  // namespace everstep
