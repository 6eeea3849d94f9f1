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

// Names of rows contain zeros, which would end the text of a message.
Error Unreadable(const DocumentKey& key) {
  std::string name = key.name;
  std::ranges::replace(name, '\0', '/');
  const char* const what = key.kind == DocumentKind::kMessage ? "message" : "endpoint";
  return {ErrorCode::kStoreCorrupt,
          std::string("the row of ") + what + " " + name +
              " is damaged; restore a backup, or copy what is intact with log salvage",
          {}};
}

MessageHead NewHead(const NewMessage& message, Timestamp now) {
  MessageHead head;
  head.tenant_id = message.tenant_id;
  head.topic = message.topic;
  head.group = message.group;
  head.key = message.key;
  head.sent_at = now;
  head.due_at = now + message.delay;
  return head;
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
        if (!take(row)) return Unreadable(row.key);
      }
      if (rows->size() < kRowsPerRead) return Ok();
      query.after = rows->back().key.name;
    }
  };
  const std::lock_guard lock(mutex_);
  const Timestamp now = parts_.clock.Now();
  Status loaded = visit(DocumentKind::kEndpoint,
                        [this](const TenantDocument& row) { return LoadEndpoint(row); });
  if (!loaded) return loaded;
  loaded = visit(DocumentKind::kMessage,
                 [this, now](const TenantDocument& row) { return LoadMessage(row, now); });
  std::vector<std::string> tenants;
  for (const auto& [tenant_id, tenant] : tenants_) tenants.push_back(tenant_id);
  for (const std::string& tenant_id : tenants) File(tenant_id);
  return loaded;
}

bool MessageQueue::LoadEndpoint(const TenantDocument& row) {
  auto endpoint = DecodeEndpoint(*row.text);
  if (!endpoint || row.key.name != EndpointPlace(endpoint->tenant_id, endpoint->id)) return false;
  TenantQueue& queue = TenantOf(endpoint->tenant_id).queue;
  Hear(queue, queue.PutEndpoint(*std::move(endpoint)));
  ++endpoints_;
  return true;
}

bool MessageQueue::LoadMessage(const TenantDocument& row, Timestamp now) {
  auto head = DecodeMessageHead(MessageIdOf(row.key.name), *row.text);
  if (!head) return false;
  if (row.key.name != MessagePlace(*head)) {
    if (row.key.name != head->id) return false;
    // Named by an earlier version.
    dirty_.push_back({row.key, std::nullopt});
    dirty_.push_back(HeadRow(*head));
  }
  TenantQueue* const known = FindTenant(head->tenant_id);
  if (known != nullptr && known->Find(head->id) != nullptr) return false;
  if (!head->group.empty() && parts_.is_gone(head->tenant_id, head->group)) {
    PutRemoval(*head, dirty_);
    return true;
  }
  if (MayHaveBeenDelivered(*head, now)) ++head->attempt;
  TenantQueue& queue = TenantOf(head->tenant_id).queue;
  QueuedMessage& message = Keep(*std::move(head));
  queue.Place(message);
  if (message.state == State::kDead) ++dead_;
  return true;
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

// ---- tenants

MessageQueue::Tenant& MessageQueue::TenantOf(const std::string& tenant_id) {
  return tenants_.try_emplace(tenant_id, tenant_id).first->second;
}

TenantQueue* MessageQueue::FindTenant(const std::string& tenant_id) {
  const auto found = tenants_.find(tenant_id);
  return found == tenants_.end() ? nullptr : &found->second.queue;
}

void MessageQueue::File(const std::string& tenant_id) {
  const auto found = tenants_.find(tenant_id);
  if (found == tenants_.end()) return;
  Tenant& tenant = found->second;
  const std::optional<Timestamp> due = tenant.queue.next_due();
  if (due != tenant.due) {
    if (tenant.due) due_.erase({*tenant.due, &tenant});
    if (due) due_.emplace(*due, &tenant);
    tenant.due = due;
  }
  if (tenant.has_turn) return;
  if (tenant.queue.empty()) {
    tenants_.erase(found);
  } else if (tenant.queue.has_work()) {
    tenant.has_turn = true;
    (HasRoom(tenant) ? turns_ : full_).push_back(&tenant);
  }
}

void MessageQueue::Written(const std::string& tenant_id) {
  File(tenant_id);
  settled_.notify_all();
  WakeLocked();
}

QueuedMessage& MessageQueue::Keep(MessageHead head) {
  ++messages_;
  weight_ += WeightOf(head);
  return TenantOf(head.tenant_id).queue.Add(std::move(head));
}

void MessageQueue::Forget(QueuedMessage& message) {
  --messages_;
  weight_ -= WeightOf(message.head);
  FindTenant(message.head.tenant_id)->Remove(message);
}

// ---- sending

// Must be called before any message is added to the index: a message that is indexed but not
// written would deduplicate later messages with the same key.
Status MessageQueue::CheckRoom(const std::string& tenant_id, std::size_t weight) const {
  const auto full = [](const char* message) {
    return Error{ErrorCode::kAdmissionRejected, message, {}, std::chrono::milliseconds(1'000)};
  };
  const SharedLimit limit{options_.messages_max, options_.tenant_share};
  const auto tenant = tenants_.find(tenant_id);
  const std::size_t theirs = tenant == tenants_.end() ? 0 : tenant->second.queue.weight();
  switch (limit.Ask(weight_, theirs, false, weight)) {
    case SharedLimit::Answer::kRoom:
      return Ok();
    case SharedLimit::Answer::kTenantFull:
      return full("the tenant has reached its share of the queue");
    case SharedLimit::Answer::kFull:
      break;
  }
  return full("the queue is full");
}

Status MessageQueue::CheckRoom(const TenantQueue& queue) const {
  const SharedLimit limit{options_.endpoints_max, options_.tenant_share};
  const std::size_t theirs = queue.endpoints().size();
  if (limit.Ask(endpoints_, theirs) == SharedLimit::Answer::kRoom) return Ok();
  return Error{ErrorCode::kAdmissionRejected,
               "too many applications are registered for messages: " + std::to_string(theirs) +
                   " of the tenant, " + std::to_string(endpoints_) + " in total",
               {},
               std::chrono::milliseconds(1'000)};
}

Result<std::vector<std::string>> MessageQueue::Send(std::vector<NewMessage> messages) {
  for (const NewMessage& message : messages) {
    if (const Status fine = Check(message, options_); !fine) return fine.error();
  }
  std::vector<std::string> ids;
  if (messages.empty()) return ids;
  const std::string tenant_id = messages.front().tenant_id;
  const Timestamp now = parts_.clock.Now();
  std::vector<MessageHead> heads;
  std::size_t weight = 0;
  for (const NewMessage& message : messages) {
    EVERSTEP_ASSERT(message.tenant_id == tenant_id);
    heads.push_back(NewHead(message, now));
    weight += WeightOf(heads.back());
  }
  std::vector<std::pair<MessageHead, const NewMessage*>> mine;
  {
    const std::lock_guard lock(mutex_);
    if (const Status room = CheckRoom(tenant_id, weight); !room) return room.error();
    TenantQueue& queue = TenantOf(tenant_id).queue;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const NewMessage& message = messages[i];
      MessageHead& head = heads[i];
      const QueuedMessage* known = queue.FindKey(head);
      if (known == nullptr && !message.id.empty()) known = queue.Find(message.id);
      if (known == nullptr) {
        head.id = message.id.empty() ? "msg_" + ulids_.Next() : message.id;
        QueuedMessage& added = Keep(head);
        added.content_bytes = BytesOf(message.headers, message.body);
        known = &added;
        mine.emplace_back(std::move(head), &message);
      }
      ids.push_back(known->head.id);
    }
    File(tenant_id);
  }
  std::vector<TenantDocument> rows;
  for (const auto& [head, message] : mine) {
    rows.push_back(HeadRow(head));
    rows.push_back({ContentKey(head), EncodeMessageContent(message->headers, message->body)});
  }
  const Status written = rows.empty() ? Ok() : parts_.committer.Put(std::move(rows));
  std::unique_lock lock(mutex_);
  for (const auto& [head, message] : mine) {
    TenantQueue& queue = *FindTenant(tenant_id);
    QueuedMessage& entry = *queue.Find(head.id);
    if (written) {
      queue.Place(entry);
    } else {
      Forget(entry);
    }
  }
  Written(tenant_id);
  if (!written) return written.error();
  // A deduplicated message may still be being written by another caller; wait until it is durable.
  const auto all_durable = [&] {
    TenantQueue* const queue = FindTenant(tenant_id);
    return stop_ || queue == nullptr || std::ranges::none_of(ids, [&](const std::string& id) {
             const QueuedMessage* const known = queue->Find(id);
             return known != nullptr && known->state == State::kWriting;
           });
  };
  settled_.wait(lock, all_durable);
  return ids;
}

// ---- endpoints

Status MessageQueue::Register(Endpoint endpoint) {
  const std::string tenant_id = endpoint.tenant_id;
  std::vector<TenantDocument> rows;
  {
    const std::lock_guard lock(mutex_);
    TenantQueue& queue = TenantOf(tenant_id).queue;
    const LiveEndpoint* const known = queue.FindEndpoint(endpoint.id);
    if (known == nullptr) {
      if (const Status room = CheckRoom(queue); !room) {
        File(tenant_id);
        return room;
      }
      ++endpoints_;
    }
    if (known == nullptr || !(known->endpoint == endpoint)) {
      rows.push_back(EndpointRow(EndpointPlace(tenant_id, endpoint.id), EncodeEndpoint(endpoint)));
      // Remove the endpoint that this one replaces: a former process with the same routes.
      if (const LiveEndpoint* const other = queue.FindDouble(endpoint)) {
        const std::string id = other->endpoint.id;
        rows.push_back(EndpointRow(EndpointPlace(tenant_id, id), std::nullopt));
        DropEndpoint(queue, id);
      }
    }
    Hear(queue, queue.PutEndpoint(std::move(endpoint)));
    File(tenant_id);
    WakeLocked();
  }
  return rows.empty() ? Ok() : parts_.committer.Put(std::move(rows));
}

void MessageQueue::Unregister(const std::string& tenant_id, const std::string& id) {
  const std::lock_guard lock(mutex_);
  TenantQueue* const queue = FindTenant(tenant_id);
  if (queue == nullptr || queue->FindEndpoint(id) == nullptr) return;
  dirty_.push_back(EndpointRow(EndpointPlace(tenant_id, id), std::nullopt));
  DropEndpoint(*queue, id);
  File(tenant_id);
  WakeLocked();
}

void MessageQueue::Hear(TenantQueue& queue, LiveEndpoint& live) {
  const std::string place = EndpointPlace(queue.tenant_id(), live.endpoint.id);
  heard_.erase({live.heard, place});
  live.heard = SteadyNow();
  heard_.emplace(live.heard, place);
  queue.SetSilent(live, false);
}

void MessageQueue::DropEndpoint(TenantQueue& queue, const std::string& id) {
  heard_.erase({queue.FindEndpoint(id)->heard, EndpointPlace(queue.tenant_id(), id)});
  queue.RemoveEndpoint(id);
  --endpoints_;
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
  TenantQueue* const queue = FindTenant(tenant_id);
  if (queue == nullptr) return seen;
  const auto see = [&seen](const QueuedMessage& message) {
    if (message.state == State::kWriting) return;
    seen.push_back({message.head, message.state == State::kUnderWay});
  };
  if (dead_only) {
    const auto& dead = queue->dead();
    for (auto id = dead.upper_bound(after); id != dead.end() && seen.size() < limit; ++id) {
      see(*queue->Find(*id));
    }
    return seen;
  }
  const auto& messages = queue->messages();
  for (auto each = messages.upper_bound(after); each != messages.end() && seen.size() < limit;
       ++each) {
    see(each->second);
  }
  return seen;
}

MessageQueue::Counts MessageQueue::CountAll() {
  const std::lock_guard lock(mutex_);
  Counts counts;
  counts.under_way = under_way_;
  counts.endpoints = endpoints_;
  counts.dead = dead_;
  counts.waiting = messages_ - counts.under_way - counts.dead;
  return counts;
}

Result<bool> MessageQueue::Replay(const std::string& tenant_id, const std::string& id) {
  MessageHead head;
  {
    const std::lock_guard lock(mutex_);
    QueuedMessage* const dead = FindDead(tenant_id, id);
    if (dead == nullptr) return false;
    FindTenant(tenant_id)->Revive(*dead);
    --dead_;
    head = dead->head;
  }
  head.dead = false;
  head.attempt = 2;  // it was delivered before
  head.due_at = parts_.clock.Now();
  const Status written = parts_.committer.Put({HeadRow(head)});
  const std::lock_guard lock(mutex_);
  TenantQueue& queue = *FindTenant(tenant_id);
  QueuedMessage& message = *queue.Find(id);
  if (written) {
    queue.Change(message, std::move(head));
  } else {
    ++dead_;
  }
  queue.Place(message);
  Written(tenant_id);
  if (!written) return written.error();
  return true;
}

Result<bool> MessageQueue::Remove(const std::string& tenant_id, const std::string& id) {
  std::vector<TenantDocument> rows;
  {
    const std::lock_guard lock(mutex_);
    QueuedMessage* const dead = FindDead(tenant_id, id);
    if (dead == nullptr) return false;
    --dead_;
    PutRemoval(dead->head, rows);
    Forget(*dead);
    File(tenant_id);
  }
  const Status written = parts_.committer.Put(std::move(rows));
  if (!written) return written.error();
  return true;
}

QueuedMessage* MessageQueue::FindDead(const std::string& tenant_id, const std::string& id) {
  TenantQueue* const queue = FindTenant(tenant_id);
  QueuedMessage* const message = queue == nullptr ? nullptr : queue->Find(id);
  return message != nullptr && message->state == State::kDead ? message : nullptr;
}

}  // namespace everstep
