#include "run/slots.h"

#include "base/assert.h"
#include "base/shared_limit.h"

namespace everstep {

struct Slots::Queue {
  explicit Queue(std::chrono::microseconds ageing) : waiting(ageing) {}

  std::string name;
  std::uint32_t capacity = 0;
  std::uint64_t in_use = 0;
  FairQueue waiting;
  std::map<std::string, std::uint64_t, std::less<>> held;  // by tenant

  bool has_room() const { return capacity == 0 || in_use < capacity; }
  bool IsOpen(const std::string& tenant, std::uint32_t percent) const {
    const auto theirs = held.find(tenant);
    return capacity == 0 || percent >= 100 || theirs == held.end() ||
           theirs->second < SharedLimit{capacity, percent}.tenant_max();
  }
};

struct Slots::Key {
  KeyName name;
  std::optional<std::uint64_t> holder;  // handle
  // By name of the queue: how many of its tasks wait for the key.
  std::map<std::string, std::uint64_t, std::less<>> waiting;
};

struct Slots::Entry {
  SlotAsk ask;
  std::uint64_t number = 0;  // in order of arrival
  Queue* queue = nullptr;
  Key* key = nullptr;  // null: none
  bool holds = false;
  std::uint32_t size = 1;  // in slots
};

Slots::Slots(std::chrono::microseconds ageing, std::uint32_t tenant_percent)
    : ageing_(ageing), tenant_percent_(tenant_percent) {}

Slots::~Slots() = default;

std::vector<std::uint64_t> Slots::SetCapacity(std::string_view queue, std::uint32_t capacity) {
  Queue& found = QueueOf(queue);
  found.capacity = capacity;
  for (const auto& [tenant, count] : found.held) {
    found.waiting.SetTenantOpen(tenant, found.IsOpen(tenant, tenant_percent_));
  }
  std::vector<std::uint64_t> granted;
  Fill(found, granted);
  ForgetUnused(found);
  return granted;
}

bool Slots::Request(const SlotAsk& ask, Timestamp now) {
  auto& entry = entries_[ask.handle];
  EVERSTEP_ASSERT(entry == nullptr);
  entry = std::make_unique<Entry>();
  entry->ask = ask;
  entry->number = ++entries_made_;
  entry->queue = &QueueOf(ask.queue);
  entry->key = ask.key.empty() ? nullptr : &KeyOf(ask);
  by_number_.emplace(entry->number, entry.get());
  Key* const key = entry->key;
  entry->queue->waiting.Push({.id = entry->number,
                              .tenant = ask.tenant,
                              .key = ask.key,
                              .priority = ask.priority,
                              .arrived = now,
                              .weight = ask.weight},
                             {.tenant_open = entry->queue->IsOpen(ask.tenant, tenant_percent_),
                              .key_open = key == nullptr || !key->holder});
  if (key != nullptr) ++key->waiting[ask.queue];
  std::vector<std::uint64_t> granted;
  Fill(*entry->queue, granted);
  // No other waiting task could run before this call, so none can now.
  EVERSTEP_ASSERT(granted.size() == (entry->holds ? 1 : 0));
  return entry->holds;
}

std::vector<std::uint64_t> Slots::Release(std::uint64_t handle) {
  std::vector<std::uint64_t> granted;
  const auto found = entries_.find(handle);
  if (found == entries_.end()) return granted;
  const std::unique_ptr<Entry> entry = std::move(found->second);
  entries_.erase(found);
  by_number_.erase(entry->number);
  EVERSTEP_ASSERT(by_number_.size() == entries_.size());
  if (entry->holds) {
    GiveBack(*entry);
    EVERSTEP_ASSERT(entry->key == nullptr || entry->key->holder == handle);
    if (entry->key != nullptr) FreeKey(*entry->key, *entry->queue, granted);
    Fill(*entry->queue, granted);
  } else {
    entry->queue->waiting.Remove(entry->number);
    LeaveKeyLine(*entry);
  }
  if (entry->key != nullptr) ForgetUnused(*entry->key);
  ForgetUnused(*entry->queue);
  return granted;
}

void Slots::GiveBack(const Entry& entry) const {
  Queue& queue = *entry.queue;
  const std::string& tenant = entry.ask.tenant;
  EVERSTEP_ASSERT(entry.holds && queue.in_use >= entry.size);
  queue.in_use -= entry.size;
  const auto theirs = queue.held.find(tenant);
  EVERSTEP_ASSERT(theirs != queue.held.end() && theirs->second >= entry.size);
  theirs->second -= entry.size;
  if (theirs->second == 0) queue.held.erase(theirs);
  queue.waiting.SetTenantOpen(tenant, queue.IsOpen(tenant, tenant_percent_));
}

void Slots::Grow(std::uint64_t handle, std::uint32_t size) {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || !found->second->holds) return;
  Entry& entry = *found->second;
  Queue& queue = *entry.queue;
  if (size <= entry.size) return;
  queue.in_use += size - entry.size;
  queue.held[entry.ask.tenant] += size - entry.size;
  entry.size = size;
  queue.waiting.SetTenantOpen(entry.ask.tenant, queue.IsOpen(entry.ask.tenant, tenant_percent_));
}

bool Slots::Cancel(std::uint64_t handle) {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second->holds) return false;
  const auto granted = Release(handle);
  EVERSTEP_ASSERT(granted.empty());
  return true;
}

// Starts with the queue after `last`, so that no queue can monopolize a key.
void Slots::FreeKey(Key& key, const Queue& last, std::vector<std::uint64_t>& granted) {
  EVERSTEP_ASSERT(key.holder.has_value());
  key.holder.reset();
  std::vector<Queue*> queues;
  for (auto next = key.waiting.upper_bound(last.name); next != key.waiting.end(); ++next) {
    queues.push_back(&QueueOf(next->first));
  }
  for (auto next = key.waiting.begin(); next != key.waiting.upper_bound(last.name); ++next) {
    queues.push_back(&QueueOf(next->first));
  }
  for (Queue* const queue : queues) {
    queue->waiting.SetKeyOpen(key.name.first, key.name.second, true);
  }
  for (Queue* const queue : queues) {
    Fill(*queue, granted);
    if (key.holder) return;
  }
}

void Slots::Fill(Queue& queue, std::vector<std::uint64_t>& granted) {
  while (queue.has_room()) {
    const auto number = queue.waiting.Pop();
    if (!number) return;
    Entry& entry = *by_number_.at(*number);
    EVERSTEP_ASSERT(!entry.holds && entry.queue == &queue);
    entry.holds = true;
    ++queue.in_use;
    ++queue.held[entry.ask.tenant];
    if (!queue.IsOpen(entry.ask.tenant, tenant_percent_)) {
      queue.waiting.SetTenantOpen(entry.ask.tenant, false);
    }
    LeaveKeyLine(entry);
    if (entry.key != nullptr) TakeKey(*entry.key, entry.ask.handle);
    granted.push_back(entry.ask.handle);
  }
}

void Slots::TakeKey(Key& key, std::uint64_t handle) {
  EVERSTEP_ASSERT(!key.holder);
  key.holder = handle;
  for (const auto& [name, count] : key.waiting) {
    QueueOf(name).waiting.SetKeyOpen(key.name.first, key.name.second, false);
  }
}

void Slots::LeaveKeyLine(const Entry& entry) {
  if (entry.key == nullptr) return;
  const auto line = entry.key->waiting.find(entry.ask.queue);
  EVERSTEP_ASSERT(line != entry.key->waiting.end() && line->second > 0);
  if (--line->second == 0) entry.key->waiting.erase(line);
}

std::string Slots::Why(std::uint64_t handle) const {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second->holds) return "";
  const Entry& entry = *found->second;
  const Queue& queue = *entry.queue;
  const std::string of_queue = queue.name.empty() ? "" : " of queue " + queue.name;
  const std::string ahead =
      ", " + std::to_string(queue.waiting.Position(entry.number) - 1) + " ahead";
  if (entry.key != nullptr && entry.key->holder) {
    return "waits for concurrency key " + entry.ask.key + ", which is in use" + ahead;
  }
  if (!queue.IsOpen(entry.ask.tenant, tenant_percent_)) {
    return "waits for a slot" + of_queue + "; its tenant holds its full share, " +
           std::to_string(queue.held.at(entry.ask.tenant)) + " of " +
           std::to_string(queue.capacity) + ahead;
  }
  const std::string slots =
      queue.capacity == 1 ? "the slot" : "one of " + std::to_string(queue.capacity) + " slots";
  return "waits for " + slots + of_queue + ", " + std::to_string(queue.in_use) + " in use" + ahead;
}

std::string_view Slots::queue_of(std::uint64_t handle) const {
  const auto found = entries_.find(handle);
  return found == entries_.end() ? std::string_view() : found->second->ask.queue;
}

std::optional<std::uint64_t> Slots::KeyHolder(std::uint64_t handle) const {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second->holds) return std::nullopt;
  return found->second->key == nullptr ? std::nullopt : found->second->key->holder;
}

bool Slots::Holds(std::uint64_t handle) const {
  const auto found = entries_.find(handle);
  return found != entries_.end() && found->second->holds;
}

std::uint64_t Slots::in_use(std::string_view queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? 0 : found->second->in_use;
}

std::uint64_t Slots::waiting(std::string_view queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? 0 : found->second->waiting.size();
}

Slots::Queue& Slots::QueueOf(std::string_view name) {
  const auto found = queues_.find(name);
  if (found != queues_.end()) return *found->second;
  auto made = std::make_unique<Queue>(ageing_);
  made->name = name;
  return *queues_.emplace(name, std::move(made)).first->second;
}

Slots::Key& Slots::KeyOf(const SlotAsk& ask) {
  auto& key = keys_[{ask.tenant, ask.key}];
  if (key == nullptr) {
    key = std::make_unique<Key>();
    key->name = {ask.tenant, ask.key};
  }
  return *key;
}

void Slots::ForgetUnused(Queue& queue) {
  if (queue.capacity > 0 || queue.in_use > 0 || queue.waiting.size() > 0) return;
  queues_.erase(queues_.find(queue.name));
}

void Slots::ForgetUnused(Key& key) {
  if (key.holder || !key.waiting.empty()) return;
  keys_.erase(keys_.find(key.name));
}

}  // namespace everstep
