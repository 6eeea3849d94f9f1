#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "event/event.h"
#include "run/slots.h"

namespace everstep {

// The slots of this process, shared by all lanes: they decide who may run a tool now. Queues
// without a capacity of their own share one, so that the tasks in flight are always bounded.
// Thread-safe.
class SlotBoard {
 public:
  static constexpr std::string_view kShared = "";  // the queue of those without a capacity
  // A task takes a slot of the shared queue for each part of its inputs of this size.
  static constexpr std::size_t kInputBytesPerSlot = 4096;

  using GrantFn = std::function<void(const RunId& run_id, const std::string& activity_id)>;
  struct Ask {
    std::string tenant;
    std::string queue;
    std::string concurrency_key;
    std::int32_t priority = 0;
  };

  // `on_grant` is called without the board's lock, on the thread that freed the slot.
  SlotBoard(std::chrono::microseconds ageing, std::uint32_t tenant_percent, GrantFn on_grant);

  // Must be called before the first Request. Zero: no limit.
  void SetCapacity(const std::string& queue, std::uint32_t capacity);
  // Returns true if the activity has its slot. Otherwise `on_grant` is called when it gets one.
  bool Request(const RunId& run_id, const std::string& activity_id, const Ask& ask, Timestamp now);
  // The activity, which holds a slot, has a task with inputs of this size.
  void Weigh(const RunId& run_id, const std::string& activity_id, std::size_t input_bytes);
  // Releases a slot, or withdraws the request. If the activity requested again before it released
  // its slot, this applies to the older request.
  void Release(const RunId& run_id, const std::string& activity_id);
  // Releases all slots and requests of a run, except slots that `activities` hold. Returns those of
  // them that hold a slot.
  std::set<std::string> Keep(const RunId& run_id, const std::set<std::string>& activities);
  // Whether the activity's newest request was granted.
  bool Holds(const RunId& run_id, const std::string& activity_id);
  // Why the activity waits; empty if it does not.
  std::string Why(const RunId& run_id, const std::string& activity_id);

 private:
  using Owner = std::pair<RunId, std::string>;

  std::optional<std::uint64_t> Newest(const RunId& run_id, const std::string& activity_id) const;
  void Free(std::unique_lock<std::mutex> lock, std::uint64_t handle);

  const GrantFn on_grant_;
  std::mutex mutex_;
  Slots slots_;                                  // guarded by mutex_, like the next four
  std::set<std::string> limited_;                // queues with a capacity of their own
  std::multimap<Owner, std::uint64_t> handles_;  // of an owner, oldest request first
  std::unordered_map<std::uint64_t, Owner> owners_;
  std::uint64_t last_handle_ = 0;
};

}  // namespace everstep
