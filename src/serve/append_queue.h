#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "everstep/log.h"

namespace everstep {

// Appends for callers that must not block. Requests gathered from the io threads go to the log in
// one call, and thus in one durable write. The next batch gathers while that write is in flight, so
// under load one write serves many requests. A large batch is worth a second thread, which
// validates it while the first waits for the disk. Thread-safe.
//
// A batch is bounded in events and bytes. A larger request is appended in parts, and events of
// other requests may be appended between them. The events of one request keep their order.
//
// Under load the clients form two groups: one waits for its write while the other is answered and
// sends its next request. A batch therefore takes half of the active requests instead of all
// waiting ones: with unequal groups, clients would idle during the write and the disk would idle
// during the answers.
class AppendQueue {
 public:
  // Events of one request, in one dialect, of one tenant.
  struct Request {
    virtual ~Request() = default;
    // Called once, on a thread of the queue, with one answer per event; the callee may move them
    // out. `self` is this request; it may be handed to the thread that allocated it and freed
    // there.
    virtual void Done(std::unique_ptr<Request> self, std::span<Result<Appended>> answers) = 0;

    Dialect dialect = Dialect::kNative;
    AppendDefaults defaults;
    std::vector<std::string_view> events;  // views into text that the request owns

   private:
    friend class AppendQueue;
    std::vector<Result<Appended>> answered_;  // answers of its first events if appended in parts
    std::span<const std::string_view> left() const {
      return std::span(events).subspan(answered_.size());
    }
  };

  explicit AppendQueue(Log& log);
  // Appends and answers everything added before.
  ~AppendQueue();

  void Add(std::unique_ptr<Request> request);
  // Starts appending what was added since the last Flush.
  void Flush();

 private:
  using Requests = std::vector<std::unique_ptr<Request>>;
  struct Part {
    std::unique_ptr<Request> request;
    std::size_t events = 0;  // the next ones to append
  };
  using Batch = std::vector<Part>;
  // Prefer one appender: alternating threads loses cache locality.
  struct Appender {
    std::condition_variable woken;
    bool busy = false;
    std::thread thread;
  };

  bool HasWorkFor(const Appender& appender) const;  // mutex_ held
  void Take(Batch& batch);                          // mutex_ held
  void PutBack(Batch& batch);                       // mutex_ held
  void Loop(Appender& own);
  // Answers the finished requests; the others stay in the batch.
  void Append(Batch& batch);

  Log& log_;
  std::mutex mutex_;
  Requests gathered_;           // guarded by mutex_, like all below
  std::size_t events_ = 0;      // in gathered_
  std::size_t taken_last_ = 0;  // requests in the last batch
  bool flushed_ = false;
  bool stop_ = false;
  Appender first_;
  Appender second_;  // runs beside the first, for large batches
};

}  // namespace everstep
