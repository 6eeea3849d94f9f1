#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "everstep/log.h"

namespace everstep {

// Appends for those who cannot wait: what io threads gather goes to the log in one call, and with
// it into one durable write. While that is under way the next batch gathers, so that under load a
// write serves as many as have come; only a large batch is worth a second thread, which checks it
// while the first waits for the disk. Thread-safe.
class AppendQueue {
 public:
  // Events of one request, in one dialect, of one tenant.
  struct Entry {
    Dialect dialect = Dialect::kNative;
    AppendDefaults defaults;
    std::vector<std::string_view> events;  // in a text that `done` owns
    // Called once, on a thread of the queue: one answer for each event, to be taken away.
    std::function<void(std::span<Result<Appended>>)> done;
  };

  explicit AppendQueue(Log& log);
  // What was added is appended and answered.
  ~AppendQueue();

  void Add(Entry entry);
  // What was added since goes on its way.
  void Flush();

 private:
  using Batch = std::vector<Entry>;
  static constexpr int kThreads = 2;

  bool MayAppend() const;   // mutex_ held
  void Take(Batch& batch);  // mutex_ held
  void Loop();
  void Append(Batch& batch);

  Log& log_;
  std::mutex mutex_;
  std::condition_variable woken_;
  Batch gathered_;          // guarded by mutex_, as the next four
  std::size_t events_ = 0;  // in it
  int busy_ = 0;            // threads that append
  bool flushed_ = false;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace everstep
