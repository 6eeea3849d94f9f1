#include "run/fair_queue.h"

#include <algorithm>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <limits>
#include <vector>

#include "base/assert.h"

namespace everstep {
namespace {

// The length of a turn of a tenant of weight 1, in virtual time.
constexpr std::uint64_t kTurn = 1 << 20;

}  // namespace

// Each level shows its best item to the level above (`shown`), or nothing if it is empty or closed.
// The next item is found by descending; a change propagates upwards only as far as it matters.
struct FairQueue::Lane {
  Group* group = nullptr;
  std::string key;
  std::set<Rank> items;
  std::optional<Rank> shown;
};

struct FairQueue::Group {
  Tenant* tenant = nullptr;
  std::string name;
  bool open = true;
  std::map<std::string, std::unique_ptr<Lane>, std::less<>> lanes;  // by key
  std::map<Rank, Lane*> ready;
  std::optional<Rank> shown;
};

struct FairQueue::Tenant {
  // An order-statistics tree, for Position.
  using Ranks =
      __gnu_pbds::tree<Rank, __gnu_pbds::null_type, std::less<Rank>, __gnu_pbds::rb_tree_tag,
                       __gnu_pbds::tree_order_statistics_node_update>;
  struct Gate {
    bool open = true;
    std::vector<Lane*> lanes;  // one per group
  };

  std::string name;
  std::uint64_t number = 0;
  std::uint64_t stride = kTurn;
  std::uint64_t virtual_time = 0;  // the end of its next turn
  bool open = true;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups;
  std::map<std::string, Gate, std::less<>> gates;  // by key; none for the empty one
  std::map<Rank, Group*> ready;
  std::optional<Turn> shown;
  Ranks items;

  Turn turn() const { return {virtual_time, number}; }
  bool KeyOpen(std::string_view key) const {
    const auto gate = gates.find(key);
    return gate == gates.end() || gate->second.open;
  }
};

FairQueue::FairQueue(std::chrono::microseconds ageing)
    : ageing_us_(std::max<std::int64_t>(0, ageing.count())) {}

FairQueue::~FairQueue() = default;

FairQueue::Rank FairQueue::RankOf(const Item& item) const {
  using Limits = std::numeric_limits<std::int64_t>;
  const bool raises = item.priority > 0;
  std::int64_t credit = 0;
  if (__builtin_mul_overflow(std::int64_t{item.priority}, ageing_us_, &credit)) {
    credit = raises ? Limits::max() : Limits::min();
  }
  Rank rank{.due = 0, .arrived = Micros(item.arrived), .order = item.order, .id = item.id};
  if (__builtin_sub_overflow(rank.arrived, credit, &rank.due)) {
    rank.due = raises ? Limits::min() : Limits::max();
  }
  return rank;
}

void FairQueue::Push(const Item& item, Gates gates) {
  Tenant& tenant = TenantOf(item);
  Lane& lane = LaneOf(tenant, item);
  const Rank rank = RankOf(item);
  const bool is_new = places_.emplace(item.id, Place{&lane, rank}).second;
  EVERSTEP_ASSERT(is_new);
  arrivals_.emplace(rank.arrived, rank.id);
  EVERSTEP_ASSERT(arrivals_.size() == places_.size());
  lane.items.insert(rank);
  tenant.items.insert(rank);
  tenant.open = gates.tenant_open;
  if (lane.group->open != gates.group_open) {
    lane.group->open = gates.group_open;
    Publish(*lane.group);
  }
  if (!item.key.empty()) SetKeyOpen(item.tenant, item.key, gates.key_open);
  Publish(lane);
  Publish(tenant);
}

FairQueue::Tenant& FairQueue::TenantOf(const Item& item) {
  auto found = tenants_.find(item.tenant);
  if (found == tenants_.end()) {
    auto made = std::make_unique<Tenant>();
    made->name = item.tenant;
    made->number = ++tenants_made_;
    found = tenants_.emplace(item.tenant, std::move(made)).first;
  }
  Tenant& tenant = *found->second;
  tenant.stride = std::max<std::uint64_t>(1, kTurn / std::max<std::uint32_t>(1, item.weight));
  return tenant;
}

FairQueue::Lane& FairQueue::LaneOf(Tenant& tenant, const Item& item) {
  auto& group = tenant.groups[item.group];
  if (group == nullptr) {
    group = std::make_unique<Group>();
    group->tenant = &tenant;
    group->name = item.group;
  }
  auto& lane = group->lanes[item.key];
  if (lane == nullptr) {
    lane = std::make_unique<Lane>();
    lane->group = group.get();
    lane->key = item.key;
    if (!item.key.empty()) tenant.gates[item.key].lanes.push_back(lane.get());
  }
  return *lane;
}

std::optional<std::uint64_t> FairQueue::Peek() const {
  if (ready_.empty()) return std::nullopt;
  EVERSTEP_ASSERT(!ready_.begin()->second->ready.empty());
  return ready_.begin()->second->ready.begin()->first.id;
}

std::optional<std::uint64_t> FairQueue::Pop() {
  const auto id = Peek();
  if (!id) return std::nullopt;
  Tenant& tenant = *ready_.begin()->second;
  ready_.erase(ready_.begin());
  EVERSTEP_ASSERT(tenant.virtual_time >= virtual_time_);
  virtual_time_ = tenant.virtual_time;
  tenant.virtual_time += tenant.stride;
  tenant.shown = tenant.turn();
  ready_.emplace(*tenant.shown, &tenant);
  TakeOut(places_.find(*id));
  return id;
}

bool FairQueue::Remove(std::uint64_t id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return false;
  TakeOut(place);
  return true;
}

void FairQueue::TakeOut(std::unordered_map<std::uint64_t, Place>::iterator place) {
  const auto [lane, rank] = place->second;
  Tenant& tenant = *lane->group->tenant;
  places_.erase(place);
  arrivals_.erase({rank.arrived, rank.id});
  const std::size_t removed = lane->items.erase(rank);
  tenant.items.erase(rank);
  EVERSTEP_ASSERT(removed == 1 && arrivals_.size() == places_.size());
  Publish(*lane);
  if (lane->items.empty()) Forget(*lane);
  // Its last turn is in the past, so nothing is lost by forgetting it.
  if (tenant.items.empty()) tenants_.erase(tenants_.find(tenant.name));
}

void FairQueue::Publish(Lane& lane) {
  Group& group = *lane.group;
  std::optional<Rank> best;
  if (!lane.items.empty() && group.tenant->KeyOpen(lane.key)) best = *lane.items.begin();
  if (best == lane.shown) return;
  if (lane.shown) group.ready.erase(*lane.shown);
  if (best) group.ready.emplace(*best, &lane);
  lane.shown = best;
  Publish(group);
}

void FairQueue::Publish(Group& group) {
  Tenant& tenant = *group.tenant;
  std::optional<Rank> best;
  if (group.open && !group.ready.empty()) best = group.ready.begin()->first;
  if (best == group.shown) return;
  if (group.shown) tenant.ready.erase(*group.shown);
  if (best) tenant.ready.emplace(*best, &group);
  group.shown = best;
  Publish(tenant);
}

void FairQueue::Publish(Tenant& tenant) {
  const bool ready = tenant.open && !tenant.ready.empty();
  if (ready == tenant.shown.has_value()) return;
  if (!ready) {
    ready_.erase(*tenant.shown);
    tenant.shown.reset();
    return;
  }
  // Others had turns while it had nothing ready: it begins at the time of the queue.
  if (tenant.virtual_time <= virtual_time_) tenant.virtual_time = virtual_time_ + tenant.stride;
  tenant.shown = tenant.turn();
  ready_.emplace(*tenant.shown, &tenant);
}

void FairQueue::Forget(Lane& lane) {
  EVERSTEP_ASSERT(lane.items.empty() && !lane.shown);
  Group& group = *lane.group;
  Tenant& tenant = *group.tenant;
  if (const auto gate = tenant.gates.find(lane.key); gate != tenant.gates.end()) {
    std::erase(gate->second.lanes, &lane);
    if (gate->second.lanes.empty()) tenant.gates.erase(gate);
  }
  group.lanes.erase(group.lanes.find(lane.key));
  if (group.lanes.empty()) tenant.groups.erase(tenant.groups.find(group.name));
}

FairQueue::Tenant* FairQueue::Find(std::string_view tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? nullptr : found->second.get();
}

void FairQueue::SetTenantOpen(std::string_view tenant, bool open) {
  Tenant* const found = Find(tenant);
  if (found == nullptr) return;
  found->open = open;
  Publish(*found);
}

void FairQueue::SetGroupOpen(std::string_view tenant, std::string_view group, bool open) {
  const Tenant* const found = Find(tenant);
  if (found == nullptr) return;
  const auto place = found->groups.find(group);
  if (place == found->groups.end()) return;
  place->second->open = open;
  Publish(*place->second);
}

void FairQueue::SetKeyOpen(std::string_view tenant, std::string_view key, bool open) {
  Tenant* const found = Find(tenant);
  if (found == nullptr) return;
  const auto gate = found->gates.find(key);
  if (gate == found->gates.end() || gate->second.open == open) return;
  gate->second.open = open;
  for (Lane* const lane : gate->second.lanes) Publish(*lane);
}

std::uint64_t FairQueue::Position(std::uint64_t id) const {
  const auto place = places_.find(id);
  if (place == places_.end()) return 0;
  return place->second.lane->group->tenant->items.order_of_key(place->second.rank) + 1;
}

std::uint64_t FairQueue::SizeOf(std::string_view tenant) const {
  const Tenant* const found = Find(tenant);
  return found == nullptr ? 0 : found->items.size();
}

}  // namespace everstep
