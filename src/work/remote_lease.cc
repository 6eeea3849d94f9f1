// Granting and ending leases, and the timer that ends them.

#include <algorithm>
#include <utility>

#include "work/remote_work_state.h"

namespace everstep {

LentTask RemoteWork::State::Lend(RemoteTask& task, RemoteWorker& worker) {
  task.worker = &worker;
  task.token = NewName();
  task.place = worker.held.insert(worker.held.end(), &task);
  task.lease_until = Now() + options.lease;
  task.lease = leases.insert(leases.end(), &task);
  by_token.emplace(task.token, &task);
  LentTask lent;
  lent.token = task.token;
  lent.lease_until = task.lease_until - behind;
  TaskId id = task.task.id;
  lent.task = std::move(task.task);
  task.task = {};
  task.task.id = std::move(id);
  return lent;
}

void RemoteWork::State::End(RemoteTask& task) {
  RemoteWorker& worker = *task.worker;
  worker.held.erase(task.place);
  leases.erase(task.lease);
  by_token.erase(task.token);
  queues.Update(worker);
  RemoteQueue& queue = *task.shelf->queue;
  const bool others_may_go = queues.Release(task);
  tasks.erase(tasks.find(task.task.id));
  // A queue with a limit is not forgotten.
  if (others_may_go && !std::exchange(queue.has_room, true)) with_room.push_back(&queue);
}

void RemoteWork::State::Lose(RemoteTask& task, Outcalls& out) {
  ++leases_lost;
  out.lost.push_back({task.task.id, task.reports});
  End(task);
}

void RemoteWork::State::Cancel(RemoteTask& task, bool force, Outcalls& out) {
  if (task.worker == nullptr) {
    out.cancelled.push_back({task.task.id, task.reports});
    queues.Remove(task);
    tasks.erase(tasks.find(task.task.id));
    return;
  }
  RemoteWorker& worker = *task.worker;
  worker.stop.insert(task.token);
  if (force) {
    out.cancelled.push_back({task.task.id, task.reports});
    End(task);
  }
  if (worker.polls.empty()) return;
  const std::shared_ptr<RemotePoll> poll = worker.polls.front();
  Unpark(*poll);
  Answer(poll, out);
}

// ---- time

Timestamp RemoteWork::State::EndWhatIsDue(Outcalls& out) {
  const Timestamp now = Now();
  while (!leases.empty() && leases.front()->lease_until <= now) Lose(*leases.front(), out);
  while (!patience.empty() && patience.begin()->first <= now) {
    const std::shared_ptr<RemotePoll> poll = *patience.begin()->second->place;
    Unpark(*poll);
    Answer(poll, out);
  }
  while (!seen.empty() && seen.front()->seen_at + options.worker_forgotten <= now) {
    RemoteWorker& worker = *seen.front();
    if (worker.polls.empty()) {
      Forget(workers.at(worker.id), out);
    } else {
      Seen(worker);
    }
  }
  ServeFreed(out);
  Timestamp next{};
  const auto consider = [&next](Timestamp at) {
    if (next == Timestamp{} || at < next) next = at;
  };
  if (!leases.empty()) consider(leases.front()->lease_until);
  if (!patience.empty()) consider(patience.begin()->first);
  if (!seen.empty()) consider(seen.front()->seen_at + options.worker_forgotten);
  return next;
}

void RemoteWork::State::WakeTimer(Timestamp due_at) {
  if (timer_until != Timestamp{} && due_at < timer_until) timer_wake.notify_one();
}

void RemoteWork::State::WatchClock() {
  constexpr std::chrono::microseconds kLongest = std::chrono::hours(1);
  while (true) {
    Outcalls out;
    {
      std::unique_lock lock(mutex);
      if (stop) return;
      const Timestamp next = EndWhatIsDue(out);
      const bool idle = out.answered.empty() && out.lost.empty();
      if (idle) {
        const Timestamp now = Now();
        const auto left = next == Timestamp{} ? kLongest : std::min(kLongest, next - now);
        timer_until = now + left;
        timer_wake.wait_for(lock, left);
        timer_until = {};
      }
      if (stop) return;
    }
    Make(std::move(out));
  }
}

}  // namespace everstep
