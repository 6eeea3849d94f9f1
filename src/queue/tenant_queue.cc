#include "queue/tenant_queue.h"

#include <algorithm>

#include "base/assert.h"

namespace everstep {
namespace {

std::uint64_t HashOf(const std::vector<Endpoint::Route>& routes) {
  std::uint64_t hash = routes.size();
  for (const Endpoint::Route& route : routes) {
    hash = hash * 31 + std::hash<std::string>{}(route.topic_prefix);
    hash = hash * 31 + std::hash<std::string>{}(route.url);
  }
  return hash;
}

std::size_t CommonLength(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

std::string TenantQueue::KeyOf(const MessageHead& head) {
  return head.topic + '\0' + head.group + '\0' + head.key;
}

// ---- messages

QueuedMessage* TenantQueue::Find(const std::string& id) {
  const auto found = messages_.find(id);
  return found == messages_.end() ? nullptr : &found->second;
}

QueuedMessage* TenantQueue::FindKey(const MessageHead& head) {
  if (head.key.empty()) return nullptr;
  const auto found = keys_.find(KeyOf(head));
  return found == keys_.end() ? nullptr : found->second;
}

TenantQueue::Group* TenantQueue::GroupOf(const QueuedMessage& message) {
  return message.head.group.empty() ? nullptr : &groups_.at(message.head.group);
}

TenantQueue::Group* TenantQueue::FindGroup(const std::string& name) {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : &found->second;
}

QueuedMessage& TenantQueue::Add(MessageHead head) {
  QueuedMessage& message = messages_[head.id];
  message.head = std::move(head);
  const MessageHead& added = message.head;
  weight_ += WeightOf(added);
  if (!added.key.empty()) keys_[KeyOf(added)] = &message;
  if (!added.group.empty()) groups_[added.group].members.emplace(added.due_at, added.id);
  return message;
}

void TenantQueue::Remove(QueuedMessage& message) {
  if (message.state == State::kDead) Revive(message);
  EVERSTEP_ASSERT(message.state == State::kWriting || message.state == State::kUnderWay);
  const MessageHead& head = message.head;
  weight_ -= WeightOf(head);
  if (!head.key.empty()) keys_.erase(KeyOf(head));
  if (Group* const group = GroupOf(message)) {
    group->members.erase({head.due_at, head.id});
    if (group->members.empty()) groups_.erase(head.group);
  }
  messages_.erase(messages_.find(head.id));
}

void TenantQueue::Change(QueuedMessage& message, MessageHead head) {
  EVERSTEP_ASSERT(message.state == State::kWriting || message.state == State::kUnderWay);
  if (Group* const group = GroupOf(message)) {
    group->members.erase({message.head.due_at, head.id});
    group->members.emplace(head.due_at, head.id);
  }
  message.head = std::move(head);
}

void TenantQueue::Place(QueuedMessage& message) {
  if (message.head.dead) {
    message.state = State::kDead;
    dead_.insert(message.head.id);
    if (Group* const group = GroupOf(message)) ++group->dead;
    return;
  }
  message.state = State::kWaiting;
  due_.emplace(message.head.due_at, message.head.id);
}

void TenantQueue::Revive(QueuedMessage& message) {
  message.state = State::kWriting;
  dead_.erase(message.head.id);
  if (Group* const group = GroupOf(message)) --group->dead;
}

void TenantQueue::Withdraw(QueuedMessage& message) {
  EVERSTEP_ASSERT(message.state == State::kWaiting);
  message.state = State::kWriting;
  due_.erase({message.head.due_at, message.head.id});
}

// ---- becoming ready

std::optional<Timestamp> TenantQueue::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

std::size_t TenantQueue::WakeDue(Timestamp now, std::size_t count) {
  std::size_t woken = 0;
  for (; woken < count && !due_.empty() && due_.begin()->first <= now; ++woken) {
    MakeReady(messages_.at(due_.begin()->second));
    due_.erase(due_.begin());
  }
  return woken;
}

void TenantQueue::MakeReady(QueuedMessage& message) {
  message.state = State::kReady;
  message.order = ++orders_;
  auto& topic = *ready_.try_emplace(message.head.topic).first;
  topic.second.push_back(&message);
  if (topic.second.size() > 1) return;
  Rank(topic);
  fresh_.push_back(topic.first);
}

std::size_t TenantQueue::ReleaseGroup(Group& group, std::size_t count) {
  std::size_t released = 0;
  for (; released < count && !group.held.empty(); ++released) {
    MakeReady(*group.held.front());
    group.held.pop_front();
  }
  return released;
}

void TenantQueue::Rank(const Topics::value_type& topic) {
  const QueuedMessage& first = *topic.second.front();
  ranks_.Set(topic.first, {first.head.due_at, first.order});
}

// ---- endpoints

LiveEndpoint* TenantQueue::FindEndpoint(const std::string& id) {
  const auto found = endpoints_.find(id);
  return found == endpoints_.end() ? nullptr : &found->second;
}

const LiveEndpoint* TenantQueue::FindDouble(const Endpoint& endpoint) const {
  const std::uint64_t routes = HashOf(endpoint.routes);
  const auto found = std::ranges::find_if(endpoints_, [&](const auto& other) {
    const LiveEndpoint& live = other.second;
    return other.first != endpoint.id && live.routes == routes &&
           live.endpoint.routes == endpoint.routes;
  });
  return found == endpoints_.end() ? nullptr : &found->second;
}

LiveEndpoint& TenantQueue::PutEndpoint(Endpoint endpoint) {
  LiveEndpoint& live = endpoints_[endpoint.id];
  if (live.endpoint == endpoint) return live;
  Close(live);
  live.routes = HashOf(endpoint.routes);
  live.endpoint = std::move(endpoint);
  Open(live);
  if (live.listed) hungry_.push_back(live.endpoint.id);
  return live;
}

void TenantQueue::RemoveEndpoint(const std::string& id) {
  const auto found = endpoints_.find(id);
  if (found == endpoints_.end()) return;
  Close(found->second);
  endpoints_.erase(found);
}

// An endpoint that could take messages before could take all there are.
void TenantQueue::SetUnderWay(LiveEndpoint& live, std::uint32_t under_way) {
  const bool was_open = live.listed;
  Close(live);
  live.under_way = under_way;
  Open(live);
  if (live.listed && !was_open) hungry_.push_back(live.endpoint.id);
}

void TenantQueue::SetSilent(LiveEndpoint& live, bool silent) {
  if (live.silent == silent) return;
  const bool was_open = live.listed;
  Close(live);
  live.silent = silent;
  Open(live);
  if (live.listed && !was_open) hungry_.push_back(live.endpoint.id);
}

void TenantQueue::Close(LiveEndpoint& live) {
  if (!std::exchange(live.listed, false)) return;
  for (const Endpoint::Route& route : live.endpoint.routes) {
    const auto place = open_.find(route.topic_prefix);
    if (place == open_.end()) continue;
    place->second.erase({live.under_way, live.endpoint.id});
    if (place->second.empty()) open_.erase(place);
  }
}

void TenantQueue::Open(LiveEndpoint& live) {
  if (live.listed || live.silent || live.under_way >= live.endpoint.concurrency) return;
  live.listed = true;
  for (const Endpoint::Route& route : live.endpoint.routes) {
    open_[route.topic_prefix].emplace(live.under_way, live.endpoint.id);
  }
}

// ---- matching

// The least busy endpoint that accepts the topic. Steps through the prefixes of the topic, the
// longest first: the greatest prefix that is not after the topic is the longest if it is one, and
// tells by what it has in common with the topic how long the next can be if not.
LiveEndpoint* TenantQueue::EndpointFor(std::string_view topic) {
  const OpenEndpoints::value_type* best = nullptr;
  while (true) {
    auto next = open_.upper_bound(topic);
    if (next == open_.begin()) break;
    const auto& [prefix, endpoints] = *--next;
    const bool accepts = topic.starts_with(prefix);
    if (accepts && (best == nullptr || *endpoints.begin() < *best)) best = &*endpoints.begin();
    if (prefix.empty()) break;
    topic = topic.substr(0, accepts ? prefix.size() - 1 : CommonLength(topic, prefix));
  }
  return best == nullptr ? nullptr : &endpoints_.at(best->second);
}

// The topic of the oldest message that the endpoint accepts; null: there is none.
const std::string* TenantQueue::TopicFor(const LiveEndpoint& live) const {
  const std::string* best = nullptr;
  const auto rank = [this](const std::string& topic) {
    const QueuedMessage& first = *ready_.at(topic).front();
    return TopicIndex::Rank(first.head.due_at, first.order);
  };
  for (const Endpoint::Route& route : live.endpoint.routes) {
    const std::string* const topic = ranks_.First(route.topic_prefix);
    if (topic == nullptr) continue;
    if (best == nullptr || rank(*topic) < rank(*best)) best = topic;
  }
  return best;
}

TenantQueue::Match TenantQueue::Next() {
  // Endpoints first: a topic that became ready later must not take their room.
  if (!hungry_.empty()) {
    LiveEndpoint* const live = FindEndpoint(hungry_.front());
    const std::string* const topic = live == nullptr || !live->listed ? nullptr : TopicFor(*live);
    if (topic != nullptr) return {TakeFront(std::string(*topic)), live};
    hungry_.pop_front();
    return {};
  }
  if (fresh_.empty()) return {};
  const std::string& topic = fresh_.front();
  LiveEndpoint* const live = ready_.contains(topic) ? EndpointFor(topic) : nullptr;
  if (live != nullptr) return {TakeFront(std::string(topic)), live};
  fresh_.pop_front();
  return {};
}

QueuedMessage* TenantQueue::TakeFront(const std::string& topic) {
  const auto place = ready_.find(topic);
  QueuedMessage* const message = place->second.front();
  place->second.pop_front();
  if (place->second.empty()) {
    ranks_.Remove(topic);
    ready_.erase(place);
  } else {
    Rank(*place);
  }
  return message;
}

}  // namespace everstep
