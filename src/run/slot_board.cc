#include "run/slot_board.h"

#include <vector>

namespace everstep {

SlotBoard::SlotBoard(std::chrono::microseconds ageing, GrantFn on_grant)
    : on_grant_(std::move(on_grant)), slots_(ageing) {}

void SlotBoard::SetCapacity(const std::string& queue, std::uint32_t capacity) {
  const std::lock_guard lock(mutex_);
  (void)slots_.SetCapacity(queue, capacity);
}

bool SlotBoard::Request(const RunId& run_id, const UnitKey& key, const Ask& ask, Timestamp now) {
  const std::lock_guard lock(mutex_);
  const Owner owner{run_id, key};
  const std::uint64_t handle = ++last_handle_;
  handles_[owner] = handle;
  owners_.emplace(handle, owner);
  return slots_.Request({.handle = handle,
                         .tenant = ask.tenant,
                         .queue = ask.queue,
                         .key = ask.concurrency_key,
                         .priority = ask.priority},
                        now);
}

void SlotBoard::Release(const RunId& run_id, const UnitKey& key) {
  std::unique_lock lock(mutex_);
  const auto found = handles_.find({run_id, key});
  if (found == handles_.end()) return;
  const std::uint64_t handle = found->second;
  handles_.erase(found);
  Free(std::move(lock), handle);
}

void SlotBoard::Free(std::unique_lock<std::mutex> lock, std::uint64_t handle) {
  owners_.erase(handle);
  std::vector<Owner> granted;
  for (const std::uint64_t other : slots_.Release(handle)) granted.push_back(owners_.at(other));
  lock.unlock();
  for (const auto& [run_id, key] : granted) on_grant_(run_id, key);
}

void SlotBoard::Forget(const RunId& run_id) {
  while (true) {
    std::unique_lock lock(mutex_);
    const auto found = handles_.lower_bound({run_id, UnitKey{0, UnitKey::Role::kStep, 0}});
    if (found == handles_.end() || found->first.first != run_id) return;
    const std::uint64_t handle = found->second;
    handles_.erase(found);
    Free(std::move(lock), handle);
  }
}

std::string SlotBoard::Why(const RunId& run_id, const UnitKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find({run_id, key});
  return found == handles_.end() ? std::string() : slots_.Why(found->second);
}

}  // namespace everstep
