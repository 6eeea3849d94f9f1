#include "work/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <set>
#include <thread>

namespace everstep {
namespace {

std::thread::id RunAndTellThread(WorkerThreads& threads) {
  std::promise<std::thread::id> id;
  threads.Run([&id] { id.set_value(std::this_thread::get_id()); });
  return id.get_future().get();
}

TEST(WorkerThreadsThreaded, AtMostThreadsMaxRunAtATime) {
  std::atomic<int> busy = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  {
    WorkerThreads threads(3);
    for (int i = 0; i < 300; ++i) {
      threads.Run([&] {
        const int now = ++busy;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --busy;
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 300);
  EXPECT_LE(most, 3);
}

TEST(WorkerThreadsThreaded, ConcurrentWorkRunsOnSeparateThreads) {
  WorkerThreads threads(4);
  std::set<std::thread::id> ids;
  std::mutex mutex;
  std::latch all_busy(4);
  std::latch all_done(4);
  for (int i = 0; i < 4; ++i) {
    threads.Run([&] {
      all_busy.arrive_and_wait();
      {
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
      }
      all_done.count_down();
    });
  }
  all_done.wait();
  EXPECT_EQ(ids.size(), 4U);
}

TEST(WorkerThreadsThreaded, TheDestructorRunsQueuedWork) {
  std::atomic<int> done = 0;
  {
    WorkerThreads threads(1);
    std::latch begun(1);
    threads.Run([&] {
      begun.count_down();
      // Work on the pool may add more work while the pool is being destroyed.
      for (int i = 0; i < 10; ++i) threads.Run([&] { ++done; });
      ++done;
    });
    begun.wait();
  }
  EXPECT_EQ(done, 11);
}

TEST(WorkerThreadsThreaded, WorkIsReleasedBeforeItsThreadIsIdle) {
  WorkerThreads threads(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  threads.Run([held = std::move(held)] {});
  (void)RunAndTellThread(threads);
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace everstep
