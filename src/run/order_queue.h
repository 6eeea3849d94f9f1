#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "run/lane_order.h"

namespace everstep {

// Orders that wait for a turn of their lane, fair between tenants (deficit round robin): tenants
// take turns, and a turn lasts until what its orders have cost reaches the quantum. A tenant whose
// orders cost more sits out as many rounds; one that has nothing left is forgotten, with its debt.
//
// The orders of a tenant leave in the order in which they came. So do those of a run, whoever gave
// them: while one waits, the others join its queue. Not thread-safe.
class OrderQueue {
 public:
  // The tenant that an order counts for. Asked if nothing of the order's run waits.
  using TenantOf = std::function<std::string(const LaneOrder&)>;

  explicit OrderQueue(std::uint64_t quantum) : quantum_(quantum) {}

  void Push(LaneOrder order, const TenantOf& tenant_of);
  // Before all that waits of its tenant: an order that came earlier and has to be decided again.
  void PushFront(LaneOrder order, const TenantOf& tenant_of);
  // Takes out the order whose turn it is. Must not be empty.
  LaneOrder Pop();
  // What the order that was popped last has cost. Once after each Pop, before anything is pushed.
  void Charge(std::uint64_t cost);
  // All tenants that wait have used up their turns: what is popped next begins a new round.
  bool AllOwe() const;
  // All that waits, by tenant; the queue is empty then.
  std::vector<LaneOrder> TakeAll();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  struct Tenant {
    std::string name;
    std::deque<LaneOrder> orders;
    std::int64_t left = 0;  // of its turn; negative: a debt
  };
  struct OfRun {
    Tenant* tenant = nullptr;
    std::size_t count = 0;
  };

  Tenant& Join(const LaneOrder& order, const TenantOf& tenant_of);

  const std::uint64_t quantum_;
  std::unordered_map<std::string, Tenant> tenants_;  // stable addresses
  std::deque<Tenant*> turns_;                        // each tenant once; the first has its turn
  std::unordered_map<RunId, OfRun> runs_;            // of which something waits
  std::size_t size_ = 0;
};

}  // namespace everstep
