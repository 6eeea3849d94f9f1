#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "everstep/result.h"
#include "flow/plan.h"

namespace everstep {

// One delivery of one attempt of a step. `engine_attempt` is a fencing token: the report of an
// earlier delivery is refused.
struct TaskId {
  RunId run_id;
  std::string step_id;
  std::uint32_t logical_attempt = 1;
  std::uint32_t engine_attempt = 1;

  auto operator<=>(const TaskId&) const = default;
};

// A call of a tool.
struct Task {
  TaskId id;
  std::string kind;
  std::string queue;          // the step's own; if it has none, its kind
  std::int32_t priority = 0;  // larger first
  RunScope scope;
  std::string inputs;  // JSON object, rendered; in its texts, a secret is represented by
                       // secret_prefix + name + ";"
  std::vector<SecretRef> secrets;
  std::string secret_prefix;    // unique to the attempt, so that no data can imitate a secret
  std::string idempotency_key;  // the same for every delivery of the logical attempt
  std::string traceparent;      // of the request that started the run; may be empty
  std::string tracestate;       // likewise
  std::vector<std::string> artifacts;             // patterns of files to keep
  std::optional<Milliseconds> timeout;            // the engine also enforces it
  std::optional<Milliseconds> heartbeat_timeout;  // likewise
};

// How a task ended.
struct TaskOutcome {
  bool succeeded = true;
  std::string result;     // JSON value; empty: null
  std::string artifacts;  // JSON array of ArtifactRef; empty: none
  // Only for failures:
  std::string error_code;  // HTTP_STATUS, TIMEOUT, …: docs/tools.md
  std::string error_message;
  bool retryable = false;
  bool permanent = false;                   // never retry, whatever the plan's policy says
  std::string category;                     // USER, SYSTEM, PLATFORM, TIMEOUT
  std::string details;                      // JSON, or empty
  std::optional<Milliseconds> retry_after;  // requested by the callee

  static TaskOutcome Success(std::string result_json);
  static TaskOutcome Failure(std::string code, std::string message, bool retryable,
                             std::string category = "SYSTEM");
};

// Where tools report. Thread-safe; may be called from inside Start.
class TaskReports {
 public:
  virtual ~TaskReports() = default;
  virtual void Finished(const TaskId& task, TaskOutcome outcome) = 0;
  // `answer` is called exactly once, on any thread: with Ok once the outcome is durable; with
  // kStepAttemptStale if this is not the current delivery; with the store's error; or with
  // kEngineStopped. `answer` must neither block nor call back. ToolBox::Flush is called after it
  // and after the start of tasks that follow from the outcome.
  virtual void Finished(const TaskId& task, TaskOutcome outcome,
                        std::function<void(Status)> answer) = 0;
  // Instead of Finished: the task's worker is lost. It is delivered again if it is still wanted.
  virtual void Lost(const TaskId& task) = 0;
  // For kinds with ToolBox::WaitsForWorker: a worker has begun the task.
  virtual void Taken(const TaskId& task) = 0;
  virtual void Heartbeat(const TaskId& task) = 0;
};

// The tools of this machine. Thread-safe.
class ToolBox {
 public:
  virtual ~ToolBox() = default;
  virtual bool Has(std::string_view kind) const = 0;
  // Whether there are kinds that Kinds does not list.
  virtual bool HasOthers() const { return false; }
  // An immediate tool computes and returns. It neither blocks nor has external effects.
  virtual bool Immediate(std::string_view kind) const = 0;
  virtual TaskOutcome RunNow(const Task& task) = 0;
  // Whether tasks of the kind wait for a worker before they begin. The timeouts of an attempt then
  // count from TaskReports::Taken instead of Start.
  virtual bool WaitsForWorker(std::string_view /*kind*/) const { return false; }
  // Every started task is reported exactly once, even if it was cancelled.
  virtual void Start(Task task, TaskReports& reports) = 0;
  // Asks the task to stop; with `force`, stops it. It still reports (CANCELLED). Ignores unknown
  // tasks.
  virtual void Cancel(const TaskId& task, bool force) = 0;
  // How many tasks of a kind may run at once; the engine starts no more. Zero: no limit.
  virtual std::uint32_t Slots(std::string_view kind) const = 0;
  virtual std::vector<std::string> Kinds() const = 0;
  // Called after Start, once for all tasks that were started together.
  virtual void Flush() {}
  // Why a started task has not begun, as a predicate for its step ("waits for a worker"); empty if
  // it has begun.
  virtual std::string WhyWaiting(const TaskId& /*task*/) const { return {}; }
  // The number of started tasks that have not begun.
  virtual std::uint64_t waiting() const { return 0; }
};

}  // namespace everstep
