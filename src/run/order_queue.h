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

// Orders that wait for a turn of their lane, fair between tenants (deficit round robin). Tenants
// take turns; a turn lasts until the cost of its orders reaches the quantum. A tenant whose orders
// cost more than that skips rounds until its debt is paid. A tenant without waiting orders is
// forgotten, together with its debt.
//
// The orders of a tenant leave in the order in which they were pushed. So do the orders of a run,
// even if different tenants sent them: while one order of a run waits, the others join its queue.
// Not thread-safe.
class OrderQueue {
 public:
  // Returns the tenant that an order is charged to. Called only if no order of its run waits.
  using TenantOf = std::function<std::string(const LaneOrder&)>;

  explicit OrderQueue(std::uint64_t quantum) : quantum_(quantum) {}

  void Push(LaneOrder order, const TenantOf& tenant_of);
  // Puts the order before all others of its tenant, for an older order that is decided again.
  void PushFront(LaneOrder order, const TenantOf& tenant_of);
  // Removes and returns the order whose turn it is. Requires: !empty().
  LaneOrder Pop();
  // Charges the cost of the last popped order to its tenant. Must be called once after each Pop,
  // before the next Push.
  void Charge(std::uint64_t cost);
  // Whether all waiting tenants have used up their turns: the next Pop begins a new round.
  bool AllOwe() const;
  // Removes and returns all orders, grouped by tenant.
  std::vector<LaneOrder> TakeAll();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  struct Tenant {
    std::string name;
    std::deque<LaneOrder> orders;
    std::int64_t left = 0;  // of its quantum; negative: a debt
  };
  struct OfRun {
    Tenant* tenant = nullptr;
    std::size_t count = 0;
  };

  Tenant& Join(const LaneOrder& order, const TenantOf& tenant_of);

  const std::uint64_t quantum_;
  std::unordered_map<std::string, Tenant> tenants_;  // stable addresses
  std::deque<Tenant*> turns_;                        // each tenant once; it is the first one's turn
  std::unordered_map<RunId, OfRun> runs_;            // those with waiting orders
  std::size_t size_ = 0;
};

}  // namespace everstep
