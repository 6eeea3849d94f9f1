#include "work/remote_work.h"

#include <algorithm>
#include <utility>

#include "event/identifier.h"
#include "flow/plan.h"
#include "work/remote_work_state.h"

namespace everstep {
namespace {

constexpr std::size_t kShelvesMax = 1'000;  // per worker: kinds times queues
constexpr std::uint32_t kSlotsMax = 10'000;
constexpr std::size_t kNameBytesMax = 200;
constexpr std::uint64_t kPlacesPerWorker = 10;  // on average
// However few workers there may be, a tenant's share is enough for one of any kind.
constexpr std::uint64_t kPlacesMin = 20 * kShelvesMax;

bool IsQueueName(std::string_view name) { return !name.empty() && name.size() <= kNameBytesMax; }

Error NoWorker(std::string_view worker_id) {
  return {ErrorCode::kWorkerNotFound, "there is no worker " + std::string(worker_id), {}};
}

}  // namespace

RemoteWork::State::State(std::unique_ptr<ToolBox> tools, std::shared_ptr<const Secrets> secret,
                         Clock& clock_port, Random& random_port, RemoteWorkOptions given)
    : options(std::move(given)),
      local(std::move(tools)),
      secrets(std::move(secret)),
      record(ArtifactStore(options.artifact_directory), options.inline_bytes_max),
      clock(clock_port),
      random(random_port) {}

RemoteWork::RemoteWork(std::unique_ptr<ToolBox> local, std::shared_ptr<const Secrets> secrets,
                       Clock& clock, Random& random, RemoteWorkOptions options)
    : state_(std::make_unique<State>(std::move(local), std::move(secrets), clock, random,
                                     std::move(options))) {
  if (state_->options.threads) state_->timer = std::thread([this] { state_->WatchClock(); });
}

RemoteWork::~RemoteWork() {
  State::Outcalls out;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    for (const auto& [id, task] : state_->tasks) out.cancelled.push_back({id, task->reports});
    state_->StopLending(out);
    for (const auto& poll : state_->durable) state_->Answer(poll, out);
  }
  state_->timer_wake.notify_all();
  if (state_->timer.joinable()) state_->timer.join();
  state_->Make(std::move(out));
}

// ---- under the lock

Timestamp RemoteWork::State::Now() {
  const Timestamp now = clock.Now() + behind;
  if (now < last_now) {
    behind += last_now - now;
  } else {
    last_now = now;
  }
  return last_now;
}

std::string RemoteWork::State::NewName() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (int word = 0; word < 2; ++word) {
    std::uint64_t bits = random.Next();
    for (int i = 0; i < 16; ++i, bits >>= 4) text += kDigits[bits & 15];
  }
  return text;
}

std::shared_ptr<RemoteWorker> RemoteWork::State::Find(std::string_view tenant_id,
                                                      std::string_view worker_id) const {
  const auto found = workers.find(std::string(worker_id));
  const bool known = found != workers.end() && found->second->spec.tenant_id == tenant_id;
  return known ? found->second : nullptr;
}

void RemoteWork::State::Seen(RemoteWorker& worker) {
  worker.seen_at = Now();
  seen.splice(seen.end(), seen, worker.seen);
}

void RemoteWork::State::Forget(const std::shared_ptr<RemoteWorker>& worker, Outcalls& out) {
  // `worker` may refer to the map entry that is erased below.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::shared_ptr<RemoteWorker> kept = worker;
  kept->removed = true;
  queues.Update(*kept);
  while (!kept->held.empty()) Lose(*kept->held.front(), out);
  while (!kept->polls.empty()) {
    const std::shared_ptr<RemotePoll> poll = kept->polls.front();
    Unpark(*poll);
    Answer(poll, out);
  }
  queues.Remove(*kept);
  const auto share = shares.find(PartyOf(kept->spec));
  share->second.places -= PlacesOf(kept->spec);
  places -= PlacesOf(kept->spec);
  if (--share->second.workers == 0) shares.erase(share);
  seen.erase(kept->seen);
  workers.erase(kept->id);
}

Status RemoteWork::State::CheckSpec(const WorkerSpec& spec) const {
  Error error{ErrorCode::kInvalidArgument, "the worker cannot be registered", {}};
  const auto fault = [&error](std::string pointer, std::string message) {
    error.faults.push_back({std::move(pointer), std::move(message)});
  };
  if (spec.name.size() > kNameBytesMax) fault("/name", "must have at most 200 bytes");
  if (spec.kinds.empty()) fault("/kinds", "must contain at least one kind");
  if (spec.slots == 0 || spec.slots > kSlotsMax) fault("/slots", "must be 1 to 10000");
  if (spec.kinds.size() * std::max<std::size_t>(1, spec.queues.size()) > kShelvesMax) {
    fault("/kinds", "the number of kinds times the number of queues must be at most 1000");
    return error;
  }
  for (std::size_t i = 0; i < spec.kinds.size(); ++i) {
    const std::string& kind = spec.kinds[i];
    const std::string pointer = "/kinds/" + std::to_string(i);
    if (!IsToolName(kind)) {
      fault(pointer,
            "must have 1 to 100 letters, digits, '.', '_' and '-', and begin with a letter");
    } else if (IsBuiltInTool(kind) || local->Has(kind)) {
      fault(pointer,
            "'" + kind + "' is a tool of the server; choose another name for the worker's kind");
    }
  }
  for (std::size_t i = 0; i < spec.queues.size(); ++i) {
    if (!IsQueueName(spec.queues[i])) {
      fault("/queues/" + std::to_string(i), "must have 1 to 200 bytes");
    }
  }
  if (!error.faults.empty()) return error;
  return CheckRoom(spec);
}

// The operator's workers count as no tenant's. Names of tenants are not empty.
std::string RemoteWork::State::PartyOf(const WorkerSpec& spec) {
  return spec.by_operator ? std::string() : spec.tenant_id;
}

std::uint64_t RemoteWork::State::PlacesOf(const WorkerSpec& spec) {
  return spec.kinds.size() * std::max<std::size_t>(1, spec.queues.size());
}

Status RemoteWork::State::CheckRoom(const WorkerSpec& spec) const {
  const auto known = shares.find(PartyOf(spec));
  const Share theirs = known == shares.end() ? Share() : known->second;
  const auto check = [&](std::uint64_t max, std::uint64_t all, std::uint64_t own,
                         std::uint64_t wanted, const std::string& what) -> Status {
    const SharedLimit limit{max, options.tenant_share};
    switch (limit.Ask(all, own, spec.by_operator, wanted)) {
      case SharedLimit::Answer::kRoom:
        return Ok();
      case SharedLimit::Answer::kTenantFull:
        return Error{ErrorCode::kAdmissionRejected,
                     "the tenant already has its share of " + std::to_string(own) + " " + what,
                     {}};
      case SharedLimit::Answer::kFull:
        break;
    }
    return Error{ErrorCode::kAdmissionRejected,
                 "the limit of " + std::to_string(all) + " " + what + " is reached",
                 {}};
  };
  const Status room = check(options.workers_max, workers.size(), theirs.workers, 1, "workers");
  if (!room) return room;
  return check(std::max(kPlacesMin, kPlacesPerWorker * options.workers_max), places, theirs.places,
               PlacesOf(spec), "kinds in queues that workers serve");
}

// ---- for workers

Result<std::string> RemoteWork::Register(WorkerSpec spec) {
  const std::lock_guard lock(state_->mutex);
  const Status checked = state_->CheckSpec(spec);
  if (!checked) return checked.error();
  auto worker = std::make_shared<RemoteWorker>();
  worker->id = state_->NewName();
  worker->spec = std::move(spec);
  worker->seen_at = state_->Now();
  worker->seen = state_->seen.insert(state_->seen.end(), worker.get());
  state_->queues.Add(*worker);
  state_->WakeTimer(worker->seen_at + state_->options.worker_forgotten);
  const std::uint64_t places = State::PlacesOf(worker->spec);
  State::Share& share = state_->shares[State::PartyOf(worker->spec)];
  ++share.workers;
  share.places += places;
  state_->places += places;
  std::string id = worker->id;
  state_->workers.emplace(id, std::move(worker));
  return id;
}

Status RemoteWork::Drain(std::string_view tenant_id, std::string_view worker_id) {
  State::Outcalls out;
  {
    const std::lock_guard lock(state_->mutex);
    const auto worker = state_->Find(tenant_id, worker_id);
    if (worker == nullptr) return NoWorker(worker_id);
    state_->queues.Drain(*worker);
    state_->Seen(*worker);
    state_->AnswerPolls(*worker, out);
  }
  state_->Make(std::move(out));
  return Ok();
}

Status RemoteWork::Remove(std::string_view tenant_id, std::string_view worker_id) {
  State::Outcalls out;
  {
    const std::lock_guard lock(state_->mutex);
    const auto worker = state_->Find(tenant_id, worker_id);
    if (worker == nullptr) return NoWorker(worker_id);
    state_->Forget(worker, out);
    state_->ServeFreed(out);
  }
  state_->Make(std::move(out));
  return Ok();
}

Status RemoteWork::GiveBack(std::string_view tenant_id, std::string_view worker_id,
                            const std::vector<std::string>& tokens) {
  State::Outcalls out;
  {
    const std::lock_guard lock(state_->mutex);
    const auto worker = state_->Find(tenant_id, worker_id);
    if (worker == nullptr) return NoWorker(worker_id);
    for (const std::string& token : tokens) {
      const auto found = state_->by_token.find(token);
      const bool held = found != state_->by_token.end() && found->second->worker == worker.get();
      if (held) state_->Lose(*found->second, out);
    }
    state_->ServeFreed(out);
  }
  state_->Make(std::move(out));
  return Ok();
}

// ---- for operators

std::vector<WorkerView> RemoteWork::Workers(std::string_view tenant_id) {
  std::vector<WorkerView> views;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [id, worker] : state_->workers) {
    if (worker->spec.tenant_id != tenant_id) continue;
    views.push_back({id, worker->spec, static_cast<std::uint32_t>(worker->held.size()),
                     worker->draining, worker->seen_at - state_->behind});
  }
  std::ranges::sort(views, {}, [](const WorkerView& view) {
    return std::pair(std::string_view(view.spec.name), std::string_view(view.worker_id));
  });
  return views;
}

std::vector<QueueView> RemoteWork::Queues(std::string_view tenant_id) {
  const std::lock_guard lock(state_->mutex);
  return state_->queues.Views(tenant_id, state_->Now());
}

QueueView RemoteWork::Totals() {
  const std::lock_guard lock(state_->mutex);
  QueueView totals = state_->queues.Totals(state_->Now());
  totals.workers = static_cast<std::uint32_t>(state_->workers.size());
  return totals;
}

Status RemoteWork::SetConcurrency(std::string_view tenant_id, std::string_view queue,
                                  std::uint32_t limit) {
  if (!IsQueueName(queue)) {
    return Error{ErrorCode::kInvalidArgument, "the name of a queue must have 1 to 200 bytes", {}};
  }
  State::Outcalls out;
  {
    const std::lock_guard lock(state_->mutex);
    RemoteQueue* const limited = state_->queues.SetConcurrency(tenant_id, queue, limit);
    if (limited != nullptr) state_->ServeQueue(*limited, out);
  }
  state_->Make(std::move(out));
  return Ok();
}

std::chrono::milliseconds RemoteWork::lease() const { return state_->options.lease; }

std::uint64_t RemoteWork::leases_lost() const {
  const std::lock_guard lock(state_->mutex);
  return state_->leases_lost;
}

void RemoteWork::StopLending() {
  State::Outcalls out;
  {
    const std::lock_guard lock(state_->mutex);
    state_->StopLending(out);
  }
  state_->Make(std::move(out));
}

void RemoteWork::State::StopLending(Outcalls& out) {
  lends = false;
  for (const auto& [id, worker] : workers) AnswerPolls(*worker, out);
}

void RemoteWork::State::AnswerPolls(RemoteWorker& worker, Outcalls& out) {
  while (!worker.polls.empty()) {
    const std::shared_ptr<RemotePoll> poll = worker.polls.front();
    Unpark(*poll);
    Answer(poll, out);
  }
}

Timestamp RemoteWork::Tick() {
  State::Outcalls out;
  Timestamp next{};
  {
    const std::lock_guard lock(state_->mutex);
    next = state_->EndWhatIsDue(out);
  }
  state_->Make(std::move(out));
  return next;
}

// ---- ToolBox

bool RemoteWork::Has(std::string_view kind) const {
  return state_->local->Has(kind) || (!IsBuiltInTool(kind) && IsToolName(kind));
}

bool RemoteWork::Immediate(std::string_view kind) const { return state_->local->Immediate(kind); }

bool RemoteWork::WaitsForWorker(std::string_view kind) const { return !state_->local->Has(kind); }

TaskOutcome RemoteWork::RunNow(const Task& task) { return state_->local->RunNow(task); }

std::uint32_t RemoteWork::Slots(std::string_view kind) const { return state_->local->Slots(kind); }

std::vector<std::string> RemoteWork::Kinds() const { return state_->local->Kinds(); }

void RemoteWork::Start(Task task, TaskReports& reports) {
  if (state_->local->Has(task.kind)) return state_->local->Start(std::move(task), reports);
  auto remote = std::make_unique<RemoteTask>();
  remote->reports = &reports;
  remote->beats = task.heartbeat_timeout.has_value();
  remote->task = std::move(task);
  const std::lock_guard lock(state_->mutex);
  remote->queued_at = state_->Now();
  RemoteTask& put = *remote;
  // If the id exists, this is the same delivery, and one report answers both.
  if (!state_->tasks.try_emplace(put.task.id, std::move(remote)).second) return;
  state_->queues.Put(put);
  RemoteShelf& shelf = *put.shelf;
  if (!shelf.asking.empty() && !std::exchange(shelf.has_news, true)) {
    state_->news.push_back(&shelf);
  }
}

void RemoteWork::Flush() {
  State::Outcalls out;
  {
    const std::lock_guard lock(state_->mutex);
    const auto durable = std::exchange(state_->durable, {});
    const auto news = std::exchange(state_->news, {});
    for (const auto& poll : durable) state_->Settle(poll, out);
    for (RemoteShelf* shelf : news) {
      shelf->has_news = false;
      state_->Serve(*shelf, out);
      state_->queues.ForgetIfUnused(*shelf);
    }
  }
  state_->Make(std::move(out));
  state_->local->Flush();
}

void RemoteWork::Cancel(const TaskId& task, bool force) {
  State::Outcalls out;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->tasks.find(task);
    if (found != state_->tasks.end()) state_->Cancel(*found->second, force, out);
    state_->ServeFreed(out);
  }
  state_->Make(std::move(out));
  state_->local->Cancel(task, force);
}

std::string RemoteWork::WhyWaiting(const TaskId& task) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->tasks.find(task);
  if (found == state_->tasks.end() || found->second->worker != nullptr) return {};
  const RemoteShelf& shelf = *found->second->shelf;
  const std::size_t serving = shelf.workers.size() - shelf.draining;
  std::string text = "waits for a worker that can do '" + shelf.kind + "'";
  if (shelf.queue->name != shelf.kind) text += " in queue '" + shelf.queue->name + "'";
  if (serving == 0) return text + "; none is connected";
  if (shelf.queue->full()) {
    return text + "; the queue is at its limit: workers hold " + std::to_string(shelf.queue->held) +
           " tasks";
  }
  return text + "; " + std::to_string(serving) + " connected";
}

std::uint64_t RemoteWork::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->queues.waiting();
}

}  // namespace everstep
