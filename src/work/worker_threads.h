#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace everstep {

// Threads for blocking work. A thread is created if there is work and no thread is idle, up to
// `threads_max`, and lives until the destructor runs: child processes with a parent-death signal
// rely on this. The engine bounds the queue, since it starts no more tasks than there are slots.
class WorkerThreads {
 public:
  explicit WorkerThreads(std::uint32_t threads_max);
  // Runs the queued work, then joins all threads.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Thread-safe. During destruction, only work that runs on these threads may call it.
  void Run(std::function<void()> work);

 private:
  // A thread and its next work.
  struct Worker {
    std::mutex mutex;
    std::condition_variable woken;
    std::function<void()> work;  // guarded by `mutex`
    bool dismissed = false;      // guarded by `mutex`
    std::thread thread;
  };
  void Loop(Worker& worker);
  // Waits for work. Returns an empty function if the worker is dismissed.
  static std::function<void()> Await(Worker& worker);

  const std::uint32_t threads_max_;
  std::mutex mutex_;
  std::deque<std::function<void()>> queue_;  // `mutex_` guards this and all members below
  std::vector<std::unique_ptr<Worker>> workers_;
  // Most recently idle last. Work goes to that worker, whose caches are warm, and wakes no other.
  std::vector<Worker*> idle_;
  bool closing_ = false;
};

}  // namespace everstep
