#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/commit_feed.h"
#include "everstep/engine.h"

namespace everstep {

// Calls that wait for a run to end, without a thread each. Hears by itself of runs that others
// decide for; of its own the engine tells. Thread-safe.
class EndWaiters final : private CommitFeed::Listener {
 public:
  // Called once, on any thread; must not block. The run at its end; null: look for yourself.
  using Done = std::function<void(const RunView* view)>;

  explicit EndWaiters(CommitFeed& feed);
  ~EndWaiters() override;
  // Calls everybody who still waits, and from now on at once.
  void Close();

  // `done` is called when the run ends or `wait` is over. Look at the run after Add: one that ended
  // before tells nobody.
  void Add(const std::string& run_id, std::chrono::milliseconds wait, Done done);
  void Ended(const std::string& run_id);
  // `see` is called when somebody waits.
  void Ended(const std::string& run_id, const std::function<RunView()>& see);

 private:
  void Durable(std::span<const std::shared_ptr<CommitUnit>> units) override;
  std::vector<Done> Take(const std::string& run_id);
  using Time = std::chrono::steady_clock::time_point;
  struct Waiter {
    std::string run_id;
    Done done;
  };
  void Loop();

  CommitFeed& feed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Time, Waiter> by_time_;  // guarded by mutex_, as the next three
  std::multimap<std::string, std::multimap<Time, Waiter>::iterator> by_run_;
  Time wakes_at_ = Time::max();  // when the thread looks next
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace everstep
