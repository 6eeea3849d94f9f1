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

// Wakes those who wait for a run, or for any run, to grow. Carries no events: who wakes reads them
// from the store. Thread-safe; costs a commit nothing while nobody waits.
class CommitFeed {
 public:
  // One who waits. Counts what became durable, so that nothing between two waits is missed.
  class Watch {
   public:
    Watch(CommitFeed& feed, std::string run_id);  // empty: any run
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // How often the run has grown since the watch began. Ask before reading.
    std::uint64_t ticks();
    // Waits until ticks() is past `seen`. False: it was closed, or time is up.
    bool WaitPast(std::uint64_t seen, std::chrono::milliseconds wait);
    // As if the run had grown: who waits looks again.
    void Nudge();
    void Close();

   private:
    friend class CommitFeed;
    CommitFeed& feed_;
    const std::string run_id_;
    std::condition_variable changed_;
    std::uint64_t ticks_ = 0;  // guarded by feed_.mutex_, as closed_
    bool closed_ = false;
  };

  // Told of each write, on the committing thread, before anyone is answered. Must be short.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void Durable(std::span<const std::shared_ptr<CommitUnit>> units) = 0;
  };
  void Add(Listener& listener);
  // On return it is not called any more.
  void Remove(Listener& listener);

  // The committing thread, after each write.
  void Durable(std::span<const std::shared_ptr<CommitUnit>> units);

 private:
  void NoteWatched();  // mutex_ held

  std::mutex mutex_;
  std::multimap<std::string, Watch*, std::less<>> watches_;  // guarded by mutex_
  std::vector<Listener*> listeners_;                         // guarded by mutex_
  std::atomic<bool> watched_{false};
};

}  // namespace everstep
