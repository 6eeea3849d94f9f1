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

// Appends for those who cannot wait: what io threads gather goes to the log in one call, and with
// it into one durable write. While that is under way the next batch gathers, so that under load a
// write serves many; only a large batch is worth a second thread, which checks it while the first
// waits for the disk. Thread-safe.
//
// A batch is bounded in events and bytes. A request with more is taken in parts, and what others
// have added meanwhile goes between them; the events of a request are appended in their order.
//
// Under load the clients fall into two groups: one waits for its write while the other is answered
// and asks again. A batch therefore takes half of those who append, not all that have come: were
// one group larger, the clients would rest while it is written, and the disk while it is answered.
class AppendQueue {
 public:
  // Events of one request, in one dialect, of one tenant.
  struct Request {
    virtual ~Request() = default;
    // Called once, on a thread of the queue: one answer for each event, to be taken away. `self` is
    // this request: it can end on the thread that has made it, whose memory it is.
    virtual void Done(std::unique_ptr<Request> self, std::span<Result<Appended>> answers) = 0;

    Dialect dialect = Dialect::kNative;
    AppendDefaults defaults;
    std::vector<std::string_view> events;  // in a text that the request owns

   private:
    friend class AppendQueue;
    std::vector<Result<Appended>> answered_;  // of its first events, if it is taken in parts
    std::span<const std::string_view> left() const {
      return std::span(events).subspan(answered_.size());
    }
  };

  explicit AppendQueue(Log& log);
  // What was added is appended and answered.
  ~AppendQueue();

  void Add(std::unique_ptr<Request> request);
  // What was added since goes on its way.
  void Flush();

 private:
  using Requests = std::vector<std::unique_ptr<Request>>;
  struct Part {
    std::unique_ptr<Request> request;
    std::size_t events = 0;  // that are next
  };
  using Batch = std::vector<Part>;
  // Two that took turns would each find the memory that it needs in the other's caches.
  struct Appender {
    std::condition_variable woken;
    bool busy = false;
    std::thread thread;
  };

  bool HasWorkFor(const Appender& appender) const;  // mutex_ held
  void Take(Batch& batch);                          // mutex_ held
  void PutBack(Batch& batch);                       // mutex_ held
  void Loop(Appender& own);
  // Answers those that are done; the others stay in the batch.
  void Append(Batch& batch);

  Log& log_;
  std::mutex mutex_;
  Requests gathered_;           // guarded by mutex_, as all below
  std::size_t events_ = 0;      // in it
  std::size_t taken_last_ = 0;  // requests
  bool flushed_ = false;
  bool stop_ = false;
  Appender first_;
  Appender second_;  // for large batches beside the first
};

}  // namespace everstep
