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

// Calls that wait for a run to end, without a thread each. Learns about runs of other engines from
// the commit feed; the own engine reports its runs through Ended. Thread-safe.
class EndWaiters final : private CommitFeed::Listener {
 public:
  // Called once, on any thread; must not block. Gets the ended run, or null if the caller has to
  // read it from the store.
  using Done = std::function<void(const RunView* view)>;

  explicit EndWaiters(CommitFeed& feed);
  ~EndWaiters() override;
  // Calls all current waiters, and every later one at once.
  void Close();

  // Calls `done` when the run ends or after `wait`. Read the run after Add: one that ended earlier
  // causes no call.
  void Add(const std::string& run_id, std::chrono::milliseconds wait, Done done);
  void Ended(const std::string& run_id);
  // The same; the first few waiters get the run. `see` provides it; it is called only if somebody
  // waits.
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
  std::multimap<Time, Waiter> by_time_;  // guarded by mutex_, like the next three
  std::multimap<std::string, std::multimap<Time, Waiter>::iterator> by_run_;
  Time wakes_at_ = Time::max();  // when the thread wakes up next
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace everstep
