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

// One delivery of one attempt of a step. `engine_attempt` fences it: the report of an earlier
// delivery is refused.
struct TaskId {
  RunId run_id;
  std::string step_id;
  std::uint32_t logical_attempt = 1;
  std::uint32_t engine_attempt = 1;

  auto operator<=>(const TaskId&) const = default;
};

// What a tool is asked to do.
struct Task {
  TaskId id;
  std::string kind;
  std::string queue;          // the step's own; if it has none, its kind
  std::int32_t priority = 0;  // larger first
  RunScope scope;
  std::string inputs;  // JSON object, rendered; a secret stands in its texts as
                       // secret_prefix + name + ";"
  std::vector<SecretRef> secrets;
  std::string secret_prefix;    // made for this attempt, so that no data can imitate a secret
  std::string idempotency_key;  // the same for every delivery of the logical attempt
  std::string traceparent;      // of who started the run; may be empty
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
  // Of a failure:
  std::string error_code;  // HTTP_STATUS, TIMEOUT, …: docs/tools.md
  std::string error_message;
  bool retryable = false;
  bool permanent = false;                   // no attempt is of use, whatever the plan retries on
  std::string category;                     // USER, SYSTEM, PLATFORM, TIMEOUT
  std::string details;                      // JSON, or empty
  std::optional<Milliseconds> retry_after;  // the callee asked for it

  static TaskOutcome Success(std::string result_json);
  static TaskOutcome Failure(std::string code, std::string message, bool retryable,
                             std::string category = "SYSTEM");
};

// Where tools report. Thread-safe; may be called from inside Start.
class TaskReports {
 public:
  virtual ~TaskReports() = default;
  virtual void Finished(const TaskId& task, TaskOutcome outcome) = 0;
  // `answer` is called once, on any thread, whatever happens: Ok when the outcome is durable;
  // kStepAttemptStale when this delivery is not the one that runs; the store's error;
  // kEngineStopped. It neither waits nor calls back. After it, and after the tasks that follow from
  // the outcome, comes ToolBox::Flush.
  virtual void Finished(const TaskId& task, TaskOutcome outcome,
                        std::function<void(Status)> answer) = 0;
  // Instead of Finished: nobody works on it any more. It is delivered again if it still runs.
  virtual void Lost(const TaskId& task) = 0;
  // Of tasks that wait for a worker (ToolBox::WaitsForWorker): one has begun.
  virtual void Taken(const TaskId& task) = 0;
  virtual void Heartbeat(const TaskId& task) = 0;
};

// The tools of this machine. Thread-safe.
class ToolBox {
 public:
  virtual ~ToolBox() = default;
  virtual bool Has(std::string_view kind) const = 0;
  // It has kinds that Kinds does not name.
  virtual bool HasOthers() const { return false; }
  // An immediate tool computes and returns; it neither waits nor has effects outside.
  virtual bool Immediate(std::string_view kind) const = 0;
  virtual TaskOutcome RunNow(const Task& task) = 0;
  // Tasks of the kind wait for a worker before they begin: the times of an attempt count from
  // TaskReports::Taken and not from Start.
  virtual bool WaitsForWorker(std::string_view /*kind*/) const { return false; }
  // Every started task is reported exactly once, also when it was cancelled.
  virtual void Start(Task task, TaskReports& reports) = 0;
  // Asks the task to stop; with `force` it is stopped. It still reports (CANCELLED). Unknown tasks
  // are ignored.
  virtual void Cancel(const TaskId& task, bool force) = 0;
  // How many tasks of a kind run at once; the engine starts no more. Zero: no limit.
  virtual std::uint32_t Slots(std::string_view kind) const = 0;
  virtual std::vector<std::string> Kinds() const = 0;
  // Called after Start, once for all tasks that were started together.
  virtual void Flush() {}
  // Why a task that was started has not begun, to be put behind the name of its step; empty: it
  // has.
  virtual std::string WhyWaiting(const TaskId& /*task*/) const { return {}; }
  // Started tasks that have not begun.
  virtual std::uint64_t waiting() const { return 0; }
};

}  // namespace everstep
