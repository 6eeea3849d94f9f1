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
  ClientOptions server;             // URL and worker token
  std::string name;                 // for display
  std::vector<std::string> queues;  // queues to serve; empty: those of the handled kinds
  std::uint32_t slots = 16;         // tasks held at once; at most 1,000
  // Threads that run handlers; zero: one per slot. With fewer threads than slots, tasks are
  // prefetched and start without a round trip, which suits short handlers.
  std::uint32_t threads = 0;
  std::chrono::milliseconds poll_wait{30'000};      // how long the server may hold a poll
  std::chrono::milliseconds backoff_max{5'000};     // between attempts while it is unreachable
  std::chrono::milliseconds drain_timeout{20'000};  // for handlers still running at Stop
};

// A task, as passed to its handler.
struct TaskCall {
  std::string run_id;
  std::string step_id;
  std::string kind;
  std::string queue;
  std::uint32_t logical_attempt = 0;
  std::uint32_t engine_attempt = 0;
  std::string idempotency_key;           // the same for every delivery of this attempt
  std::string inputs;                    // JSON object, with secrets filled in
  std::chrono::milliseconds timeout{0};  // zero: none
  std::string project_id;
  std::string environment_id;

  // True if the result is no longer needed: the step was cancelled or the lease was lost. May be
  // called on any thread.
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
  std::optional<Failure> error;  // unset: the task succeeded

  static TaskResult Success(std::string result_json = {}) {
    return {std::move(result_json), {}, std::nullopt};
  }
  static TaskResult Failed(std::string code, std::string message, bool retryable = false) {
    return {{}, {}, Failure{std::move(code), std::move(message), retryable, {}, {}, std::nullopt}};
  }
};

// Executes tasks of a server in this process. Talks to the server over HTTP.
//
// Tasks are leased. A lease is extended while the handler runs; a task whose lease is lost is
// delivered again, possibly to another worker, so a handler may run more than once for one attempt.
// Results are sent with the next request for tasks; a request that is waiting for tasks does not
// delay them. While the server is unreachable, finished results are kept and sent later.
class Worker {
 public:
  // Called concurrently on the worker's threads. A std::exception becomes a retryable failure
  // (WORKER_EXCEPTION), a result that is not JSON a permanent one (WORKER_RESULT_INVALID).
  using Handler = std::function<TaskResult(const TaskCall&)>;

  explicit Worker(WorkerOptions options);
  // Requires: Run is not in progress.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Sets the handler of a kind, replacing an earlier one. Must be called before Run.
  void Handle(std::string kind, Handler handler);

  // Registers the worker and executes tasks until Stop, then finishes the tasks it holds: takes no
  // new ones, reports results, and cancels (see TaskCall::cancelled) what still runs after
  // drain_timeout. Returns when all handlers have returned. May be called once.
  // kInvalidArgument: invalid options, or no handler. kUnauthenticated, kAuthzDenied: the token is
  // invalid or does not permit this. Retries while the server is unreachable.
  Status Run();
  // May be called on any thread, and before Run.
  void Stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace everstep
