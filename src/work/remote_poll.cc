// Processing a poll: first its reports, then its tasks.

#include <algorithm>
#include <array>
#include <utility>

#include "event/identifier.h"
#include "work/remote_work_state.h"
#include "work/task_secrets.h"

namespace everstep {
namespace {

Error NotHeld() {
  return {
      ErrorCode::kStepAttemptStale,
      "the lease has ended: the task was already reported, was stopped, or went to another worker",
      {}};
}

// Whether an answer with these tasks can be prepared by a thread that serves everybody.
bool IsQuick(const std::vector<LentTask>& tasks) {
  constexpr std::size_t kInputBytes = 64 << 10;
  std::size_t bytes = 0;
  for (const LentTask& lent : tasks) {
    bytes += lent.task.inputs.size();
    if (!lent.task.secrets.empty() || bytes > kInputBytes) return false;
  }
  return true;
}

// Replaces error codes and categories that the log cannot record.
TaskOutcome Cleaned(TaskOutcome outcome) {
  if (outcome.succeeded) return outcome;
  if (!IsIdentifier(outcome.error_code)) outcome.error_code = "WORKER_FAILED";
  constexpr std::array<std::string_view, 4> kCategories = {"USER", "SYSTEM", "PLATFORM", "TIMEOUT"};
  if (std::ranges::find(kCategories, outcome.category) == kCategories.end()) {
    outcome.category = "SYSTEM";
  }
  return outcome;
}

}  // namespace

// ---- under the lock

std::vector<RemoteWork::State::Reported> RemoteWork::State::TakeReports(
    RemotePoll& poll, std::vector<WorkReport> reports, Outcalls& out) {
  std::vector<Reported> taken;
  for (WorkReport& report : reports) {
    const auto found = by_token.find(report.token);
    if (found == by_token.end() || found->second->worker != poll.worker.get()) {
      poll.given.refused.push_back({std::move(report.token), NotHeld()});
      continue;
    }
    RemoteTask& task = *found->second;
    taken.push_back({task.task.id, task.reports, std::move(task.mask), std::move(report.outcome)});
    End(task);
    poll.tokens.push_back(std::move(report.token));
  }
  ServeFreed(out);
  return taken;
}

void RemoteWork::State::Beat(RemotePoll& poll, const std::vector<std::string>& tokens,
                             Outcalls& out) {
  for (const std::string& token : tokens) {
    const auto found = by_token.find(token);
    if (found == by_token.end() || found->second->worker != poll.worker.get()) {
      poll.given.stop.push_back(token);
      continue;
    }
    RemoteTask& task = *found->second;
    task.lease_until = Now() + options.lease;
    leases.splice(leases.end(), leases, task.lease);
    if (task.beats) out.beats.push_back({task.task.id, task.reports});
  }
}

void RemoteWork::State::Settle(const std::shared_ptr<RemotePoll>& poll, Outcalls& out) {
  // A poll that cannot get tasks does not wait.
  const bool reports_only =
      poll->tasks_max == 0 || poll->worker->removed || poll->worker->draining || !lends;
  if (!reports_only && Give(poll, out)) return;
  if (reports_only || poll->until <= Now() || !poll->worker->stop.empty() ||
      !poll->given.stop.empty()) {
    return Answer(poll, out);
  }
  Park(poll);
}

// Answers the poll if there are tasks for it.
bool RemoteWork::State::Give(const std::shared_ptr<RemotePoll>& poll, Outcalls& out) {
  if (!lends) return false;
  RemoteWorker& worker = *poll->worker;
  const auto taken = queues.Take(worker, std::min(poll->tasks_max, worker.free_slots()));
  if (taken.empty()) return false;
  Answered answered;
  for (RemoteTask* task : taken) {
    answered.reports.push_back(task->reports);
    answered.tasks.push_back(Lend(*task, worker));
  }
  queues.Update(worker);
  WakeTimer(leases.front()->lease_until);
  Answer(poll, out);
  answered.poll = std::move(out.answered.back().poll);
  out.answered.back() = std::move(answered);
  return true;
}

void RemoteWork::State::Park(const std::shared_ptr<RemotePoll>& poll) {
  RemoteWorker& worker = *poll->worker;
  poll->place = worker.polls.insert(worker.polls.end(), poll);
  poll->impatience = patience.emplace(poll->until, poll.get());
  queues.Update(worker);
  WakeTimer(poll->until);
}

void RemoteWork::State::Unpark(RemotePoll& poll) {
  RemoteWorker& worker = *poll.worker;
  worker.polls.erase(poll.place);
  patience.erase(poll.impatience);
  queues.Update(worker);
}

void RemoteWork::State::Answer(std::shared_ptr<RemotePoll> poll, Outcalls& out) {
  RemoteWorker& worker = *poll->worker;
  if (!worker.removed) Seen(worker);
  for (const std::string& token : std::exchange(worker.stop, {})) {
    poll->given.stop.push_back(token);
  }
  out.answered.push_back({std::move(poll), {}, {}});
}

void RemoteWork::State::Serve(RemoteWorker& worker, Outcalls& out) {
  while (!worker.polls.empty() && worker.free_slots() > 0) {
    const std::shared_ptr<RemotePoll> poll = worker.polls.front();
    if (!Give(poll, out)) return;
    Unpark(*poll);
  }
}

void RemoteWork::State::Serve(RemoteShelf& shelf, Outcalls& out) {
  while (lends && shelf.waiting_count > 0 && !shelf.queue->full() && !shelf.asking.empty()) {
    Serve(*shelf.asking.front(), out);
  }
}

void RemoteWork::State::ServeQueue(RemoteQueue& queue, Outcalls& out) {
  for (const auto& [kind, shelf] : queue.shelves) Serve(*shelf, out);
}

void RemoteWork::State::ServeFreed(Outcalls& out) {
  for (RemoteQueue* queue : std::exchange(with_room, {})) {
    queue->has_room = false;
    ServeQueue(*queue, out);
  }
}

// ---- without the lock

void RemoteWork::State::Make(Outcalls out) {
  for (const Gone& gone : out.cancelled) {
    gone.reports->Finished(
        gone.id, TaskOutcome::Failure("CANCELLED", "the step was cancelled", false, "USER"));
  }
  for (const Gone& gone : out.lost) gone.reports->Lost(gone.id);
  for (const Gone& beat : out.beats) beat.reports->Heartbeat(beat.id);
  for (Answered& answered : out.answered) {
    const auto elsewhere = answered.poll->elsewhere;
    if (!elsewhere || IsQuick(answered.tasks)) {
      Finish(std::move(answered));
    } else {
      elsewhere([this, kept = std::make_shared<Answered>(std::move(answered))] {
        Finish(std::move(*kept));
      });
    }
  }
}

void RemoteWork::State::Finish(Answered answered) {
  PollAnswer given = std::move(answered.poll->given);
  given.lease = options.lease;
  for (std::size_t i = 0; i < answered.tasks.size(); ++i) {
    LentTask& lent = answered.tasks[i];
    if (!lent.task.secrets.empty() && !PutSecretsInto(lent, *answered.reports[i])) continue;
    if (lent.task.timeout || lent.task.heartbeat_timeout) {
      answered.reports[i]->Taken(lent.task.id);
    }
    given.tasks.push_back(std::move(lent));
  }
  answered.poll->answer(std::move(given));
}

// Inserts the secrets into the inputs. Returns false if the task must not go to the worker.
bool RemoteWork::State::PutSecretsInto(LentTask& lent, TaskReports& reports) {
  auto read = ReadSecrets(lent.task, secrets.get());
  auto inputs = ValueFromJson(lent.task.inputs.empty() ? "{}" : lent.task.inputs);
  const bool ready = read && inputs;
  if (ready) {
    lent.task.inputs = ToJson(PutSecrets(*inputs, lent.task.secret_prefix, read->values));
    lent.task.secret_prefix.clear();
  }
  Outcalls out;
  {
    const std::lock_guard lock(mutex);
    const auto found = by_token.find(lent.token);
    if (found == by_token.end()) return false;  // the lease has ended in the meantime
    if (ready) {
      found->second->mask = std::move(read->mask);
    } else {
      End(*found->second);
      ServeFreed(out);
    }
  }
  if (!ready) {
    reports.Finished(
        lent.task.id,
        TaskOutcome::Failure("SECRET_UNAVAILABLE", (read ? inputs.error() : read.error()).message,
                             false, "USER"));
  }
  Make(std::move(out));
  return ready;
}

void RemoteWork::State::ReportAnswered(const std::shared_ptr<RemotePoll>& poll, std::size_t index,
                                       const Status& status) {
  const std::lock_guard lock(mutex);
  if (!status) poll->given.refused.push_back({poll->tokens[index], status.error()});
  if (--poll->open == 0) durable.push_back(poll);
}

void RemoteWork::Poll(PollRequest request, std::function<void(Result<PollAnswer>)> answer) {
  State& state = *state_;
  const RemoteWorkOptions& options = state.options;
  if (request.reports.size() > options.batch_max || request.heartbeats.size() > options.batch_max) {
    return answer(Error{ErrorCode::kInvalidArgument,
                        "a poll can have at most " + std::to_string(options.batch_max) +
                            " reports and the same number of heartbeats",
                        {}});
  }
  auto poll = std::make_shared<RemotePoll>();
  std::vector<State::Reported> reported;
  State::Outcalls out;
  {
    const std::lock_guard lock(state.mutex);
    poll->worker = state.Find(request.tenant_id, request.worker_id);
    if (poll->worker != nullptr) {
      poll->answer = std::move(answer);
      poll->elsewhere = std::move(request.elsewhere);
      poll->tasks_max = std::min(request.tasks_max, options.batch_max);
      const auto wait = std::clamp(request.wait, std::chrono::milliseconds(0), options.wait_max);
      poll->until = state.Now() + wait;
      state.Seen(*poll->worker);
      reported = state.TakeReports(*poll, std::move(request.reports), out);
      state.Beat(*poll, request.heartbeats, out);
      poll->open = reported.size() + 1;  // one for this call
      if (reported.empty()) {
        state.Settle(poll, out);
      } else {
        state.Serve(*poll->worker, out);  // its other polls can use the slots that are free now
      }
    }
  }
  if (poll->worker == nullptr) {
    return answer(Error{ErrorCode::kWorkerNotFound,
                        "there is no worker " + request.worker_id + "; register again",
                        {}});
  }
  state.Make(std::move(out));
  if (reported.empty()) return;
  for (std::size_t i = 0; i < reported.size(); ++i) {
    State::Reported& report = reported[i];
    const SecretMask none;
    TaskOutcome outcome = state.record.Of(Cleaned(std::move(report.outcome)),
                                          report.mask == nullptr ? none : *report.mask);
    report.reports->Finished(
        report.id, std::move(outcome),
        [&state, poll, i](const Status& status) { state.ReportAnswered(poll, i, status); });
  }
  State::Outcalls after;
  {
    const std::lock_guard lock(state.mutex);
    if (--poll->open == 0) state.Settle(poll, after);
  }
  state.Make(std::move(after));
}

}  // namespace everstep
