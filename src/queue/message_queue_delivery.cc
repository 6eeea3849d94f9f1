// The delivery half of MessageQueue: due messages, endpoints and outcomes.

#include <algorithm>
#include <utility>

#include "queue/message_queue.h"
#include "queue/queue_rows.h"

namespace everstep {
namespace {

constexpr std::chrono::milliseconds kLookHeldEvery{500};
constexpr std::size_t kErrorBytesMax = 1024;
constexpr std::chrono::minutes kMuchLater{1};
constexpr const char* kWakeKey = "everstep/wake";

}  // namespace

void MessageQueue::Loop() {
  while (true) {
    while (Turn()) {
    }
    std::unique_lock lock(mutex_);
    if (stop_) return;
    auto wait = std::chrono::milliseconds(1'000);
    if (!held_.empty()) wait = kLookHeldEvery;
    if (!due_.empty()) {
      const auto left = due_.begin()->first - parts_.clock.Now();
      wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left),
                        std::chrono::milliseconds(0), wait);
    }
    woken_.wait_for(lock, wait, [this] { return stop_ || woken_again_; });
    woken_again_ = false;
  }
}

bool MessageQueue::Turn() {
  std::vector<MessageCourier::Delivery> outgoing;
  std::vector<TenantDocument> dirty;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return false;
    TakeEnded();
    WakeDue(parts_.clock.Now());
    DropSilent();
    Dispatch();
    outgoing.swap(outgoing_);
    dirty.swap(dirty_);
  }
  const bool worked = !outgoing.empty() || !dirty.empty();
  for (MessageCourier::Delivery& delivery : outgoing) {
    std::string id = delivery.head.id;
    parts_.courier.Deliver(std::move(delivery), [this, id](DeliveryOutcome outcome) {
      const std::lock_guard lock(mutex_);
      ended_.push_back({id, std::move(outcome)});
      WakeLocked();
    });
  }
  // A failure means that the store has stopped. The next process repeats these deliveries.
  if (!dirty.empty()) (void)parts_.committer.Put(std::move(dirty));
  return worked;
}

void MessageQueue::WakeLocked() {
  woken_again_ = true;
  woken_.notify_one();
}

void MessageQueue::WakeDue(Timestamp now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const std::string id = due_.begin()->second;
    due_.erase(due_.begin());
    MakeReady(messages_.at(id));
  }
  const bool look = look_again_ || SteadyNow() - look_held_ >= kLookHeldEvery;
  if (!look || held_.empty()) return;
  look_again_ = false;
  look_held_ = SteadyNow();
  for (auto group = held_.begin(); group != held_.end();) {
    if (parts_.is_held(group->first.first, group->first.second)) {
      ++group;
      continue;
    }
    for (const std::string& id : group->second) MakeReady(messages_.at(id));
    group = held_.erase(group);
  }
}

// Dispatches the oldest messages first, across all topics, so that a busy topic does not starve
// others that share an endpoint with it.
void MessageQueue::Dispatch() {
  using Waiting = std::pair<Timestamp, const Topic*>;
  const auto later = [](const Waiting& a, const Waiting& b) { return a.first > b.first; };
  std::vector<Waiting> fronts;
  const auto push = [&](const Topic& topic, const std::deque<std::string>& ready) {
    fronts.emplace_back(messages_.at(ready.front()).head.due_at, &topic);
    std::ranges::push_heap(fronts, later);
  };
  for (const auto& [topic, ready] : ready_) push(topic, ready);
  while (!fronts.empty()) {
    std::ranges::pop_heap(fronts, later);
    const auto topic = ready_.find(*fronts.back().second);
    fronts.pop_back();
    if (!DispatchOne(topic->first, topic->second)) continue;
    if (topic->second.empty()) {
      ready_.erase(topic);
    } else {
      push(topic->first, topic->second);
    }
  }
}

// Returns false if no endpoint can take a message of this topic now.
bool MessageQueue::DispatchOne(const Topic& topic, std::deque<std::string>& ready) {
  Live* live = FindPlace(topic);
  if (live == nullptr) return false;
  Entry& entry = messages_.at(ready.front());
  ready.pop_front();
  const Group group{entry.head.tenant_id, entry.head.group};
  const bool grouped = !entry.head.group.empty();
  if (grouped && parts_.is_held(group.first, group.second)) {
    entry.state = State::kHeld;
    held_[group].push_back(entry.head.id);
    return true;
  }
  if (grouped && entry.head.key.empty()) {
    GroupState& state = groups_[group];
    if (state.busy) {
      entry.state = State::kBehind;
      state.behind.push_back(entry.head.id);
      return true;
    }
    state.busy = true;
  }
  Launch(entry, *live);
  return true;
}

MessageQueue::Live* MessageQueue::FindPlace(const Topic& topic) {
  Live* best = nullptr;
  const auto silent = SteadyNow() - options_.endpoint_lease;
  for (auto& [place, live] : endpoints_) {
    if (live.endpoint.tenant_id != topic.first || live.heard < silent) continue;
    if (live.under_way >= live.endpoint.concurrency) continue;
    if (live.endpoint.UrlFor(topic.second) == nullptr) continue;
    if (best == nullptr || live.under_way < best->under_way) best = &live;
  }
  return best;
}

void MessageQueue::Launch(Entry& entry, Live& live) {
  MessageCourier::Delivery delivery;
  const auto content = parts_.store.Read()->FindDocument(ContentKey(entry.head));
  const auto decoded =
      content && *content ? DecodeMessageContent(**content) : std::optional<MessageContent>();
  entry.state = State::kUnderWay;
  entry.endpoint = EndpointPlace(live.endpoint.tenant_id, live.endpoint.id);
  ++live.under_way;
  ++under_way_;
  if (!decoded) {
    ended_.push_back(
        {entry.head.id,
         {DeliveryOutcome::Kind::kFailed, {}, "the stored content of the message cannot be read"}});
    WakeLocked();
    return;
  }
  delivery.head = entry.head;
  delivery.content = *decoded;
  delivery.url = *live.endpoint.UrlFor(entry.head.topic);
  delivery.secret = live.endpoint.secret;
  delivery.on_this_machine = live.endpoint.on_this_machine;
  outgoing_.push_back(std::move(delivery));
}

void MessageQueue::TakeEnded() {
  std::vector<Ended> ended = std::exchange(ended_, {});
  for (const Ended& one : ended) {
    const auto found = messages_.find(one.id);
    if (found == messages_.end() || found->second.state != State::kUnderWay) continue;
    --under_way_;
    Settle(found->second, one.outcome);
  }
}

void MessageQueue::FreeGroup(const Entry& entry) {
  if (entry.head.group.empty() || !entry.head.key.empty()) return;
  const auto found = groups_.find({entry.head.tenant_id, entry.head.group});
  if (found == groups_.end()) return;
  if (found->second.behind.empty()) {
    groups_.erase(found);
    return;
  }
  found->second.busy = false;
  const std::string next = std::move(found->second.behind.front());
  found->second.behind.pop_front();
  MakeReady(messages_.at(next));
}

void MessageQueue::Settle(Entry& entry, const DeliveryOutcome& outcome) {
  using Kind = DeliveryOutcome::Kind;
  const auto live = endpoints_.find(entry.endpoint);
  if (live != endpoints_.end()) {
    --live->second.under_way;
    if (outcome.kind == Kind::kNotTaken) {
      // Drop the endpoint. If it is alive, it will register again.
      dirty_.push_back(EndpointRow(live->first, std::nullopt));
      endpoints_.erase(live);
    } else if (outcome.kind == Kind::kDone || outcome.kind == Kind::kAgain) {
      // Only successes renew the lease: a failure may come from another program that now has the
      // address.
      live->second.heard = SteadyNow();
    }
  }
  FreeGroup(entry);
  const Timestamp now = parts_.clock.Now();
  MessageHead& head = entry.head;
  switch (outcome.kind) {
    case Kind::kDone: {
      PutRemoval(head, dirty_);
      const MessageHead done = head;
      Forget(done.id);
      return WakeIdleGroup(done);
    }
    case Kind::kAgain:
      head.due_at = now + outcome.after;
      // A success resets the count of failures, but attempt 1 is only for first deliveries.
      head.attempt = std::min(head.attempt, 2U);
      break;
    case Kind::kNotTaken:
      head.due_at = now;
      break;
    case Kind::kFailed:
    case Kind::kBroken: {
      head.last_error = outcome.error.substr(0, kErrorBytesMax);
      const auto doubled = options_.retry_first * (1LL << std::min(head.attempt - 1, 16U));
      // An application that died during a delivery may restart soon, so retry earlier. A message
      // that kills it is given up after attempts_max.
      const auto most =
          outcome.kind == Kind::kBroken ? options_.retry_broken_most : options_.retry_most;
      head.due_at = now + std::min<std::chrono::milliseconds>(doubled, most);
      head.dead = head.attempt >= options_.attempts_max;
      ++head.attempt;
      break;
    }
  }
  dirty_.push_back(HeadRow(head));
  Place(entry);
}

// The wake message is written together with the removal of the last message.
void MessageQueue::WakeIdleGroup(const MessageHead& done) {
  if (done.group.empty() || !parts_.wake) return;
  const Timestamp now = parts_.clock.Now();
  const auto members = members_.find({done.tenant_id, done.group});
  const bool has_later = members != members_.end();
  if (has_later) {
    // A group with a dead message waits for the operator.
    const bool goes_on = std::ranges::any_of(members->second, [&](const std::string& id) {
      const MessageHead& other = messages_.at(id).head;
      return other.dead || other.due_at <= now + kMuchLater;
    });
    if (goes_on) return;
  }
  auto message = parts_.wake(done.tenant_id, done.group, has_later);
  if (!message) return;
  MessageHead head;
  const bool has_id = IsMessageId(message->id) && !messages_.contains(message->id);
  head.id = has_id ? std::move(message->id) : "msg_" + ulids_.Next();
  // A message with this id may have been delivered before.
  if (has_id) head.attempt = 2;
  head.tenant_id = done.tenant_id;
  head.topic = std::move(message->topic);
  head.group = done.group;
  head.key = kWakeKey;
  head.sent_at = now;
  // Double the delay if the last message was a wake message as well, so that a group that cannot
  // continue causes little load.
  std::chrono::microseconds delay = options_.retry_first;
  if (done.key == kWakeKey) delay = std::max(delay, 2 * (done.due_at - done.sent_at));
  head.due_at = now + std::min<std::chrono::microseconds>(delay, options_.wake_most);
  dirty_.push_back(HeadRow(head));
  dirty_.push_back({ContentKey(head), EncodeMessageContent(message->headers, message->body)});
  Place(Keep(std::move(head)));
}

}  // namespace everstep
