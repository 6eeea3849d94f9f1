#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace everstep {

// Threads that several parties share. Work waits in a queue per party, and the queues take turns.
// The last `reserved` free threads are only for parties that have nothing running: however much
// work one party brings, and however long it takes, another's finds a thread. Thread-safe.
class FairThreads {
 public:
  // One thread is made at once, so that a machine that has none to give is noticed here
  // (std::system_error); others when there is work for them. `reserved` < `threads_max`.
  FairThreads(std::uint32_t threads_max, std::uint32_t reserved);
  // What is queued is dropped, what runs is waited for.
  ~FairThreads();
  FairThreads(const FairThreads&) = delete;
  FairThreads& operator=(const FairThreads&) = delete;

  void Run(std::string_view party, std::function<void()> work);
  // Drops what is queued, now and from now on. What runs goes on.
  void Stop();

 private:
  using Work = std::function<void()>;
  struct Party {
    std::deque<Work> queue;
    std::uint32_t running = 0;
  };
  // Stable addresses; those without work are dropped when there are many.
  using Parties = std::unordered_map<std::string, Party>;
  struct Worker {
    std::condition_variable woken;
    Parties::value_type* party = nullptr;  // guarded by mutex_, as the next
    Work work;
    std::thread thread;
  };

  // All with mutex_ held.
  bool MayRun(const Party& party) const;
  void Begin(Worker& worker, Parties::value_type& party, Work work);
  // Gives the worker the next work that may run. False: there is none.
  bool Next(Worker& worker);
  // Null: there is no thread to be had.
  Worker* FreeWorker();
  Worker& MakeWorker();
  void Forget(Parties::value_type& party);

  void Loop(Worker& worker);

  const std::uint32_t threads_max_;
  const std::uint32_t reserved_;
  std::mutex mutex_;
  Parties parties_;                           // guarded by mutex_, as all below
  std::deque<Parties::value_type*> waiting_;  // with something queued, in the order of their turns
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  std::uint32_t busy_ = 0;
  bool stopped_ = false;
  bool ending_ = false;
};

}  // namespace everstep
