#include "work/worker_threads.h"

#include <signal.h>

#include <utility>

#include "base/assert.h"

namespace everstep {

WorkerThreads::WorkerThreads(std::uint32_t threads_max) : threads_max_(threads_max) {
  EVERSTEP_ASSERT(threads_max > 0);
}

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::Run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (!closing_ && idle_ < queue_.size() && threads_.size() < threads_max_) {
    threads_.emplace_back([this] { Loop(); });
  }
  changed_.notify_one();
}

void WorkerThreads::Loop() {
  // A process that closes its input must not end this one, and signals are for other threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace everstep
