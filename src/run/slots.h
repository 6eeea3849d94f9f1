#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/timestamp.h"
#include "run/fair_queue.h"

namespace everstep {

// A request of a task for a slot.
struct SlotAsk {
  std::uint64_t handle = 0;  // the caller's; unique among tasks that hold a slot or wait
  std::string tenant;
  std::string queue;  // http, shell, …
  std::string key;    // concurrency key, scoped to the tenant; empty: none
  std::int32_t priority = 0;
  std::uint32_t weight = 1;  // of the tenant
};

// The slots in which tasks run: a capacity per queue, and one task per concurrency key of a tenant
// across all queues. A task gets its slot and its key together or waits for both, so that tasks
// cannot deadlock.
//
// The order within a queue is that of FairQueue: fair between tenants, priority with ageing within
// a tenant. A task that waits for its key does not block others. After every call, no task waits
// that could run, except tasks of a tenant that holds its full share of the queue. O(log n) for
// each queue in which tasks wait for the same key. Not thread-safe.
class Slots {
 public:
  // `tenant_percent`: how much of the capacity of a queue one tenant may hold at once.
  explicit Slots(std::chrono::microseconds ageing, std::uint32_t tenant_percent = 100);
  ~Slots();

  // Zero: no limit, the default. Reducing the capacity does not revoke slots that are held. Returns
  // the handles that were granted a slot.
  [[nodiscard]] std::vector<std::uint64_t> SetCapacity(std::string_view queue,
                                                       std::uint32_t capacity);

  // Returns true if the task now holds a slot. Otherwise it waits, and a later call returns its
  // handle when the slot is granted.
  [[nodiscard]] bool Request(const SlotAsk& ask, Timestamp now);

  // A task that holds a slot counts as `size` slots from now on, even beyond the capacity; never as
  // fewer than before.
  void Grow(std::uint64_t handle, std::uint32_t size);

  // Removes a task that has ended or no longer waits. Returns the handles that were granted a slot;
  // each handle is returned once. An unknown handle is ignored.
  [[nodiscard]] std::vector<std::uint64_t> Release(std::uint64_t handle);

  // Removes a waiting task. Returns false if it does not wait (it holds a slot or is unknown).
  bool Cancel(std::uint64_t handle);

  // Why a task waits: "waits for one of 8 slots of queue shell, 8 in use, 12 ahead", where only
  // tasks of its tenant count as ahead. Empty if it does not wait.
  std::string Why(std::uint64_t handle) const;
  // The task that holds the key for which this task waits; empty if it does not wait for a key.
  std::optional<std::uint64_t> KeyHolder(std::uint64_t handle) const;

  bool Holds(std::uint64_t handle) const;
  std::string_view queue_of(std::uint64_t handle) const;  // empty if the handle is unknown
  std::uint64_t in_use(std::string_view queue) const;
  std::uint64_t waiting(std::string_view queue) const;
  std::size_t keys_known() const { return keys_.size(); }
  std::size_t queues_known() const { return queues_.size(); }

 private:
  struct Queue;
  struct Key;
  struct Entry;
  using KeyName = std::pair<std::string, std::string>;  // tenant, key

  Queue& QueueOf(std::string_view name);
  Key& KeyOf(const SlotAsk& ask);
  // Grants slots to all tasks of the queue that can run.
  void Fill(Queue& queue, std::vector<std::uint64_t>& granted);
  void TakeKey(Key& key, std::uint64_t handle);
  void FreeKey(Key& key, const Queue& last, std::vector<std::uint64_t>& granted);
  static void LeaveKeyLine(const Entry& entry);
  void GiveBack(const Entry& entry) const;
  void ForgetUnused(Queue& queue);
  void ForgetUnused(Key& key);

  const std::chrono::microseconds ageing_;
  const std::uint32_t tenant_percent_;
  std::map<std::string, std::unique_ptr<Queue>, std::less<>> queues_;
  std::map<KeyName, std::unique_ptr<Key>> keys_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Entry>> entries_;  // by handle
  std::unordered_map<std::uint64_t, Entry*> by_number_;
  std::uint64_t entries_made_ = 0;
};

}  // namespace everstep
