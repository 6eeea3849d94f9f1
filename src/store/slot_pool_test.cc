#include "store/slot_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace everstep {
namespace {

TEST(SlotPoolTest, SlotsThatAreTakenAreDistinctAndAligned) {
  SlotPool pool(24);
  std::set<void*> taken;
  for (int i = 0; i < 100; ++i) {
    void* slot = pool.Take();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot) % alignof(std::max_align_t), 0U);
    std::memset(slot, i, 24);
    EXPECT_TRUE(taken.insert(slot).second);
  }
}

TEST(SlotPoolTest, AReturnedSlotIsHandedOutAgain) {
  SlotPool pool(24);
  void* first = pool.Take();
  void* second = pool.Take();
  pool.Return(first);
  EXPECT_EQ(pool.Take(), first);
  pool.Return(second);
  pool.Return(first);
  for (int i = 0; i < 100; ++i) pool.Return(pool.Take());
  EXPECT_EQ(pool.slots(), 2U);
}

TEST(SlotPoolTest, ThreadsNeverShareASlot) {
  SlotPool pool(sizeof(int));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&pool, thread] {
      for (int i = 0; i < 10'000; ++i) {
        auto* slot = static_cast<int*>(pool.Take());
        *slot = thread;
        ASSERT_EQ(*slot, thread);
        pool.Return(slot);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool.slots(), 4U);
}

}  // namespace
}  // namespace everstep
