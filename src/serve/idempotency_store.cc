#include "serve/idempotency_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace everstep {
namespace {

std::size_t BytesOf(const ServerResponse& response) {
  std::size_t bytes = 384 + response.body.size();
  for (const auto& [name, value] : response.headers) bytes += 64 + name.size() + value.size();
  return bytes;
}

}  // namespace

std::optional<KeptAnswer> MemoryIdempotencyStore::Find(const IdempotencyKeyDigest& key) {
  const Timestamp now = clock_.Now();
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->until <= now) return std::nullopt;
  return found->second->answer;
}

void MemoryIdempotencyStore::Put(const IdempotencyKeyDigest& key, KeptAnswer answer,
                                 Keeping /*keeping*/, std::function<void()> kept) {
  Add(key, std::move(answer), UntilFromNow());
  kept();
}

std::vector<MemoryIdempotencyStore::Forgotten> MemoryIdempotencyStore::Add(
    const IdempotencyKeyDigest& key, KeptAnswer answer, Timestamp until) {
  std::vector<Forgotten> forgotten;
  const std::size_t bytes = BytesOf(answer.response);
  const Timestamp now = clock_.Now();
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    forgotten.push_back(Erase(found->second));
  }
  if (bytes > limits_.bytes_max) {
    forgotten.push_back({key, until});
    return forgotten;
  }
  const auto tenant = tenants_.try_emplace(answer.tenant_id).first;
  entries_.push_front({key, std::move(answer), bytes, until, tenant, {}});
  tenant->second.entries.push_front(entries_.begin());
  entries_.front().place = tenant->second.entries.begin();
  by_key_.emplace(key, entries_.begin());
  bytes_ += bytes;
  tenant->second.bytes += bytes;
  while (!entries_.empty() && entries_.back().until <= now) {
    forgotten.push_back(Erase(std::prev(entries_.end())));
  }
  while (entries_.size() > limits_.keys_max) {
    forgotten.push_back(EraseOfLargest([](const Tenant& theirs) { return theirs.entries.size(); }));
  }
  while (bytes_ > limits_.bytes_max) {
    forgotten.push_back(EraseOfLargest([](const Tenant& theirs) { return theirs.bytes; }));
  }
  return forgotten;
}

MemoryIdempotencyStore::Forgotten MemoryIdempotencyStore::EraseOfLargest(
    std::size_t (*size)(const Tenant&)) {
  const auto largest = std::ranges::max_element(
      tenants_, {}, [size](const auto& tenant) { return size(tenant.second); });
  return Erase(largest->second.entries.back());
}

MemoryIdempotencyStore::Forgotten MemoryIdempotencyStore::Erase(Entries::iterator entry) {
  const Forgotten forgotten{entry->key, entry->until};
  bytes_ -= entry->bytes;
  Tenant& tenant = entry->tenant->second;
  tenant.bytes -= entry->bytes;
  tenant.entries.erase(entry->place);
  if (tenant.entries.empty()) tenants_.erase(entry->tenant);
  by_key_.erase(entry->key);
  entries_.erase(entry);
  return forgotten;
}

std::size_t MemoryIdempotencyStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace everstep
