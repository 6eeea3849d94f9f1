#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "run/slots.h"
#include "run/unit.h"

namespace everstep {

// The slots of this process, shared by all lanes: who may run a tool now. Thread-safe.
class SlotBoard {
 public:
  using GrantFn = std::function<void(const RunId& run_id, const UnitKey& key)>;
  struct Ask {
    std::string tenant;
    std::string queue;
    std::string concurrency_key;
    std::int32_t priority = 0;
  };

  // `on_grant` is called without the board's lock, on the thread that freed the slot.
  SlotBoard(std::chrono::microseconds ageing, GrantFn on_grant);

  void SetCapacity(const std::string& queue, std::uint32_t capacity);
  // True: the unit has its slot. False: it is granted later.
  bool Request(const RunId& run_id, const UnitKey& key, const Ask& ask, Timestamp now);
  // Gives a slot back, or withdraws the ask.
  void Release(const RunId& run_id, const UnitKey& key);
  // All of a run.
  void Forget(const RunId& run_id);
  // Why the unit waits; empty: it does not.
  std::string Why(const RunId& run_id, const UnitKey& key);

 private:
  using Owner = std::pair<RunId, UnitKey>;

  void Free(std::unique_lock<std::mutex> lock, std::uint64_t handle);

  const GrantFn on_grant_;
  std::mutex mutex_;
  Slots slots_;  // guarded by mutex_, as the next three
  std::map<Owner, std::uint64_t> handles_;
  std::unordered_map<std::uint64_t, Owner> owners_;
  std::uint64_t last_handle_ = 0;
};

}  // namespace everstep
