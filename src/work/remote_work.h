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

// Who asks for tasks: a process elsewhere, of one tenant.
struct WorkerSpec {
  std::string tenant_id;            // of the credential
  std::string name;                 // for people
  std::vector<std::string> kinds;   // what it can do
  std::vector<std::string> queues;  // which it serves; empty: those of its kinds
  std::uint32_t slots = 1;          // tasks at once
};

// A task that is lent to a worker. The token names this lease and no other.
struct LentTask {
  std::string token;
  Task task;  // inputs with secrets in place
  Timestamp lease_until{};
};

// What a worker says of a task it holds. `result`, `details` and `artifacts` are well-formed JSON.
struct WorkReport {
  std::string token;
  TaskOutcome outcome;
};

struct PollRequest {
  std::string tenant_id;  // of the credential; another's worker is not found
  std::string worker_id;
  std::vector<WorkReport> reports;
  std::vector<std::string> heartbeats;  // tokens
  std::uint32_t tasks_max = 1;
  std::chrono::milliseconds wait{0};  // for the first task
};

struct PollAnswer {
  std::vector<LentTask> tasks;
  struct Refused {
    std::string token;
    Error error;  // kStepAttemptStale: the lease was lost, or the run does not want it any more
  };
  std::vector<Refused> refused;   // reports that were not taken
  std::vector<std::string> stop;  // tokens whose work is not wanted any more
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
  std::uint64_t waiting = 0;  // tasks no worker has taken
  std::uint64_t held = 0;
  std::chrono::milliseconds oldest{0};  // how long the first has waited
  std::uint32_t workers = 0;            // that serve it now
  std::uint32_t concurrency = 0;        // zero: no limit
};

struct RemoteWorkOptions {
  std::chrono::milliseconds lease{30'000};             // prolonged by heartbeats
  std::chrono::milliseconds worker_forgotten{90'000};  // after so long without a call
  std::chrono::milliseconds wait_max{60'000};
  std::uint32_t workers_max = 10'000;
  std::uint32_t tenant_share = SharedLimit::kPercent;  // of workers_max, and of tools' slots
  std::uint32_t batch_max = 1'000;                     // reports, heartbeats and tasks of a poll
  std::string artifact_directory;                      // where large results are kept
  std::uint64_t inline_bytes_max = 65'536;             // larger results are
  bool threads = true;                                 // false: the owner calls Tick
};

// Tasks for workers in other processes: those of every kind that this machine has no tool for.
// Decorates the tools of this machine.
//
// A task waits in its queue until a worker that can do it asks. It is lent, not given: without a
// heartbeat or report in time the lease is over, the engine delivers the task again under the next
// engine attempt, and a report on the old token is refused. A report is answered when what follows
// from it is durable, together with the tasks that followed.
//
// Inside a queue the order is fair between tenants' runs as they came; a worker sees tasks of its
// own tenant only. Thread-safe.
class RemoteWork final : public ToolBox {
 public:
  RemoteWork(std::unique_ptr<ToolBox> local, std::shared_ptr<const Secrets> secrets, Clock& clock,
             Random& random, RemoteWorkOptions options);
  // Every task that is held or waits is reported as CANCELLED; polls are answered.
  ~RemoteWork() override;

  // ---- for workers
  // The worker's id. kInvalidArgument.
  Result<std::string> Register(WorkerSpec spec);  // also kAdmissionRejected: too many workers
  // `answer` is called once, on any thread, also from inside; it should hand over and return, since
  // it may be called on a thread that decides for runs. kWorkerNotFound: register (again).
  // kInvalidArgument: more than batch_max.
  //
  // It is answered when all its reports are durable and there is a task, or something to stop, or
  // nothing to wait for: `wait` is over, or `tasks_max` is zero.
  void Poll(PollRequest request, std::function<void(Result<PollAnswer>)> answer);
  // It gets no more tasks; those it holds it may still report.
  Status Drain(std::string_view tenant_id, std::string_view worker_id);
  // These leases end at once: the answer did not reach the worker, or it cannot do them after all.
  // Tokens that it does not hold are ignored.
  Status GiveBack(std::string_view tenant_id, std::string_view worker_id,
                  const std::vector<std::string>& tokens);
  // Its leases end at once.
  Status Remove(std::string_view tenant_id, std::string_view worker_id);

  // ---- for people
  std::vector<WorkerView> Workers(std::string_view tenant_id);
  std::vector<QueueView> Queues(std::string_view tenant_id);
  // Tasks of all tenants: how many wait and are held, and the age of the oldest; and the workers.
  QueueView Totals();
  Status SetConcurrency(std::string_view tenant_id, std::string_view queue, std::uint32_t limit);
  std::uint64_t leases_lost() const;
  std::chrono::milliseconds lease() const;
  // No poll gets a task any more, and none waits; reports are still taken. Before a shutdown.
  void StopLending();

  // Without threads: ends leases, polls and workers whose time is over. Answers when to come again;
  // unset: never.
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
