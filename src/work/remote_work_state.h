#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "work/outcome_record.h"
#include "work/remote_queues.h"
#include "work/remote_task.h"
#include "work/remote_work.h"

namespace everstep {

struct TaskIdHash {
  std::size_t operator()(const TaskId& id) const {
    const std::size_t run = std::hash<std::string_view>{}(id.run_id.value());
    const std::size_t step = std::hash<std::string_view>{}(id.step_id);
    return (run * 31 + step) * 31 + id.logical_attempt * 7 + id.engine_attempt;
  }
};

// The state of remote work and the operations on it. Calls to other components (reports, answers,
// secrets) are collected in `Outcalls` under the lock and made after it is released.
struct RemoteWork::State {
  // A poll to be answered, with its tasks.
  struct Answered {
    std::shared_ptr<RemotePoll> poll;
    std::vector<LentTask> tasks;
    std::vector<TaskReports*> reports;  // parallel to `tasks`
  };
  struct Gone {
    TaskId id;
    TaskReports* reports;
  };
  struct Outcalls {
    std::vector<Answered> answered;
    std::vector<Gone> lost;
    std::vector<Gone> cancelled;
    std::vector<Gone> beats;
  };
  // An accepted report. Its lease has ended.
  struct Reported {
    TaskId id;
    TaskReports* reports;
    std::shared_ptr<const SecretMask> mask;
    TaskOutcome outcome;
  };

  State(std::unique_ptr<ToolBox> local, std::shared_ptr<const Secrets> secrets, Clock& clock,
        Random& random, RemoteWorkOptions options);

  // ---- under the lock: remote_work.cc
  Timestamp Now();  // monotonic: does not repeat time if the clock jumps back
  std::string NewName();
  std::shared_ptr<RemoteWorker> Find(std::string_view tenant_id, std::string_view worker_id) const;
  void Seen(RemoteWorker& worker);
  void Forget(const std::shared_ptr<RemoteWorker>& worker, Outcalls& out);
  Status CheckSpec(const WorkerSpec& spec) const;
  // How much of the limits a party (a tenant, or the operator) uses.
  struct Share {
    std::uint64_t workers = 0;
    std::uint64_t places = 0;  // a kind in a queue
  };
  static std::string PartyOf(const WorkerSpec& spec);
  static std::uint64_t PlacesOf(const WorkerSpec& spec);
  Status CheckRoom(const WorkerSpec& spec) const;
  void StopLending(Outcalls& out);
  void AnswerPolls(RemoteWorker& worker, Outcalls& out);  // answers all its waiting polls

  // ---- under the lock: remote_lease.cc
  LentTask Lend(RemoteTask& task, RemoteWorker& worker);
  // Ends the lease and deletes the task. ServeFreed must follow before the lock is released.
  void End(RemoteTask& task);
  void Lose(RemoteTask& task, Outcalls& out);
  void Cancel(RemoteTask& task, bool force, Outcalls& out);
  Timestamp EndWhatIsDue(Outcalls& out);
  void WakeTimer(Timestamp due_at);

  // ---- under the lock: remote_poll.cc
  std::vector<Reported> TakeReports(RemotePoll& poll, std::vector<WorkReport> reports,
                                    Outcalls& out);
  void Beat(RemotePoll& poll, const std::vector<std::string>& tokens, Outcalls& out);
  // Requires: all reports of the poll are durable. Answers it with tasks, answers it without, or
  // lets it wait.
  void Settle(const std::shared_ptr<RemotePoll>& poll, Outcalls& out);
  bool Give(const std::shared_ptr<RemotePoll>& poll, Outcalls& out);
  void Park(const std::shared_ptr<RemotePoll>& poll);
  void Unpark(RemotePoll& poll);
  void Answer(std::shared_ptr<RemotePoll> poll, Outcalls& out);
  void Serve(RemoteWorker& worker, Outcalls& out);
  void Serve(RemoteShelf& shelf, Outcalls& out);
  void ServeQueue(RemoteQueue& queue, Outcalls& out);
  // Serves the queues that were full, once for all tasks that ended.
  void ServeFreed(Outcalls& out);

  // ---- without the lock
  void Make(Outcalls out);
  void Finish(Answered answered);
  bool PutSecretsInto(LentTask& lent, TaskReports& reports);
  void ReportAnswered(const std::shared_ptr<RemotePoll>& poll, std::size_t index,
                      const Status& status);
  void WatchClock();

  const RemoteWorkOptions options;
  const std::unique_ptr<ToolBox> local;
  const std::shared_ptr<const Secrets> secrets;
  const OutcomeRecord record;
  Clock& clock;
  Random& random;

  mutable std::mutex mutex;
  // `mutex` guards all members below.
  Timestamp last_now{};
  std::chrono::microseconds behind{0};  // total distance by which the clock has jumped back
  RemoteQueues queues;
  std::unordered_map<TaskId, std::unique_ptr<RemoteTask>, TaskIdHash> tasks;
  std::unordered_map<std::string_view, RemoteTask*> by_token;
  std::list<RemoteTask*> leases;  // ordered by the end of the lease
  std::unordered_map<std::string, std::shared_ptr<RemoteWorker>> workers;
  std::unordered_map<std::string, Share> shares;     // by party
  std::uint64_t places = 0;                          // of all workers
  std::list<RemoteWorker*> seen;                     // ordered by last call
  std::multimap<Timestamp, RemotePoll*> patience;    // waiting polls by deadline
  std::vector<RemoteShelf*> news;                    // shelves with new tasks since the last flush
  std::vector<std::shared_ptr<RemotePoll>> durable;  // whose reports became durable since then
  std::vector<RemoteQueue*> with_room;               // empty whenever the lock is free
  std::uint64_t leases_lost = 0;
  bool lends = true;

  bool stop = false;
  Timestamp timer_until{};  // when the timer wakes up; unset while it is awake
  std::condition_variable timer_wake;
  std::thread timer;
};

}  // namespace everstep
