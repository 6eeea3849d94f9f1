#include "queue/message_queue.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "queue/queue_rows.h"

namespace everstep {
namespace {

constexpr std::size_t kRowsPerRead = 1000;
constexpr std::size_t kNameBytesMax = 1024;
constexpr std::size_t kGroupBytesMax = 512;
constexpr std::size_t kHeadersMax = 64;

Error Bad(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what), {}}; }

Status Check(const NewMessage& message, const MessageQueueOptions& options) {
  if (!message.id.empty() && !IsMessageId(message.id)) {
    return Bad("the id of a message must be msg_ and a ULID");
  }
  if (message.topic.empty() || message.topic.size() > kNameBytesMax) {
    return Bad("a message needs a topic of at most 1,024 bytes");
  }
  if (message.key.size() > kNameBytesMax || message.group.size() > kGroupBytesMax) {
    return Bad("the key of a message can have at most 1,024 bytes, its group at most 512");
  }
  if (message.headers.size() > kHeadersMax) return Bad("a message can have at most 64 headers");
  if (message.body.size() > options.body_bytes_max) {
    return Bad("the body of a message can have at most " + std::to_string(options.body_bytes_max) +
               " bytes");
  }
  return Ok();
}

// Whether the previous process may have started a delivery that did not end. A message without a
// delay was due immediately, even if the clock has been set back since.
bool MayHaveBeenDelivered(const MessageHead& head, Timestamp now) {
  return !head.dead && (head.due_at <= now || head.due_at == head.sent_at);
}

}  // namespace

MessageQueue::MessageQueue(Parts parts, Options options)
    : parts_(std::move(parts)), options_(options), ulids_(parts_.clock, parts_.random) {}

Result<std::unique_ptr<MessageQueue>> MessageQueue::Open(Parts parts, Options options) {
  std::unique_ptr<MessageQueue> queue(new MessageQueue(std::move(parts), options));
  if (const Status loaded = queue->Load(); !loaded) return loaded.error();
  return queue;
}

Status MessageQueue::Load() {
  const auto visit = [this](DocumentKind kind, const auto& take) -> Status {
    DocumentQuery query{.kind = kind, .tenant_id = kQueueRows, .limit = kRowsPerRead};
    while (true) {
      const auto rows = parts_.store.Read()->ListDocuments(query);
      if (!rows) return rows.error();
      for (const TenantDocument& row : *rows) {
        if (!take(row)) {
          return Error{ErrorCode::kStoreCorrupt, "a row of the queue cannot be read", {}};
        }
      }
      if (rows->size() < kRowsPerRead) return Ok();
      query.after = rows->back().key.name;
    }
  };
  const std::lock_guard lock(mutex_);
  const Timestamp now = parts_.clock.Now();
  Status loaded = visit(DocumentKind::kEndpoint, [this](const TenantDocument& row) {
    auto endpoint = DecodeEndpoint(*row.text);
    if (!endpoint) return false;
    endpoints_[row.key.name] = {*std::move(endpoint), 0, SteadyNow()};
    return true;
  });
  if (!loaded) return loaded;
  return visit(DocumentKind::kMessage, [this, now](const TenantDocument& row) {
    auto head = DecodeMessageHead(row.key.name, *row.text);
    if (!head) return false;
    if (!head->group.empty() && parts_.is_gone(head->group)) {
      PutRemoval(*head, dirty_);
      return true;
    }
    if (MayHaveBeenDelivered(*head, now)) ++head->attempt;
    Place(Keep(*std::move(head)));
    return true;
  });
}

MessageQueue::~MessageQueue() { Stop(); }

void MessageQueue::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void MessageQueue::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_.notify_all();
  settled_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string MessageQueue::KeyOf(const MessageHead& head) {
  return head.tenant_id + '\0' + head.topic + '\0' + head.group + '\0' + head.key;
}

// ---- sending

// Must be called before any message is added to the index: a message that is indexed but not
// written would deduplicate later messages with the same key.
Status MessageQueue::CheckRoom(const std::vector<NewMessage>& messages) const {
  const auto full = [](const char* message) {
    return Error{ErrorCode::kAdmissionRejected, message, {}, std::chrono::milliseconds(1'000)};
  };
  for (const NewMessage& message : messages) {
    const auto known = message.id.empty() ? messages_.end() : messages_.find(message.id);
    const bool taken =
        known != messages_.end() && known->second.head.tenant_id != message.tenant_id;
    if (taken) return Bad("the message id is already in use");
  }
  if (messages.empty()) return Ok();
  const SharedLimit limit{options_.messages_max, options_.tenant_share};
  const auto held = by_tenant_.find(messages.front().tenant_id);
  const std::size_t theirs = held == by_tenant_.end() ? 0 : held->second;
  switch (limit.Ask(messages_.size(), theirs, false, messages.size())) {
    case SharedLimit::Answer::kRoom:
      return Ok();
    case SharedLimit::Answer::kTenantFull:
      return full("the tenant has reached its share of the queue");
    case SharedLimit::Answer::kFull:
      break;
  }
  return full("the queue is full");
}

Status MessageQueue::CheckRoom(const Endpoint& endpoint) const {
  const SharedLimit limit{options_.endpoints_max, options_.tenant_share};
  const std::string first = EndpointPlace(endpoint.tenant_id, "");
  std::uint64_t theirs = 0;
  for (auto each = endpoints_.lower_bound(first);
       each != endpoints_.end() && each->first.starts_with(first); ++each) {
    ++theirs;
  }
  if (limit.Ask(endpoints_.size(), theirs) == SharedLimit::Answer::kRoom) return Ok();
  return Error{ErrorCode::kAdmissionRejected,
               "too many applications are registered for messages: " + std::to_string(theirs) +
                   " of the tenant, " + std::to_string(endpoints_.size()) + " in total",
               {},
               std::chrono::milliseconds(1'000)};
}

Result<std::vector<std::string>> MessageQueue::Send(std::vector<NewMessage> messages) {
  for (const NewMessage& message : messages) {
    if (const Status fine = Check(message, options_); !fine) return fine.error();
  }
  std::vector<std::string> ids;
  std::vector<std::string> mine;
  std::vector<TenantDocument> rows;
  {
    const std::lock_guard lock(mutex_);
    if (const Status room = CheckRoom(messages); !room) return room.error();
    const Timestamp now = parts_.clock.Now();
    for (NewMessage& message : messages) {
      MessageHead head;
      head.tenant_id = std::move(message.tenant_id);
      head.topic = std::move(message.topic);
      head.group = std::move(message.group);
      head.key = std::move(message.key);
      head.sent_at = now;
      head.due_at = now + message.delay;
      if (!head.key.empty()) {
        const auto held = keys_.find(KeyOf(head));
        if (held != keys_.end()) {
          ids.push_back(held->second);
          continue;
        }
      }
      if (message.id.empty()) message.id = "msg_" + ulids_.Next();
      if (const auto known = messages_.find(message.id); known != messages_.end()) {
        ids.push_back(message.id);
        continue;
      }
      head.id = std::move(message.id);
      ids.push_back(head.id);
      mine.push_back(head.id);
      rows.push_back(HeadRow(head));
      rows.push_back({ContentKey(head), EncodeMessageContent(message.headers, message.body)});
      (void)Keep(std::move(head));
    }
  }
  const Status written = rows.empty() ? Ok() : parts_.committer.Put(std::move(rows));
  std::unique_lock lock(mutex_);
  for (const std::string& id : mine) {
    const auto found = messages_.find(id);
    EVERSTEP_ASSERT(found != messages_.end());
    if (written) {
      Place(found->second);
    } else {
      Forget(id);
    }
  }
  settled_.notify_all();
  WakeLocked();
  if (!written) return written.error();
  // A deduplicated message may still be being written by another caller; wait until it is durable.
  const auto all_durable = [&] {
    return stop_ || std::ranges::none_of(ids, [this](const std::string& id) {
             const auto found = messages_.find(id);
             return found != messages_.end() && found->second.state == State::kWriting;
           });
  };
  settled_.wait(lock, all_durable);
  return ids;
}

MessageQueue::Entry& MessageQueue::Keep(MessageHead head) {
  Entry& entry = messages_[head.id];
  if (!head.key.empty()) keys_[KeyOf(head)] = head.id;
  if (!head.group.empty()) members_[{head.tenant_id, head.group}].insert(head.id);
  ++by_tenant_[head.tenant_id];
  entry.head = std::move(head);
  return entry;
}

void MessageQueue::Forget(const std::string& id) {
  const auto found = messages_.find(id);
  if (found == messages_.end()) return;
  const MessageHead& head = found->second.head;
  if (!head.key.empty()) keys_.erase(KeyOf(head));
  if (const auto group = members_.find({head.tenant_id, head.group}); group != members_.end()) {
    group->second.erase(id);
    if (group->second.empty()) members_.erase(group);
  }
  if (const auto count = by_tenant_.find(head.tenant_id); --count->second == 0) {
    by_tenant_.erase(count);
  }
  messages_.erase(found);
}

void MessageQueue::Place(Entry& entry) {
  if (entry.head.dead) {
    entry.state = State::kDead;
    ++dead_;
    return;
  }
  entry.state = State::kWaiting;
  due_.emplace(entry.head.due_at, entry.head.id);
}

void MessageQueue::MakeReady(Entry& entry) {
  entry.state = State::kReady;
  ready_[{entry.head.tenant_id, entry.head.topic}].push_back(entry.head.id);
}

// ---- endpoints

Status MessageQueue::Register(Endpoint endpoint) {
  const std::string place = EndpointPlace(endpoint.tenant_id, endpoint.id);
  std::vector<TenantDocument> rows;
  {
    const std::lock_guard lock(mutex_);
    const auto known = endpoints_.find(place);
    if (known == endpoints_.end()) {
      if (const Status room = CheckRoom(endpoint); !room) return room;
    }
    if (known == endpoints_.end() || !(known->second.endpoint == endpoint)) {
      rows.push_back(EndpointRow(place, EncodeEndpoint(endpoint)));
      // Remove the endpoint that this one replaces: a former process with the same routes.
      std::erase_if(endpoints_, [&](const auto& other) {
        const Endpoint& before = other.second.endpoint;
        const bool replaced = other.first != place && before.tenant_id == endpoint.tenant_id &&
                              before.routes == endpoint.routes;
        if (replaced) rows.push_back(EndpointRow(other.first, std::nullopt));
        return replaced;
      });
    }
    Live& live = endpoints_[place];
    live.endpoint = std::move(endpoint);
    live.heard = SteadyNow();
    WakeLocked();
  }
  return rows.empty() ? Ok() : parts_.committer.Put(std::move(rows));
}

void MessageQueue::Unregister(const std::string& tenant_id, const std::string& id) {
  const std::string place = EndpointPlace(tenant_id, id);
  const std::lock_guard lock(mutex_);
  if (endpoints_.erase(place) > 0) dirty_.push_back(EndpointRow(place, std::nullopt));
  WakeLocked();
}

void MessageQueue::DropSilent() {
  const auto silent = SteadyNow() - options_.endpoint_lease;
  std::erase_if(endpoints_, [&](const auto& entry) {
    const bool drop = entry.second.heard < silent && entry.second.under_way == 0;
    if (drop) dirty_.push_back(EndpointRow(entry.first, std::nullopt));
    return drop;
  });
}

void MessageQueue::LookAgain() {
  const std::lock_guard lock(mutex_);
  look_again_ = true;
  WakeLocked();
}

// ---- operators

std::vector<MessageQueue::Seen> MessageQueue::List(const std::string& tenant_id,
                                                   const std::string& after, std::size_t limit,
                                                   bool dead_only) {
  std::vector<Seen> seen;
  const std::lock_guard lock(mutex_);
  for (auto entry = messages_.upper_bound(after); entry != messages_.end() && seen.size() < limit;
       ++entry) {
    const Entry& message = entry->second;
    if (message.head.tenant_id != tenant_id || message.state == State::kWriting) continue;
    if (dead_only && message.state != State::kDead) continue;
    seen.push_back({message.head, message.state == State::kUnderWay});
  }
  return seen;
}

MessageQueue::Counts MessageQueue::CountAll() {
  const std::lock_guard lock(mutex_);
  Counts counts;
  counts.under_way = under_way_;
  counts.endpoints = endpoints_.size();
  counts.dead = dead_;
  counts.waiting = messages_.size() - counts.under_way - counts.dead;
  return counts;
}

Result<bool> MessageQueue::Replay(const std::string& tenant_id, const std::string& id) {
  MessageHead head;
  {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find(id);
    const bool there = found != messages_.end() && found->second.head.tenant_id == tenant_id &&
                       found->second.state == State::kDead;
    if (!there) return false;
    found->second.state = State::kWriting;
    --dead_;
    head = found->second.head;
  }
  head.dead = false;
  head.attempt = 2;  // it was delivered before
  head.due_at = parts_.clock.Now();
  const Status written = parts_.committer.Put({HeadRow(head)});
  const std::lock_guard lock(mutex_);
  Entry& entry = messages_.at(id);
  if (written) entry.head = std::move(head);
  Place(entry);
  WakeLocked();
  if (!written) return written.error();
  return true;
}

Result<bool> MessageQueue::Remove(const std::string& tenant_id, const std::string& id) {
  std::vector<TenantDocument> rows;
  {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find(id);
    const bool there = found != messages_.end() && found->second.head.tenant_id == tenant_id &&
                       found->second.state == State::kDead;
    if (!there) return false;
    --dead_;
    PutRemoval(found->second.head, rows);
    Forget(id);
  }
  const Status written = parts_.committer.Put(std::move(rows));
  if (!written) return written.error();
  return true;
}

}  // namespace everstep
