#include "store/slot_pool.h"

#include "base/assert.h"

namespace everstep {

void* SlotPool::Take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    slots_.push_back(std::make_unique<std::byte[]>(slot_bytes_));
    free_.reserve(slots_.capacity());  // Return must not fail
    return slots_.back().get();
  }
  void* slot = free_.back();
  free_.pop_back();
  return slot;
}

void SlotPool::Return(void* slot) {
  const std::lock_guard lock(mutex_);
  EVERSTEP_ASSERT(free_.size() < slots_.size());
  free_.push_back(slot);
}

std::size_t SlotPool::slots() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

}  // namespace everstep
