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

// The tables of remote work and what is done with them. Whatever is called outside (reports,
// answers, secrets) is gathered under the lock as `Outcalls` and made without it.
struct RemoteWork::State {
  // A poll that is over, with what it gets.
  struct Answered {
    std::shared_ptr<RemotePoll> poll;
    std::vector<LentTask> tasks;
    std::vector<TaskReports*> reports;  // of each task
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
  // A report whose lease has ended with it.
  struct Reported {
    TaskId id;
    TaskReports* reports;
    std::shared_ptr<const SecretMask> mask;
    TaskOutcome outcome;
  };

  State(std::unique_ptr<ToolBox> local, std::shared_ptr<const Secrets> secrets, Clock& clock,
        Random& random, RemoteWorkOptions options);

  // ---- under the lock: remote_work.cc
  Timestamp Now();  // never goes back, and goes on from there
  std::string NewName();
  std::shared_ptr<RemoteWorker> Find(std::string_view tenant_id, std::string_view worker_id) const;
  void Seen(RemoteWorker& worker);
  void Forget(const std::shared_ptr<RemoteWorker>& worker, Outcalls& out);
  Status CheckSpec(const WorkerSpec& spec) const;
  Status CheckRoom(const std::string& tenant_id) const;
  void StopLending(Outcalls& out);
  void AnswerPolls(RemoteWorker& worker, Outcalls& out);  // with what they have

  // ---- under the lock: remote_lease.cc
  LentTask Lend(RemoteTask& task, RemoteWorker& worker);
  // The lease and the task are over; the task is gone.
  void End(RemoteTask& task, Outcalls& out);
  void Lose(RemoteTask& task, Outcalls& out);
  void Cancel(RemoteTask& task, bool force, Outcalls& out);
  Timestamp EndWhatIsDue(Outcalls& out);
  void WakeTimer(Timestamp due_at);

  // ---- under the lock: remote_poll.cc
  std::vector<Reported> TakeReports(RemotePoll& poll, std::vector<WorkReport> reports,
                                    Outcalls& out);
  void Beat(RemotePoll& poll, const std::vector<std::string>& tokens, Outcalls& out);
  // Its reports are durable: it gets tasks, or waits for them, or is over.
  void Settle(const std::shared_ptr<RemotePoll>& poll, Outcalls& out);
  bool Give(const std::shared_ptr<RemotePoll>& poll, Outcalls& out);
  void Park(const std::shared_ptr<RemotePoll>& poll);
  void Unpark(RemotePoll& poll);
  void Answer(std::shared_ptr<RemotePoll> poll, Outcalls& out);
  void Serve(RemoteWorker& worker, Outcalls& out);
  void Serve(RemoteShelf& shelf, Outcalls& out);
  void ServeQueue(RemoteQueue& queue, Outcalls& out);

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
  // All below is guarded by it.
  Timestamp last_now{};
  std::chrono::microseconds behind{0};  // how far the clock has jumped back
  RemoteQueues queues;
  std::unordered_map<TaskId, std::unique_ptr<RemoteTask>, TaskIdHash> tasks;
  std::unordered_map<std::string_view, RemoteTask*> by_token;
  std::list<RemoteTask*> leases;  // in the order of their ends
  std::unordered_map<std::string, std::shared_ptr<RemoteWorker>> workers;
  std::list<RemoteWorker*> seen;  // in the order of their last calls
  std::multimap<Timestamp, RemotePoll*> patience;
  std::vector<RemoteShelf*> news;
  std::vector<std::shared_ptr<RemotePoll>> durable;  // their reports are, since the last flush
  std::uint64_t leases_lost = 0;
  bool lends = true;

  bool stop = false;
  Timestamp timer_until{};  // when the timer looks again; unset: it is awake
  std::condition_variable timer_wake;
  std::thread timer;
};

}  // namespace everstep
