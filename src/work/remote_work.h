#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/shared_limit.h"
#include "everstep/result.h"
#include "run/tool.h"
#include "work/secrets.h"

namespace everstep {

// Describes a worker: a process elsewhere that executes tasks of one tenant.
struct WorkerSpec {
  std::string tenant_id;            // from the credential
  std::string name;                 // for display
  std::vector<std::string> kinds;   // the kinds of tasks that it can execute
  std::vector<std::string> queues;  // the queues that it serves; empty: those named after its kinds
  std::uint32_t slots = 1;          // the number of concurrent tasks
  bool by_operator = false;         // it may use the part of the limits that is reserved
};

// A task that is leased to a worker. The token identifies this lease only.
struct LentTask {
  std::string token;
  Task task;  // its inputs contain the secret values
  Timestamp lease_until{};
};

// A worker's report on a task that it holds. `result`, `details` and `artifacts` of the outcome are
// well-formed JSON.
struct WorkReport {
  std::string token;
  TaskOutcome outcome;
};

struct PollRequest {
  std::string tenant_id;  // from the credential; workers of other tenants are not found
  std::string worker_id;
  std::vector<WorkReport> reports;
  std::vector<std::string> heartbeats;  // tokens
  std::uint32_t tasks_max = 1;
  std::chrono::milliseconds wait{0};  // how long to wait for a task
  // Runs work that takes long: preparing an answer with large inputs or secrets. Null: the answer
  // is prepared on the thread that has its tasks.
  std::function<void(std::function<void()>)> elsewhere{};
};

struct PollAnswer {
  std::vector<LentTask> tasks;
  struct Refused {
    std::string token;
    Error error;  // kStepAttemptStale: the lease was lost, or the run no longer needs the result
  };
  std::vector<Refused> refused;   // reports that were rejected
  std::vector<std::string> stop;  // tokens whose work is no longer needed
  std::chrono::milliseconds lease{0};
};

struct WorkerView {
  std::string worker_id;
  WorkerSpec spec;
  std::uint32_t held = 0;
  bool draining = false;
  Timestamp seen_at{};
};

struct QueueView {
  std::string queue;
  std::uint64_t waiting = 0;  // tasks that no worker has taken
  std::uint64_t held = 0;
  std::chrono::milliseconds oldest{0};  // how long the oldest task has waited
  std::uint32_t workers = 0;            // the workers that serve it and are not draining
  std::uint32_t concurrency = 0;        // zero: no limit
};

struct RemoteWorkOptions {
  std::chrono::milliseconds lease{30'000};             // extended by heartbeats
  std::chrono::milliseconds worker_forgotten{90'000};  // time without a call
  std::chrono::milliseconds wait_max{60'000};
  // Together the workers serve at most ten times as many kinds in queues.
  std::uint32_t workers_max = 10'000;
  std::uint32_t tenant_share = SharedLimit::kPercent;  // of workers_max, and of tools' slots
  std::uint32_t batch_max = 1'000;                     // reports, heartbeats and tasks of a poll
  std::string artifact_directory;                      // for large results
  std::uint64_t inline_bytes_max = 65'536;             // larger results become artifacts
  bool threads = true;                                 // false: the owner calls Tick
};

// Distributes tasks to workers in other processes: all tasks of kinds for which this machine has no
// tool. Decorates the local tools.
//
// A task waits in its queue until a worker that supports its kind polls. The worker gets a lease:
// without a heartbeat or report in time the lease ends, the engine delivers the task again under
// the next engine attempt, and a report with the old token is rejected. A poll with reports is
// answered after their consequences are durable, together with the tasks that follow from them.
//
// Tasks of equal priority in a queue are handed out in order of arrival. A worker only gets tasks
// of its own tenant. Thread-safe.
class RemoteWork final : public ToolBox {
 public:
  RemoteWork(std::unique_ptr<ToolBox> local, std::shared_ptr<const Secrets> secrets, Clock& clock,
             Random& random, RemoteWorkOptions options);
  // Reports all held and waiting tasks as CANCELLED and answers all polls.
  ~RemoteWork() override;

  // ---- for workers
  // Returns the worker's id. Returns kInvalidArgument if the spec is invalid, or kAdmissionRejected
  // if there are too many workers, or too many kinds and queues that they serve.
  Result<std::string> Register(WorkerSpec spec);
  // `answer` is called exactly once, on any thread, possibly before Poll returns. It must not
  // block, since the thread may be one that makes decisions for runs. It gets kWorkerNotFound if
  // the worker must register (again), or kInvalidArgument for more than batch_max reports or
  // heartbeats.
  //
  // The poll is answered once all its reports are durable and there is a task for it or a token to
  // stop, or nothing to wait for: `wait` is over, `tasks_max` is zero, the worker is draining or
  // removed, or lending has stopped.
  void Poll(PollRequest request, std::function<void(Result<PollAnswer>)> answer);
  // The worker gets no more tasks, but can still report those that it holds.
  Status Drain(std::string_view tenant_id, std::string_view worker_id);
  // Ends these leases at once, because the answer did not reach the worker or the worker cannot
  // execute the tasks. Ignores tokens that the worker does not hold.
  Status GiveBack(std::string_view tenant_id, std::string_view worker_id,
                  const std::vector<std::string>& tokens);
  // Removes the worker and ends its leases at once.
  Status Remove(std::string_view tenant_id, std::string_view worker_id);

  // ---- for operators
  std::vector<WorkerView> Workers(std::string_view tenant_id);
  std::vector<QueueView> Queues(std::string_view tenant_id);
  // Totals over all tenants: waiting and held tasks, the age of the oldest task, and the number of
  // workers.
  QueueView Totals();
  Status SetConcurrency(std::string_view tenant_id, std::string_view queue, std::uint32_t limit);
  std::uint64_t leases_lost() const;
  std::chrono::milliseconds lease() const;
  // Prepares for a shutdown: from now on no poll gets a task or waits. Reports are still accepted.
  void StopLending();

  // Ends leases and polls and forgets workers whose time is over. Returns when to call it again, or
  // an unset timestamp for never. Must only be called if `threads` is false.
  Timestamp Tick();

  // ---- ToolBox
  bool Has(std::string_view kind) const override;
  bool Immediate(std::string_view kind) const override;
  TaskOutcome RunNow(const Task& task) override;
  void Start(Task task, TaskReports& reports) override;
  void Cancel(const TaskId& task, bool force) override;
  std::uint32_t Slots(std::string_view kind) const override;
  std::vector<std::string> Kinds() const override;
  bool HasOthers() const override { return true; }
  bool WaitsForWorker(std::string_view kind) const override;
  void Flush() override;
  std::string WhyWaiting(const TaskId& task) const override;
  std::uint64_t waiting() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace everstep
