#include "work/worker_threads.h"

#include <signal.h>

#include <utility>

#include "base/assert.h"

namespace everstep {

WorkerThreads::WorkerThreads(std::uint32_t threads_max) : threads_max_(threads_max) {
  EVERSTEP_ASSERT(threads_max > 0);
}

WorkerThreads::~WorkerThreads() {
  std::vector<Worker*> idle;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    idle.swap(idle_);
  }
  for (Worker* worker : idle) {
    {
      const std::lock_guard lock(worker->mutex);
      worker->dismissed = true;
    }
    worker->woken.notify_one();
  }
  for (const auto& worker : workers_) worker->thread.join();
}

void WorkerThreads::Run(std::function<void()> work) {
  Worker* worker = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      worker = idle_.back();
      idle_.pop_back();
    } else if (!closing_ && workers_.size() < threads_max_) {
      Worker& made = *workers_.emplace_back(std::make_unique<Worker>());
      made.work = std::move(work);
      made.thread = std::thread([this, &made] { Loop(made); });
      return;
    } else {
      queue_.push_back(std::move(work));
      return;
    }
  }
  {
    const std::lock_guard lock(worker->mutex);
    worker->work = std::move(work);
  }
  worker->woken.notify_one();
}

void WorkerThreads::Loop(Worker& worker) {
  // Block all signals: SIGPIPE from a process that closes its input must not end this process, and
  // other threads handle the rest.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while (auto work = Await(worker)) {
    while (work) {
      work();
      work = nullptr;  // release what it holds before the thread counts as idle
      const std::lock_guard lock(mutex_);
      if (!queue_.empty()) {
        work = std::move(queue_.front());
        queue_.pop_front();
      } else if (closing_) {
        return;
      } else {
        idle_.push_back(&worker);
      }
    }
  }
}

std::function<void()> WorkerThreads::Await(Worker& worker) {
  std::unique_lock lock(worker.mutex);
  worker.woken.wait(lock, [&worker] { return worker.work || worker.dismissed; });
  return std::exchange(worker.work, nullptr);
}

}  // namespace everstep
