#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace everstep {

// Threads for work that blocks. A thread is made when there is work and none is idle, up to
// `threads_max`; it lives until the destructor, which a child process with a parent-death signal
// relies on. The engine keeps the queue short: it starts no more tasks than there are slots.
class WorkerThreads {
 public:
  explicit WorkerThreads(std::uint32_t threads_max);
  // Runs what is still queued, then joins.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // While it is being destroyed: only from inside its own work.
  void Run(std::function<void()> work);

 private:
  void Loop();

  const std::uint32_t threads_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool closing_ = false;
};

}  // namespace everstep
