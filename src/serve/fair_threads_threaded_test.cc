#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/fair_threads.h"

namespace everstep {
namespace {

// Work that blocks until it is released.
class Gate {
 public:
  std::function<void()> Work() {
    return [this, opened = opened_] {
      ++entered_;
      opened.wait();
    };
  }
  void Open() { open_.set_value(); }
  int entered() const { return entered_.load(); }

 private:
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
  std::atomic<int> entered_ = 0;
};

void Await(FairThreads& threads, std::string_view party) {
  std::promise<void> done;
  threads.Run(party, [&done] { done.set_value(); });
  done.get_future().wait();
}

TEST(FairThreadsTest, APartyAtItsLimitLeavesThreadsToOthers) {
  Gate gate;
  FairThreads threads(4, 1);
  for (int i = 0; i < 100; ++i) threads.Run("hostile", gate.Work());
  Await(threads, "other");
  Await(threads, "third");
  EXPECT_LE(gate.entered(), 3);
  gate.Open();
}

TEST(FairThreadsTest, ReservedThreadsGoToPartiesWithNothingRunning) {
  Gate one;
  Gate two;
  FairThreads threads(4, 2);
  for (int i = 0; i < 10; ++i) threads.Run("one", one.Work());
  for (int i = 0; i < 10; ++i) threads.Run("two", two.Work());
  Await(threads, "third");
  EXPECT_LE(one.entered(), 2);
  EXPECT_LE(two.entered(), 1);
  one.Open();
  two.Open();
}

TEST(FairThreadsTest, QueuesTakeTurns) {
  Gate gate;
  std::mutex mutex;
  std::string order;
  std::promise<void> done;
  FairThreads threads(1, 0);
  threads.Run("gate", gate.Work());
  const auto note = [&](char who) {
    return [&, who] {
      const std::lock_guard lock(mutex);
      order.push_back(who);
      if (order.size() == 6) done.set_value();
    };
  };
  for (int i = 0; i < 4; ++i) threads.Run("a", note('a'));
  for (int i = 0; i < 2; ++i) threads.Run("b", note('b'));
  gate.Open();
  done.get_future().wait();
  EXPECT_EQ(order, "ababaa");
}

TEST(FairThreadsTest, QueuedWorkIsDroppedOnDestruction) {
  const auto held = std::make_shared<int>(0);
  Gate gate;
  {
    FairThreads threads(1, 0);
    threads.Run("a", gate.Work());
    for (int i = 0; i < 10; ++i) threads.Run("a", [held] { ++*held; });
    threads.Stop();
    EXPECT_EQ(held.use_count(), 1);
    threads.Run("b", [held] { ++*held; });
    gate.Open();
  }
  EXPECT_EQ(*held, 0);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(FairThreadsTest, ConcurrentWorkOfManyPartiesIsAllDone) {
  std::atomic<int> done = 0;
  std::promise<void> all;
  constexpr int kAll = 4 * 5'000;
  {
    FairThreads threads(4, 1);
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; ++c) {
      callers.emplace_back([&, c] {
        for (int i = 0; i < 5'000; ++i) {
          threads.Run(std::to_string(c * 5'000 + i / 2), [&] {
            if (++done == kAll) all.set_value();
          });
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    all.get_future().wait();
  }
  EXPECT_EQ(done, kAll);
}

}  // namespace
}  // namespace everstep
