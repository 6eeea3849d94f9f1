#include "run/slot_board.h"

#include <iterator>
#include <vector>

#include "base/assert.h"

namespace everstep {

SlotBoard::SlotBoard(std::chrono::microseconds ageing, std::uint32_t tenant_percent,
                     GrantFn on_grant)
    : on_grant_(std::move(on_grant)), slots_(ageing, tenant_percent) {}

void SlotBoard::SetCapacity(const std::string& queue, std::uint32_t capacity) {
  const std::lock_guard lock(mutex_);
  (void)slots_.SetCapacity(queue, capacity);
  limited_.insert(queue);
}

bool SlotBoard::Request(const RunId& run_id, const std::string& activity_id, const Ask& ask,
                        Timestamp now) {
  const std::lock_guard lock(mutex_);
  const Owner owner{run_id, activity_id};
  const std::uint64_t handle = ++last_handle_;
  handles_.emplace(owner, handle);
  owners_.emplace(handle, owner);
  return slots_.Request({.handle = handle,
                         .tenant = ask.tenant,
                         .queue = limited_.contains(ask.queue) ? ask.queue : std::string(kShared),
                         .key = ask.concurrency_key,
                         .priority = ask.priority},
                        now);
}

void SlotBoard::Weigh(const RunId& run_id, const std::string& activity_id,
                      std::size_t input_bytes) {
  const std::lock_guard lock(mutex_);
  const auto handle = Newest(run_id, activity_id);
  if (!handle || slots_.queue_of(*handle) != kShared) return;
  slots_.Grow(*handle, static_cast<std::uint32_t>(1 + input_bytes / kInputBytesPerSlot));
}

void SlotBoard::Release(const RunId& run_id, const std::string& activity_id) {
  std::unique_lock lock(mutex_);
  const auto found = handles_.lower_bound({run_id, activity_id});
  if (found == handles_.end() || found->first != Owner{run_id, activity_id}) return;
  const std::uint64_t handle = found->second;
  handles_.erase(found);
  Free(std::move(lock), handle);
}

void SlotBoard::Free(std::unique_lock<std::mutex> lock, std::uint64_t handle) {
  EVERSTEP_ASSERT(lock.owns_lock());
  const std::size_t removed = owners_.erase(handle);
  EVERSTEP_ASSERT(removed == 1);
  std::vector<Owner> granted;
  for (const std::uint64_t other : slots_.Release(handle)) granted.push_back(owners_.at(other));
  lock.unlock();
  for (const auto& [run_id, activity_id] : granted) on_grant_(run_id, activity_id);
}

std::set<std::string> SlotBoard::Keep(const RunId& run_id,
                                      const std::set<std::string>& activities) {
  std::set<std::string> kept;
  std::vector<std::uint64_t> freed;
  std::unique_lock lock(mutex_);
  auto entry = handles_.lower_bound({run_id, std::string()});
  while (entry != handles_.end() && entry->first.first == run_id) {
    const std::string& activity_id = entry->first.second;
    if (activities.contains(activity_id) && slots_.Holds(entry->second) &&
        kept.insert(activity_id).second) {
      ++entry;
    } else {
      freed.push_back(entry->second);
      entry = handles_.erase(entry);
    }
  }
  for (const std::uint64_t handle : freed) {
    if (!lock.owns_lock()) lock.lock();
    Free(std::move(lock), handle);
    lock = std::unique_lock(mutex_, std::defer_lock);
  }
  return kept;
}

std::optional<std::uint64_t> SlotBoard::Newest(const RunId& run_id,
                                               const std::string& activity_id) const {
  const auto after = handles_.upper_bound({run_id, activity_id});
  if (after == handles_.begin()) return std::nullopt;
  const auto newest = std::prev(after);
  if (newest->first != Owner{run_id, activity_id}) return std::nullopt;
  return newest->second;
}

bool SlotBoard::Holds(const RunId& run_id, const std::string& activity_id) {
  const std::lock_guard lock(mutex_);
  const auto handle = Newest(run_id, activity_id);
  return handle && slots_.Holds(*handle);
}

std::string SlotBoard::Why(const RunId& run_id, const std::string& activity_id) {
  const std::lock_guard lock(mutex_);
  const auto handle = Newest(run_id, activity_id);
  return handle ? slots_.Why(*handle) : std::string();
}

}  // namespace everstep
