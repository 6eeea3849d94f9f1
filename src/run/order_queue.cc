#include "run/order_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"

namespace everstep {

OrderQueue::Tenant& OrderQueue::Join(const LaneOrder& order, const TenantOf& tenant_of) {
  OfRun& of_run = runs_[order.run_id];
  if (of_run.count == 0) {
    std::string name = tenant_of(order);
    const auto [tenant, is_new] = tenants_.try_emplace(name);
    of_run.tenant = &tenant->second;
    if (is_new) {
      tenant->second.name = std::move(name);
      tenant->second.left = static_cast<std::int64_t>(quantum_);
      turns_.push_back(of_run.tenant);
    }
  }
  ++of_run.count;
  ++size_;
  return *of_run.tenant;
}

void OrderQueue::Push(LaneOrder order, const TenantOf& tenant_of) {
  Tenant& tenant = Join(order, tenant_of);
  tenant.orders.push_back(std::move(order));
}

void OrderQueue::PushFront(LaneOrder order, const TenantOf& tenant_of) {
  Tenant& tenant = Join(order, tenant_of);
  tenant.orders.push_front(std::move(order));
}

LaneOrder OrderQueue::Pop() {
  EVERSTEP_ASSERT(!empty());
  EVERSTEP_ASSERT(quantum_ > 0 && turns_.size() == tenants_.size());
  // Terminates: each round reduces a tenant's debt by one quantum.
  while (turns_.front()->left <= 0) {
    Tenant* const over = turns_.front();
    turns_.pop_front();
    over->left += static_cast<std::int64_t>(quantum_);
    turns_.push_back(over);
  }
  Tenant& tenant = *turns_.front();
  EVERSTEP_ASSERT(!tenant.orders.empty());
  LaneOrder order = std::move(tenant.orders.front());
  tenant.orders.pop_front();
  --size_;
  const auto of_run = runs_.find(order.run_id);
  EVERSTEP_ASSERT(of_run != runs_.end() && of_run->second.tenant == &tenant);
  if (--of_run->second.count == 0) runs_.erase(of_run);
  return order;
}

void OrderQueue::Charge(std::uint64_t cost) {
  EVERSTEP_ASSERT(!turns_.empty());
  Tenant& tenant = *turns_.front();
  tenant.left -= static_cast<std::int64_t>(cost);
  if (!tenant.orders.empty()) return;
  turns_.pop_front();
  tenants_.erase(tenants_.find(tenant.name));
}

bool OrderQueue::AllOwe() const {
  return std::ranges::none_of(turns_, [](const Tenant* tenant) { return tenant->left > 0; });
}

std::vector<LaneOrder> OrderQueue::TakeAll() {
  std::vector<LaneOrder> all;
  all.reserve(size_);
  for (Tenant* const tenant : turns_) {
    all.insert(all.end(), std::make_move_iterator(tenant->orders.begin()),
               std::make_move_iterator(tenant->orders.end()));
  }
  EVERSTEP_ASSERT(all.size() == size_);
  turns_.clear();
  tenants_.clear();
  runs_.clear();
  size_ = 0;
  return all;
}

}  // namespace everstep
