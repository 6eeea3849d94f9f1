#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/client.h"
#include "everstep/result.h"

namespace everstep {

struct WorkerOptions {
  ClientOptions server;             // its url and the token of a worker
  std::string name;                 // for people
  std::vector<std::string> queues;  // which to serve; empty: those of the kinds
  std::uint32_t slots = 16;         // tasks held at once; at most 1,000
  // That run handlers. Fewer than slots: the rest waits here, so that the next task needs no round
  // trip; for handlers that are quick. Zero: one per slot.
  std::uint32_t threads = 0;
  std::chrono::milliseconds poll_wait{30'000};      // how long the server keeps a poll
  std::chrono::milliseconds backoff_max{5'000};     // between tries while the server is away
  std::chrono::milliseconds drain_timeout{20'000};  // for what runs when it is stopped
};

// A task as its handler sees it.
struct TaskCall {
  std::string run_id;
  std::string step_id;
  std::string kind;
  std::string queue;
  std::uint32_t logical_attempt = 0;
  std::uint32_t engine_attempt = 0;
  std::string idempotency_key;           // the same for every delivery of this attempt
  std::string inputs;                    // JSON object, secrets in place
  std::chrono::milliseconds timeout{0};  // zero: none
  std::string project_id;
  std::string environment_id;

  // The result is not wanted any more: the step was cancelled, or the lease was lost. Any thread.
  bool cancelled() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }

  std::shared_ptr<const std::atomic<bool>> stop;
};

// How a task ended.
struct TaskResult {
  struct Failure {
    std::string code;  // an identifier: "CARD_DECLINED"
    std::string message;
    bool retryable = false;
    std::string category;  // USER, SYSTEM, PLATFORM or TIMEOUT; empty: SYSTEM
    std::string details;   // JSON, or empty
    std::optional<std::chrono::milliseconds> retry_after;
  };

  std::string result;            // JSON, or empty
  std::string artifacts;         // JSON list of ArtifactRef, or empty
  std::optional<Failure> error;  // nothing: it succeeded

  static TaskResult Success(std::string result_json = {}) {
    return {std::move(result_json), {}, std::nullopt};
  }
  static TaskResult Failed(std::string code, std::string message, bool retryable = false) {
    return {{}, {}, Failure{std::move(code), std::move(message), retryable, {}, {}, std::nullopt}};
  }
};

// Does tasks of a server in this process, by HTTP.
//
// Tasks are lent: leases are prolonged while a handler runs, and a task whose lease is lost is
// delivered again, perhaps to another worker, so a handler may run twice for one attempt. Results
// travel with the next request for tasks; one that is waiting for tasks holds none up. While the
// server is away finished results are kept and sent when it is back.
class Worker {
 public:
  // Runs on a thread of the worker; several at a time. A std::exception it throws becomes a failure
  // that may be retried (WORKER_EXCEPTION); what is not JSON one that may not
  // (WORKER_RESULT_INVALID).
  using Handler = std::function<TaskResult(const TaskCall&)>;

  explicit Worker(WorkerOptions options);
  // Not while Run is under way.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Before Run. The last handler of a kind counts.
  void Handle(std::string kind, Handler handler);

  // Once. Registers, does tasks until Stop, and finishes those it holds: no new ones are taken,
  // results are reported, and after drain_timeout handlers see cancelled(). Returns when all
  // handlers have. kInvalidArgument: the options, or no handler. kAuthzDenied: the token does not
  // allow it. Otherwise it goes on trying.
  Status Run();
  // Any thread; also before Run.
  void Stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace everstep
