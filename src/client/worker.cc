#include "everstep/worker.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "client/task_report.h"
#include "client/worker_state.h"

namespace everstep {
namespace {

constexpr std::uint32_t kSlotsMax = 1'000;  // limit of one request
constexpr std::size_t kReportBytesPerRequest = 8 << 20;
constexpr std::chrono::milliseconds kBackoffFirst{50};
// How long a result waits for those of tasks that are ready to run, and how long a request for more
// tasks waits for the results of tasks that have just arrived, so that they are sent together.
constexpr std::chrono::milliseconds kGather{1};
constexpr std::chrono::milliseconds kBusy{20};

// Returns true if retrying cannot help.
bool IsFinal(ErrorCode code) {
  return code == ErrorCode::kUnauthenticated || code == ErrorCode::kAuthzDenied ||
         code == ErrorCode::kInvalidArgument || code == ErrorCode::kSchemaValidationFailed ||
         code == ErrorCode::kInvalidJson;
}

std::size_t BytesOf(const ReportBody& report) {
  const std::size_t failure =
      report.error ? report.error->message.size() + report.error->details.size() : 0;
  return report.result.size() + report.artifacts.size() + failure;
}

template <typename T>
Result<T> Read(const Result<std::string>& answer) {
  if (!answer) return answer.error();
  return FromWire<T>(*answer, UnknownMembers::kIgnore);
}

}  // namespace

Worker::State::State(WorkerOptions options) : options_(std::move(options)), api_(options_.server) {}

void Worker::State::Handle(std::string kind, Handler handler) {
  handlers_.insert_or_assign(std::move(kind), std::move(handler));
}

Status Worker::State::Check() const {
  const auto invalid = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message), {}};
  };
  if (handlers_.empty()) return invalid("the worker has no handler; call Handle before Run");
  if (options_.slots == 0 || options_.slots > kSlotsMax) {
    return invalid("slots must be from 1 to 1,000");
  }
  return Ok();
}

Status Worker::State::Run() {
  if (Status checked = Check(); !checked) return checked;
  const std::uint32_t wanted = options_.threads == 0 ? options_.slots : options_.threads;
  for (std::uint32_t i = 0; i < std::min(wanted, options_.slots); ++i) {
    connections_.push_back(ApiClient::NewConnection());
    threads_.emplace_back([this, i] { Perform(*connections_[i]); });
  }
  std::unique_lock lock(mutex_);
  while (!stopping_ && !error_) {
    if (worker_id_.empty() && !registering_ && retry_at_ <= SteadyNow()) {
      registering_ = true;
      lock.unlock();
      Register();
      lock.lock();
    }
    auto due = TakeDue();
    if (!due.empty()) {
      lock.unlock();
      Send(std::move(due));
      lock.lock();
      continue;
    }
    wakes_at_ = NextWake();
    wakes_at_ == Time::max() ? changed_.wait(lock) : (void)changed_.wait_until(lock, wakes_at_);
  }
  lock.unlock();
  Finish();
  lock.lock();
  if (error_) return *error_;
  return Ok();
}

void Worker::State::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void Worker::State::Finish() {
  const Time deadline = SteadyNow() + options_.drain_timeout;
  std::unique_lock lock(mutex_);
  const std::string path = "/v1/workers/" + EncodeForUrl(worker_id_);
  const bool known = !worker_id_.empty() && !error_;
  if (known) {
    // Draining makes the server answer a waiting poll.
    lock.unlock();
    const auto drained = api_.Send({.method = "POST", .path = path + "/drain", .body = "{}"});
    lock.lock();
    if (!drained) {
      api_.Cancel(flights_[kPatient].id);
      for (const auto& connection : connections_) connection->Cancel();
    }
  }
  while (known && !error_ && !Idle() && SteadyNow() < deadline) {
    auto due = TakeDue();
    if (due.empty()) {
      changed_.wait_until(lock, std::min(deadline, NextWake()));
      continue;
    }
    lock.unlock();
    Send(std::move(due));
    lock.lock();
  }
  ending_ = true;
  LoseAll();
  ready_changed_.notify_all();
  lock.unlock();
  for (const auto& connection : connections_) connection->Cancel();
  for (std::thread& thread : threads_) thread.join();
  // Unregister, so that the remaining tasks are delivered to other workers at once.
  if (known) (void)api_.Send({.method = "DELETE", .path = path});
}

// ---- requests

void Worker::State::Register() {
  WorkerBody body;
  body.name = options_.name;
  for (const auto& [kind, handler] : handlers_) body.kinds.push_back(kind);
  body.queues = options_.queues;
  body.slots = options_.slots;
  api_.SendLater(
      {.method = "POST", .path = "/v1/workers", .body = ToWire(body)},
      [this](const Result<std::string>& answer) { Registered(Read<WorkerAnswer>(answer)); });
}

void Worker::State::Registered(Result<WorkerAnswer> answer) {
  const std::lock_guard lock(mutex_);
  registering_ = false;
  if (answer) {
    worker_id_ = std::move(answer->worker_id);
    ++registration_;
    backoff_ = {};
    if (answer->lease.count() > 0) lease_ = answer->lease;
    beat_at_ = SteadyNow() + lease_ / 3;
  } else {
    GoAway(answer.error());
  }
  changed_.notify_all();
}

ApiClient::Call Worker::State::PollOf(const Due& request) {
  return {.method = "POST",
          .path = request.path,
          .body = ToWire(*request.body),
          .extra_wait = request.body->wait};
}

void Worker::State::Send(std::vector<Due> due) {
  for (const Due& request : due) {
    const Place place = request.place;
    const auto id =
        api_.SendLater(PollOf(request), [this, place](const Result<std::string>& answer) {
          Answered(place, Read<PollReply>(answer), false);
        });
    const std::lock_guard lock(mutex_);
    if (flights_[place].body == request.body) flights_[place].id = id;
  }
}

void Worker::State::Answered(Place place, Result<PollReply> reply, bool taker) {
  std::vector<Due> due;
  {
    const std::lock_guard lock(mutex_);
    const Flight flight = std::exchange(flights_[place], {});
    if (reply) {
      NoteAnswer(flight, *reply);
      if (flight.registration == registration_) TakeReply(*std::move(reply), taker);
      due = TakeDue();
    } else {
      Return(flight, reply.error());
    }
    if (stopping_ || !reply || retry_at_ > SteadyNow()) changed_.notify_all();
  }
  Send(std::move(due));
}

// ---- handlers

void Worker::State::Perform(HttpConnection& connection) {
  std::unique_lock lock(mutex_);
  while (true) {
    ready_changed_.wait(lock, [this] { return ending_ || !ready_.empty(); });
    if (ending_) return;
    const std::shared_ptr<HeldTask> task = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    const auto handler = handlers_.find(task->call.kind);
    static const Handler kNone = [](const TaskCall& call) {
      return TaskResult::Failed("WORKER_KIND_UNKNOWN", "no handler for " + call.kind);
    };
    ReportBody report =
        ReportOn(task->token, task->call, handler == handlers_.end() ? kNone : handler->second);
    lock.lock();
    if (held_.erase(task->token) == 0) continue;  // lost
    reports_.push_back(std::move(report));
    if (!ready_.empty()) {
      if (report_at_ == Time::max()) {
        report_at_ = SteadyNow() + kGather;
        changed_.notify_all();
      }
      if (SteadyNow() < report_at_) continue;
    }
    auto due = TakeDue();
    if (stopping_) changed_.notify_all();
    const bool waits = MayWaitFor(due);
    lock.unlock();
    if (waits) {
      const Due& request = due.front();
      const auto answer = api_.SendOn(connection, PollOf(request));
      Answered(request.place, Read<PollReply>(answer), true);
    } else {
      Send(std::move(due));
    }
    lock.lock();
  }
}

// ---- called with mutex_ held

std::vector<Worker::State::Due> Worker::State::TakeDue() {
  std::vector<Due> due;
  if (worker_id_.empty() || error_ || ending_) return due;
  const Time now = SteadyNow();
  if (retry_at_ > now) return due;
  const bool gathering = report_at_ != Time::max() && report_at_ > now && !ready_.empty();
  const auto urgent = [&] {
    return (!reports_.empty() && !gathering) || (beat_at_ <= now && !held_.empty());
  };
  if (beat_at_ <= now && held_.empty()) beat_at_ = now + lease_ / 3;
  const bool wants_tasks =
      !stopping_ && held_.size() < options_.slots && (held_.empty() || ask_at_ <= now);
  if (!flights_[kPatient].open && (urgent() || wants_tasks)) Depart(kPatient, due);
  if (!flights_[kPrompt].open && urgent()) Depart(kPrompt, due);
  return due;
}

// Returns true if this thread may block on the request: no other work needs it meanwhile.
bool Worker::State::MayWaitFor(const std::vector<Due>& due) const {
  return due.size() == 1 && due.front().place == kPatient && ready_.empty() &&
         !flights_[kPrompt].open && !stopping_;
}

void Worker::State::Depart(Place place, std::vector<Due>& due) {
  const auto body = std::make_shared<PollBody>();
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < reports_.size() && count < kSlotsMax; ++count) {
    bytes += BytesOf(reports_[count]);
    if (count > 0 && bytes > kReportBytesPerRequest) break;
  }
  const auto end = reports_.begin() + static_cast<std::ptrdiff_t>(count);
  body->reports.assign(std::make_move_iterator(reports_.begin()), std::make_move_iterator(end));
  reports_.erase(reports_.begin(), end);
  if (reports_.empty()) report_at_ = Time::max();
  const Time now = SteadyNow();
  if (beat_at_ <= now) {
    for (const auto& [token, task] : held_) {
      if (!task->stop->load()) body->heartbeats.push_back(token);
    }
    beat_at_ = now + lease_ / 3;
  }
  const Flight& other = flights_[place == kPatient ? kPrompt : kPatient];
  const std::size_t taken = held_.size() + reports_.size() + (other.open ? other.body->max : 0);
  if (!stopping_ && taken < options_.slots) {
    body->max = options_.slots - static_cast<std::uint32_t>(taken);
    if (place == kPatient) body->wait = options_.poll_wait;
  }
  flights_[place] = {true, registration_, body, now, 0};
  due.push_back({place, "/v1/workers/" + EncodeForUrl(worker_id_) + "/poll", body});
}

// A server that is stopping answers polls at once and without tasks. Back off instead of polling it
// in a loop.
void Worker::State::NoteAnswer(const Flight& flight, const PollReply& reply) {
  const bool turned_away = flight.body->wait.count() > 0 && flight.body->reports.empty() &&
                           flight.body->heartbeats.empty() && reply.tasks.empty() &&
                           reply.stop.empty() && !stopping_ &&
                           SteadyNow() - flight.sent_at < flight.body->wait / 2;
  if (turned_away) return GoAway({ErrorCode::kServerUnavailable, "the server is stopping", {}});
  backoff_ = {};
}

void Worker::State::TakeReply(PollReply reply, bool taker) {
  if (reply.lease.count() > 0) lease_ = reply.lease;
  for (const std::string& token : reply.stop) {
    const auto task = held_.find(token);
    if (task == held_.end()) continue;
    task->second->stop->store(true);
    if (std::erase(ready_, task->second) > 0) held_.erase(task);
  }
  for (TaskBody& body : reply.tasks) {
    auto task = std::make_shared<HeldTask>();
    task->token = std::move(body.token);
    task->call = CallOf(std::move(body));
    task->stop = std::make_shared<std::atomic<bool>>(false);
    task->call.stop = task->stop;
    held_.emplace(task->token, task);
    ready_.push_back(std::move(task));
  }
  if (reply.tasks.empty()) return;
  for (std::size_t i = taker; i < std::min(reply.tasks.size(), threads_.size()); ++i) {
    ready_changed_.notify_one();
  }
  const Time now = SteadyNow();
  ask_at_ = now + kGather;
  busy_until_ = now + kBusy;
  if (wakes_at_ > ask_at_ + kGather) changed_.notify_all();
}

// The request failed or its outcome is unknown, so its results are sent again. The server refuses
// results that it has already accepted.
void Worker::State::Return(const Flight& flight, const Error& error) {
  if (flight.registration != registration_) return;
  if (error.code == ErrorCode::kWorkerNotFound) {
    LoseAll();
    worker_id_.clear();
    beat_at_ = Time::max();
    ++registration_;
    return;
  }
  reports_.insert(reports_.end(), flight.body->reports.begin(), flight.body->reports.end());
  if (!flight.body->heartbeats.empty()) beat_at_ = Time::min();
  GoAway(error);
}

void Worker::State::GoAway(const Error& error) {
  if (IsFinal(error.code)) {
    error_ = error;
    return;
  }
  backoff_ = std::min(std::max(kBackoffFirst, backoff_ * 2), options_.backoff_max);
  const auto jitter = SystemRandom().Next() % static_cast<std::uint64_t>(backoff_.count() + 1);
  retry_at_ = SteadyNow() + backoff_ / 2 + std::chrono::milliseconds(jitter / 2);
}

void Worker::State::LoseAll() {
  for (const auto& [token, task] : held_) task->stop->store(true);
  held_.clear();
  ready_.clear();
  reports_.clear();
  report_at_ = Time::max();
}

bool Worker::State::Idle() const {
  return held_.empty() && reports_.empty() && !flights_[kPatient].open && !flights_[kPrompt].open;
}

Worker::State::Time Worker::State::NextWake() const {
  const Time now = SteadyNow();
  Time wake = std::min(beat_at_, report_at_);
  if (wake <= now) wake = Time::max();  // already due: handled when a request in flight returns
  if (busy_until_ > now) wake = std::min(wake, now + kGather);
  return retry_at_ > now ? std::min(wake, retry_at_) : wake;
}

// ----

Worker::Worker(WorkerOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Worker::~Worker() = default;
void Worker::Handle(std::string kind, Handler handler) {
  state_->Handle(std::move(kind), std::move(handler));
}
Status Worker::Run() { return state_->Run(); }
void Worker::Stop() { state_->Stop(); }

}  // namespace everstep
