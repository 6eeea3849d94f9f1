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

// A task that wants to run.
struct SlotAsk {
  std::uint64_t handle = 0;  // the caller's, unique among those that hold or wait
  std::string tenant;
  std::string queue;  // http, shell, …
  std::string key;    // concurrency key, the tenant's; empty: none
  std::int32_t priority = 0;
  std::uint32_t weight = 1;  // of the tenant
};

// The places in which tasks run: so many per queue, and one per concurrency key of a tenant over
// all queues. A task gets both at once or waits for both, so that tasks cannot block one another
// for ever.
//
// In a queue the order is that of FairQueue: fair between tenants, priority with ageing inside. A
// task that waits for its key does not hold up others. After every call nothing waits that could
// run, but for tasks of a tenant that holds its share of the queue. O(log n), times the queues in
// which tasks wait for the same key. Not thread-safe.
class Slots {
 public:
  // `tenant_percent`: of the capacity of a queue, that one tenant may hold at once.
  explicit Slots(std::chrono::microseconds ageing, std::uint32_t tenant_percent = 100);
  ~Slots();

  // Zero: no limit, as for a queue that was never named. A smaller capacity takes nothing away from
  // those that run. Returns the handles that run now.
  [[nodiscard]] std::vector<std::uint64_t> SetCapacity(std::string_view queue,
                                                       std::uint32_t capacity);

  // True: the task holds a slot from now on. False: it waits, and a later call returns its handle.
  [[nodiscard]] bool Request(const SlotAsk& ask, Timestamp now);

  // The task has ended, or does not want to wait any more. Returns the handles that run now, each
  // of them once in its life here. An unknown handle frees nothing.
  [[nodiscard]] std::vector<std::uint64_t> Release(std::uint64_t handle);

  // A task that waits is forgotten. False: it does not wait (it holds a slot, or is unknown).
  bool Cancel(std::uint64_t handle);

  // Of a task that waits: "waits for one of 8 slots of queue shell, 8 in use, 12 ahead", where
  // those ahead are its tenant's. Empty: it does not wait.
  std::string Why(std::uint64_t handle) const;
  // Of a task that waits for its key: the task that holds it.
  std::optional<std::uint64_t> KeyHolder(std::uint64_t handle) const;

  bool Holds(std::uint64_t handle) const;
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
  // Those of the queue that can run get their slots.
  void Fill(Queue& queue, std::vector<std::uint64_t>& granted);
  void TakeKey(Key& key, std::uint64_t handle);
  void FreeKey(Key& key, const Queue& last, std::vector<std::uint64_t>& granted);
  static void LeaveKeyLine(const Entry& entry);
  void GiveBack(Queue& queue, const std::string& tenant) const;
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
