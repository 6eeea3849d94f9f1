#include "serve/followers.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "engine/event_view.h"
#include "machine/state.h"

namespace everstep {
namespace {

constexpr std::size_t kEventsAtOnce = 64;
constexpr std::size_t kBytesAtOnce = 1 << 20;
// Below this much unread, more is sent.
constexpr std::size_t kQueuedMax = 64 << 10;

bool Wanted(const FollowRequest& request, const LogEvent& event) {
  return request.event_type.empty() || request.event_type == event.type;
}

// Appends events that were read together, up to `place`. Only the last one carries the id: a client
// that is cut off in between resumes before the first one and sees some events twice, but misses
// none. An event's JSON has no line breaks, so one data line is enough.
void AppendFrames(std::string& out, std::uint64_t place, const FollowRequest& request,
                  std::vector<LogEvent> events) {
  std::erase_if(events, [&](const LogEvent& event) { return !Wanted(request, event); });
  for (const LogEvent& event : events) {
    if (&event == &events.back()) out.append("id: ").append(std::to_string(place)).append("\n");
    out.append("event: ").append(event.type);
    out.append("\ndata: ").append(event.json).append("\n\n");
  }
}

}  // namespace

Followers::Followers(EmbeddedLog& log) : log_(log), threads_(2, 1) {
  thread_ = std::thread([this] { Loop(); });
  log_.feed().Add(*this);
}

Followers::~Followers() {
  log_.feed().Remove(*this);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_.notify_all();
  thread_.join();
  threads_.Finish();
  for (auto& [id, follower] : followers_) {
    follower->stream->OnChange({});
    follower->stream->End();
  }
}

void Followers::Add(FollowRequest request, std::shared_ptr<ReplyStream> stream,
                    PartyShares::Share share) {
  auto follower = std::make_shared<Follower>();
  follower->sent = request.after;
  follower->request = std::move(request);
  follower->stream = std::move(stream);
  follower->share = std::move(share);
  Id id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    followers_.emplace(id, follower);
    const FollowRequest& wish = follower->request;
    if (wish.run_id.empty()) {
      by_tenant_[wish.runs.tenant_id].insert(id);
    } else {
      by_run_[wish.run_id].insert(id);
    }
  }
  // Called when the connection has drained what it was sent, or is closed.
  follower->stream->OnChange([this, id] {
    const std::lock_guard lock(mutex_);
    Due(id);
  });
  const std::lock_guard lock(mutex_);
  Due(id);
}

std::uint64_t Followers::lag() {
  const std::uint64_t last = log_.store().LastPosition().value();
  std::uint64_t lag = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [tenant, ids] : by_tenant_) {
    for (const Id id : ids) {
      const std::uint64_t sent = followers_.at(id)->sent;
      lag = std::max(lag, last > sent ? last - sent : 0);
    }
  }
  return lag;
}

std::size_t Followers::size() {
  const std::lock_guard lock(mutex_);
  return followers_.size();
}

void Followers::Due(Id id) {
  const auto found = followers_.find(id);
  if (found == followers_.end()) return;
  if (found->second->has_turn) {
    found->second->is_due = true;
  } else {
    Queue(id, *found->second);
  }
}

void Followers::Queue(Id id, Follower& follower) {
  follower.has_turn = true;
  follower.is_due = false;
  threads_.Run(follower.request.runs.tenant_id, [this, id] { TakeTurn(id); });
}

void Followers::TakeTurn(Id id) {
  std::unique_lock lock(mutex_);
  const auto found = followers_.find(id);
  if (found == followers_.end() || stop_) return;
  const std::shared_ptr<Follower> follower = found->second;
  follower->is_due = false;
  lock.unlock();
  const Next next = Serve(*follower);
  if (next == Next::kOver) follower->stream->End();
  lock.lock();
  if (next == Next::kOver) return Remove(id);
  follower->has_turn = false;
  if (next == Next::kMore || follower->is_due) Queue(id, *follower);
}

void Followers::Remove(Id id) {
  const auto found = followers_.find(id);
  if (found == followers_.end()) return;
  const FollowRequest& wish = found->second->request;
  auto& index = wish.run_id.empty() ? by_tenant_ : by_run_;
  const auto place = index.find(wish.run_id.empty() ? wish.runs.tenant_id : wish.run_id);
  if (place != index.end()) {
    place->second.erase(id);
    if (place->second.empty()) index.erase(place);
  }
  followers_.erase(found);
}

void Followers::Durable(std::span<const std::shared_ptr<CommitUnit>> units) {
  const std::lock_guard lock(mutex_);
  if (followers_.empty()) return;
  for (const auto& unit : units) {
    const std::string& run_id = unit->change.run_id.value();
    if (by_run_.contains(run_id)) grown_runs_.insert(run_id);
    const std::string& tenant = unit->change.state.scope.tenant_id;
    if (by_tenant_.contains(tenant)) grown_tenants_.insert(tenant);
  }
  if (!grown_runs_.empty() || !grown_tenants_.empty()) woken_.notify_all();
}

void Followers::Loop() {
  std::unique_lock lock(mutex_);
  auto beat_at = SteadyNow() + kBeatEvery;
  const auto woken = [this] { return stop_ || !grown_runs_.empty() || !grown_tenants_.empty(); };
  while (!stop_) {
    (void)woken_.wait_until(lock, beat_at, woken);
    WakeFollowers(lock);
    if (SteadyNow() < beat_at) continue;
    Beat(lock);
    beat_at = SteadyNow() + kBeatEvery;
  }
}

// Not done by the thread that commits: a run may have any number of followers.
void Followers::WakeFollowers(std::unique_lock<std::mutex>& lock) {
  constexpr std::size_t kAtOnce = 64;
  std::vector<Id> due;
  const auto take = [&due](std::set<std::string>& grown, const auto& index) {
    for (const std::string& name : std::exchange(grown, {})) {
      const auto found = index.find(name);
      if (found != index.end()) due.insert(due.end(), found->second.begin(), found->second.end());
    }
  };
  take(grown_runs_, by_run_);
  take(grown_tenants_, by_tenant_);
  for (std::size_t i = 0; i < due.size() && !stop_; ++i) {
    Due(due[i]);
    if (i % kAtOnce > 0) continue;
    lock.unlock();
    lock.lock();
  }
}

// Keeps idle connections alive for proxies and clients, and detects closed ones.
void Followers::Beat(std::unique_lock<std::mutex>& lock) {
  const std::vector<std::pair<Id, std::shared_ptr<Follower>>> all(followers_.begin(),
                                                                  followers_.end());
  lock.unlock();
  std::vector<Id> gone;
  for (const auto& [id, follower] : all) {
    const bool waits = follower->stream->queued() == 0;
    if (waits && !follower->stream->Write(": beat\n\n")) gone.push_back(id);
  }
  lock.lock();
  for (const Id id : gone) Remove(id);
}

Followers::Next Followers::Serve(Follower& follower) {
  if (follower.stream->closed()) return Next::kOver;
  if (follower.stream->queued() > kQueuedMax) return Next::kWait;
  return follower.request.run_id.empty() ? ServeTenant(follower) : ServeRun(follower);
}

Followers::Next Followers::ServeRun(Follower& follower) {
  FollowRequest& request = follower.request;
  auto reader = log_.store().Read();
  const auto run = RequireRun(*reader, RunId(request.run_id), request.runs.tenant_id);
  if (!run) return Next::kOver;
  EventQuery query;
  query.after = EventSeq(request.after);
  query.limit = kEventsAtOnce;
  query.bytes_max = kBytesAtOnce;
  const auto events = reader->ReadEvents(*run, query);
  if (!events) return Next::kOver;
  std::string text;
  for (const Event& event : *events) {
    std::vector<LogEvent> views;
    AddViews(request.dialect, *run, event, views);
    AppendFrames(text, event.seq.value(), request, std::move(views));
    request.after = event.seq.value();
  }
  reader.reset();  // a view of the store is not held while others are waited for
  if (!text.empty() && !follower.stream->Write(text)) return Next::kOver;
  if (EventSeq(request.after) < run->state.last_seq) return Next::kMore;
  return IsTerminal(run->state.status) ? Next::kOver : Next::kWait;
}

Followers::Next Followers::ServeTenant(Follower& follower) {
  FollowRequest& request = follower.request;
  Position position(request.after);
  auto reader = log_.store().Read();
  auto events = ReadAlongOutbox(*reader, request.runs, request.dialect, kEventsAtOnce, position);
  if (!events) return Next::kOver;
  const bool moved = position.value() != request.after;
  request.after = position.value();
  follower.sent = request.after;
  std::string text;
  AppendFrames(text, request.after, request, *std::move(events));
  reader.reset();
  if (!text.empty() && !follower.stream->Write(text)) return Next::kOver;
  return moved ? Next::kMore : Next::kWait;
}

}  // namespace everstep
