// The delivery half of MessageQueue: due messages, endpoints and outcomes.

#include <algorithm>
#include <utility>

#include "queue/message_queue.h"
#include "queue/queue_rows.h"

namespace everstep {
namespace {

constexpr std::chrono::milliseconds kLookHeldEvery{500};
constexpr std::size_t kErrorBytesMax = 256;
constexpr std::chrono::minutes kMuchLater{1};
constexpr const char* kWakeKey = "everstep/wake";
// Of a turn, so that nobody waits for the lock for long.
constexpr std::size_t kStepsPerTurn = 256;
constexpr std::size_t kStepsPerTenant = 32;
constexpr std::size_t kEndpointsPerTurn = 64;  // dropped; each has many routes
// The contents that a turn reads and signs; the last one may exceed it.
constexpr std::size_t kBytesPerTurn = 4 << 20;
constexpr std::size_t kBytesPerTenant = 1 << 20;

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
  std::vector<Launched> launched;
  std::vector<TenantDocument> dirty;
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return false;
    TakeEnded();
  }
  WakeIdleGroups();
  {
    const std::lock_guard lock(mutex_);
    const Timestamp now = parts_.clock.Now();
    if (!stop_) {
      WakeDue(now);
      LookAtHeld();
      DropSilent();
      Dispatch();
    }
    launched.swap(launched_);
    dirty.swap(dirty_);
    more = !stop_ && HasWork(now);
  }
  const bool worked = more || !launched.empty() || !dirty.empty();
  for (Launched& one : launched) Deliver(std::move(one));
  // A failure means that the store has stopped. The next process repeats these deliveries.
  if (!dirty.empty()) (void)parts_.committer.Put(std::move(dirty));
  return worked;
}

bool MessageQueue::HasWork(Timestamp now) const {
  const bool due = !due_.empty() && due_.begin()->first <= now;
  const bool silent =
      !heard_.empty() && heard_.begin()->first < SteadyNow() - options_.endpoint_lease;
  return due || silent || !turns_.empty() || !ended_.empty() || held_next_;
}

// The content stays where it is while the message is under way.
void MessageQueue::Deliver(Launched launched) {
  const auto done = [this, tenant_id = launched.head.tenant_id,
                     id = launched.head.id](DeliveryOutcome outcome) {
    const std::lock_guard lock(mutex_);
    ended_.push_back({tenant_id, id, std::move(outcome)});
    WakeLocked();
  };
  const auto content = parts_.store.Read()->FindDocument(ContentKey(launched.head));
  auto decoded =
      content && *content ? DecodeMessageContent(**content) : std::optional<MessageContent>();
  if (!decoded) {
    return done(
        {DeliveryOutcome::Kind::kFailed, {}, "the stored content of the message cannot be read"});
  }
  const std::size_t bytes = BytesOf(decoded->headers, decoded->body);
  if (bytes != launched.content_bytes) Measure(launched.head, bytes);
  parts_.courier.Deliver({std::move(launched.head), *std::move(decoded), std::move(launched.url),
                          std::move(launched.secret), launched.on_this_machine},
                         done);
}

void MessageQueue::Measure(const MessageHead& head, std::size_t content_bytes) {
  const std::lock_guard lock(mutex_);
  QueuedMessage& message = *FindTenant(head.tenant_id)->Find(head.id);
  CountDelivery(message, false);
  message.content_bytes = content_bytes;
  CountDelivery(message, true);
  LookForRoom();
}

void MessageQueue::CountDelivery(const QueuedMessage& message, bool begins) {
  Tenant& tenant = tenants_.at(message.head.tenant_id);
  const auto count = [begins](std::size_t& sum, std::size_t by) { begins ? sum += by : sum -= by; };
  count(under_way_, 1);
  count(under_way_bytes_, message.content_bytes);
  count(tenant.under_way, 1);
  count(tenant.under_way_bytes, message.content_bytes);
}

void MessageQueue::LookForRoom() {
  turns_.insert(turns_.end(), full_.begin(), full_.end());
  full_.clear();
}

bool MessageQueue::HasRoom(const Tenant& tenant) const {
  const SharedLimit deliveries{options_.deliveries_max, options_.tenant_share};
  const SharedLimit bytes{options_.delivery_bytes_max, options_.tenant_share};
  return deliveries.Ask(under_way_, tenant.under_way) == SharedLimit::Answer::kRoom &&
         bytes.Ask(under_way_bytes_, tenant.under_way_bytes) == SharedLimit::Answer::kRoom;
}

void MessageQueue::WakeLocked() {
  woken_again_ = true;
  woken_.notify_one();
}

// Of each tenant in turn a few.
void MessageQueue::WakeDue(Timestamp now) {
  std::size_t left = kStepsPerTurn;
  while (left > 0 && !due_.empty() && due_.begin()->first <= now) {
    std::vector<Tenant*> tenants;
    for (auto next = due_.begin(); next != due_.end() && next->first <= now; ++next) {
      tenants.push_back(next->second);
      if (tenants.size() == left) break;
    }
    for (Tenant* const tenant : tenants) {
      const std::size_t woken = tenant->queue.WakeDue(now, std::min(left, kStepsPerTenant));
      left -= woken;
      File(std::string(tenant->queue.tenant_id()));
      if (left == 0) return;
    }
  }
}

// Makes messages of groups that are no longer held ready. Goes on with the next turn if there are
// many groups or messages.
void MessageQueue::LookAtHeld() {
  if (!held_next_) {
    const bool look = look_again_ || SteadyNow() - look_held_ >= kLookHeldEvery;
    if (!look || held_.empty()) return;
    look_again_ = false;
    look_held_ = SteadyNow();
    held_next_ = *held_.begin();
  }
  auto group = held_.lower_bound(*held_next_);
  for (std::size_t left = kStepsPerTurn; left > 0 && group != held_.end(); --left) {
    if (parts_.is_held(group->first, group->second)) {
      ++group;
      continue;
    }
    TenantQueue& queue = *FindTenant(group->first);
    TenantQueue::Group& released = *queue.FindGroup(group->second);
    left -= std::min(left - 1, queue.ReleaseGroup(released, left));
    File(group->first);
    if (!released.held.empty()) break;
    group = held_.erase(group);
  }
  held_next_ = group == held_.end() ? std::optional<Group>() : *group;
}

void MessageQueue::DropSilent() {
  const auto silent = SteadyNow() - options_.endpoint_lease;
  for (std::size_t i = 0; i < kEndpointsPerTurn; ++i) {
    if (heard_.empty() || heard_.begin()->first >= silent) return;
    const std::string place = heard_.begin()->second;
    heard_.erase(heard_.begin());
    const std::string tenant_id = place.substr(0, place.find('\0'));
    TenantQueue& queue = *FindTenant(tenant_id);
    LiveEndpoint& live = *queue.FindEndpoint(place.substr(tenant_id.size() + 1));
    queue.SetSilent(live, true);
    DropIfSilent(queue, live);
    File(tenant_id);
  }
}

// One with a delivery under way is dropped when that has ended.
void MessageQueue::DropIfSilent(TenantQueue& queue, LiveEndpoint& live) {
  if (!live.silent || live.under_way > 0) return;
  const std::string id = live.endpoint.id;
  dirty_.push_back(EndpointRow(EndpointPlace(queue.tenant_id(), id), std::nullopt));
  DropEndpoint(queue, id);
}

// Tenants take turns. Of each tenant the oldest messages go first, across all topics, so that a
// busy topic does not starve others that share an endpoint with it.
void MessageQueue::Dispatch() {
  std::size_t steps = kStepsPerTurn;
  std::size_t bytes = kBytesPerTurn;
  while (steps > 0 && bytes > 0 && !turns_.empty()) {
    Tenant& tenant = *turns_.front();
    turns_.pop_front();
    tenant.has_turn = false;
    TakeTurn(tenant, steps, bytes);
    File(std::string(tenant.queue.tenant_id()));
  }
}

// Takes what it uses from `steps` and `bytes`, which are left of the queue's turn.
void MessageQueue::TakeTurn(Tenant& tenant, std::size_t& steps, std::size_t& bytes) {
  std::size_t bytes_left = kBytesPerTenant;
  for (std::size_t i = 0; i < kStepsPerTenant && steps > 0 && bytes_left > 0; ++i) {
    if (!tenant.queue.has_work() || !HasRoom(tenant)) return;
    --steps;
    const TenantQueue::Match match = tenant.queue.Next();
    if (match.message == nullptr) continue;
    const std::size_t taken = DispatchOne(tenant.queue, match);
    bytes_left -= std::min(bytes_left, taken);
    bytes -= std::min(bytes, taken);
  }
}

std::size_t MessageQueue::DispatchOne(TenantQueue& queue, const TenantQueue::Match& match) {
  QueuedMessage& message = *match.message;
  TenantQueue::Group* const group = queue.GroupOf(message);
  if (group != nullptr && parts_.is_held(queue.tenant_id(), message.head.group)) {
    message.state = State::kHeld;
    group->held.push_back(&message);
    held_.emplace(queue.tenant_id(), message.head.group);
    return 0;
  }
  if (group != nullptr && message.head.key.empty()) {
    if (group->busy) {
      message.state = State::kBehind;
      group->behind.push_back(&message);
      return 0;
    }
    group->busy = true;
  }
  return Launch(queue, match);
}

std::size_t MessageQueue::Launch(TenantQueue& queue, const TenantQueue::Match& match) {
  QueuedMessage& message = *match.message;
  LiveEndpoint& live = *match.endpoint;
  message.state = State::kUnderWay;
  message.endpoint = live.endpoint.id;
  queue.SetUnderWay(live, live.under_way + 1);
  CountDelivery(message, true);
  launched_.push_back({message.head, *live.endpoint.UrlFor(message.head.topic),
                       live.endpoint.secret, live.endpoint.on_this_machine, message.content_bytes});
  return message.content_bytes;
}

void MessageQueue::TakeEnded() {
  if (ended_.empty()) return;
  for (std::size_t i = 0; i < kStepsPerTurn && !ended_.empty(); ++i) {
    const Ended ended = std::move(ended_.front());
    ended_.pop_front();
    TenantQueue* const queue = FindTenant(ended.tenant_id);
    QueuedMessage* const message = queue == nullptr ? nullptr : queue->Find(ended.id);
    if (message == nullptr || message->state != State::kUnderWay) continue;
    CountDelivery(*message, false);
    Settle(*queue, *message, ended.outcome);
    File(ended.tenant_id);
  }
  LookForRoom();
}

void MessageQueue::FreeGroup(TenantQueue& queue, const QueuedMessage& message) {
  TenantQueue::Group* const group = queue.GroupOf(message);
  if (group == nullptr || !message.head.key.empty()) return;
  group->busy = false;
  if (group->behind.empty()) return;
  QueuedMessage& next = *group->behind.front();
  group->behind.pop_front();
  queue.MakeReady(next);
}

void MessageQueue::SettleEndpoint(TenantQueue& queue, const std::string& id,
                                  DeliveryOutcome::Kind kind) {
  using Kind = DeliveryOutcome::Kind;
  LiveEndpoint* const live = queue.FindEndpoint(id);
  if (live == nullptr) return;
  // None is under way at an endpoint that was dropped and has registered again since.
  if (live->under_way > 0) queue.SetUnderWay(*live, live->under_way - 1);
  if (kind == Kind::kNotTaken) {
    // Drop the endpoint. If it is alive, it will register again.
    dirty_.push_back(EndpointRow(EndpointPlace(queue.tenant_id(), id), std::nullopt));
    return DropEndpoint(queue, id);
  }
  // Only successes renew the lease: a failure may come from another program that now has the
  // address.
  if (kind == Kind::kDone || kind == Kind::kAgain) Hear(queue, *live);
  DropIfSilent(queue, *live);
}

void MessageQueue::Settle(TenantQueue& queue, QueuedMessage& message,
                          const DeliveryOutcome& outcome) {
  using Kind = DeliveryOutcome::Kind;
  SettleEndpoint(queue, message.endpoint, outcome.kind);
  FreeGroup(queue, message);
  const Timestamp now = parts_.clock.Now();
  MessageHead head = message.head;
  switch (outcome.kind) {
    case Kind::kDone: {
      PutRemoval(head, dirty_);
      Forget(message);
      if (auto idle = FindIdleGroup(queue, head)) idle_.push_back(*std::move(idle));
      return;
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
  queue.Change(message, std::move(head));
  queue.Place(message);
  if (message.state == State::kDead) ++dead_;
}

std::optional<MessageQueue::Idle> MessageQueue::FindIdleGroup(TenantQueue& queue,
                                                              const MessageHead& done) {
  if (done.group.empty() || !parts_.wake) return std::nullopt;
  const TenantQueue::Group* const group = queue.FindGroup(done.group);
  if (group == nullptr) return Idle{done, false};
  // A group with a dead message waits for the operator.
  const Timestamp much_later = parts_.clock.Now() + kMuchLater;
  if (group->dead > 0 || group->members.begin()->first <= much_later) return std::nullopt;
  return Idle{done, true};
}

// A wake message is written together with the removal of the last message.
void MessageQueue::WakeIdleGroups() {
  std::vector<Idle> idle;
  {
    const std::lock_guard lock(mutex_);
    idle.swap(idle_);
  }
  for (const Idle& one : idle) {
    auto message = parts_.wake(one.done.tenant_id, one.done.group, one.has_later);
    if (!message) continue;
    const std::lock_guard lock(mutex_);
    TenantQueue& queue = TenantOf(one.done.tenant_id).queue;
    // Messages may have been sent since.
    if (FindIdleGroup(queue, one.done)) AddWake(queue, one.done, *std::move(message));
    File(one.done.tenant_id);
  }
}

void MessageQueue::AddWake(TenantQueue& queue, const MessageHead& done, NewMessage message) {
  const Timestamp now = parts_.clock.Now();
  MessageHead head;
  head.tenant_id = done.tenant_id;
  head.topic = std::move(message.topic);
  head.group = done.group;
  head.key = kWakeKey;
  if (QueuedMessage* const later = queue.FindKey(head)) {
    if (later->state != State::kWaiting) return;
    PutRemoval(later->head, dirty_);
    queue.Withdraw(*later);
    Forget(*later);
  }
  const bool has_id = IsMessageId(message.id) && queue.Find(message.id) == nullptr;
  head.id = has_id ? std::move(message.id) : "msg_" + ulids_.Next();
  // A message with this id may have been delivered before.
  if (has_id) head.attempt = 2;
  head.sent_at = now;
  // Double the delay if the last message was a wake message as well, so that a group that cannot
  // continue causes little load.
  std::chrono::microseconds delay = options_.retry_first;
  if (done.key == kWakeKey) delay = std::max(delay, 2 * (done.due_at - done.sent_at));
  head.due_at = now + std::min<std::chrono::microseconds>(delay, options_.wake_most);
  dirty_.push_back(HeadRow(head));
  dirty_.push_back({ContentKey(head), EncodeMessageContent(message.headers, message.body)});
  QueuedMessage& added = Keep(std::move(head));
  added.content_bytes = BytesOf(message.headers, message.body);
  queue.Place(added);
}

}  // namespace everstep
