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

// Threads shared by several parties. Each party has its own queue, and the queues take turns. The
// last `reserved` free threads are only for parties that have nothing running, so one party's work,
// however much and however slow, leaves threads for the others. Thread-safe.
class FairThreads {
 public:
  // Starts one thread, so that thread exhaustion is reported here (std::system_error), and further
  // threads on demand. Requires: `reserved` < `threads_max`.
  FairThreads(std::uint32_t threads_max, std::uint32_t reserved);
  // Drops queued work and waits for running work.
  ~FairThreads();
  FairThreads(const FairThreads&) = delete;
  FairThreads& operator=(const FairThreads&) = delete;

  void Run(std::string_view party, std::function<void()> work);
  // Drops queued work, now and from now on. Running work continues.
  void Stop();
  // Also waits for running work. No work may call it.
  void Finish();

 private:
  using Work = std::function<void()>;
  struct Party {
    std::deque<Work> queue;
    std::uint32_t running = 0;
  };
  // Entries have stable addresses; idle ones are dropped when there are many.
  using Parties = std::unordered_map<std::string, Party>;
  struct Worker {
    std::condition_variable woken;
    Parties::value_type* party = nullptr;  // guarded by mutex_, like the next
    Work work;
    std::thread thread;
  };

  // All must be called with mutex_ held.
  bool MayRun(const Party& party) const;
  void Begin(Worker& worker, Parties::value_type& party, Work work);
  // Gives the worker the next work that may run. Returns false if there is none.
  bool Next(Worker& worker);
  // Returns null if no thread is available.
  Worker* FreeWorker();
  Worker& MakeWorker();
  void Forget(Parties::value_type& party);

  void Loop(Worker& worker);

  const std::uint32_t threads_max_;
  const std::uint32_t reserved_;
  std::mutex mutex_;
  Parties parties_;  // guarded by mutex_, like all below
  // Parties with queued work, in the order of their turns.
  std::deque<Parties::value_type*> waiting_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  std::uint32_t busy_ = 0;
  bool stopped_ = false;
  bool ending_ = false;
};

}  // namespace everstep
