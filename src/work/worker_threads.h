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
  // A thread, and what it is to do next.
  struct Worker {
    std::mutex mutex;
    std::condition_variable woken;
    std::function<void()> work;  // guarded by mutex, as the next
    bool dismissed = false;
    std::thread thread;
  };
  void Loop(Worker& worker);
  // Waits for work; nothing: the worker is dismissed.
  static std::function<void()> Await(Worker& worker);

  const std::uint32_t threads_max_;
  std::mutex mutex_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_, as all below
  std::vector<std::unique_ptr<Worker>> workers_;
  // Work goes to the one that was busy last, whose memory is at hand, and wakes nobody else.
  std::vector<Worker*> idle_;
  bool closing_ = false;
};

}  // namespace everstep
