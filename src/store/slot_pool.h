#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace everstep {

// Memory in slots of one size, aligned for any object. Returned slots are handed out again. The
// memory is freed with the pool. Thread-safe.
class SlotPool {
 public:
  explicit SlotPool(std::size_t slot_bytes) : slot_bytes_(slot_bytes) {}
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  void* Take();
  void Return(void* slot);

  std::size_t slots() const;  // all, taken or not

 private:
  const std::size_t slot_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte[]>> slots_;
  std::vector<void*> free_;
};

}  // namespace everstep
