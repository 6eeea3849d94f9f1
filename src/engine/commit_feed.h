#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/committer.h"

namespace everstep {

// Wakes threads that wait for new events of one run or of any run. Carries no events: waiters read
// them from the store. Thread-safe. Costs a commit almost nothing while nobody waits.
class CommitFeed {
 public:
  // One waiter. Counts durable writes, so that a write between two waits is not missed.
  class Watch {
   public:
    Watch(CommitFeed& feed, std::string run_id);  // empty: any run
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Counts durable changes to the run since the watch was created. Call before reading the log.
    std::uint64_t ticks();
    // Waits until ticks() > `seen`. Returns false if the watch was closed or `wait` elapsed.
    bool WaitPast(std::uint64_t seen, std::chrono::milliseconds wait);
    // Counts a tick without a write, so that the waiter wakes and reads again.
    void Nudge();
    void Close();

   private:
    friend class CommitFeed;
    CommitFeed& feed_;
    const std::string run_id_;
    std::condition_variable changed_;
    std::uint64_t ticks_ = 0;  // guarded by feed_.mutex_
    bool closed_ = false;      // guarded by feed_.mutex_
  };

  // Notified of each write on the committing thread, before Await returns to any caller. Must not
  // block.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void Durable(std::span<const std::shared_ptr<CommitUnit>> units) = 0;
  };
  void Add(Listener& listener);
  // After it returns, the listener is not called any more.
  void Remove(Listener& listener);

  // Called by the committing thread after each write.
  void Durable(std::span<const std::shared_ptr<CommitUnit>> units);

 private:
  void NoteWatched();  // requires mutex_

  std::mutex mutex_;
  std::multimap<std::string, Watch*, std::less<>> watches_;  // guarded by mutex_
  std::vector<Listener*> listeners_;                         // guarded by mutex_
  std::atomic<bool> watched_{false};
};

}  // namespace everstep
