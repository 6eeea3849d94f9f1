#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/timestamp.h"

namespace everstep {

// A priority queue that is fair between tenants.
//
// Between tenants: weighted fair (self-clocked fair queueing). A turn takes 1/weight of virtual
// time. The tenant whose next turn ends first goes next, and the virtual time of the queue advances
// to the end of that turn. A tenant that is new, or had nothing ready, begins at the virtual time
// of the queue: it has no credit for the past. As every turn advances the virtual time, even an
// endless stream of new tenants starves nobody.
//
// Within a tenant: by priority, where every `ageing` of waiting time counts as one more priority.
// As all items age alike, the order of two items never changes: it is that of (arrived - priority *
// ageing), then of arrival, `order` and id. So nothing has to be rescanned over time, and nothing
// starves: an item of at most priority P that arrives more than (P - p) * ageing after an item of
// priority p goes after it. With an ageing of zero the order is that of arrival.
//
// Gates: a tenant, a group of a tenant (a project) and a key of a tenant (across its groups) can be
// closed. Items at a closed gate keep their places and are skipped at no cost. The caller must know
// which gates are closed: the queue remembers that only where items wait.
//
// Every call is O(log n); SetKeyOpen is O(log n) for each group with items of the key. Not
// thread-safe.
class FairQueue {
 public:
  struct Item {
    std::uint64_t id = 0;     // unique in the queue; among equals, the smaller goes first
    std::uint64_t order = 0;  // among items that arrived at the same time, the smaller goes first
    std::string tenant{};
    std::string group{};  // may be empty
    std::string key{};    // may be empty: none
    std::int32_t priority = 0;
    Timestamp arrived{};
    std::uint32_t weight = 1;  // of the tenant; the latest Push sets it
  };
  struct Gates {
    bool tenant_open = true;
    bool group_open = true;
    bool key_open = true;
  };

  explicit FairQueue(std::chrono::microseconds ageing);
  ~FairQueue();
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  // An item that is pushed again with the same id, order, priority and arrival gets its old place.
  void Push(const Item& item, Gates gates);
  void Push(const Item& item) { Push(item, Gates()); }  // all open
  // The id of the next item; empty if there is none or all are at closed gates.
  std::optional<std::uint64_t> Peek() const;
  // Removes and returns the next item. This is a turn of its tenant.
  std::optional<std::uint64_t> Pop();
  // Removes an item without a turn of its tenant. Returns false if it is not in the queue.
  bool Remove(std::uint64_t id);

  // Without effect if no items wait there.
  void SetTenantOpen(std::string_view tenant, bool open);
  void SetGroupOpen(std::string_view tenant, std::string_view group, bool open);
  void SetKeyOpen(std::string_view tenant, std::string_view key, bool open);

  // The position of an item in the order of its tenant, from 1; zero: it is not in the queue.
  // Ignores gates and other tenants. Decreases as items before it leave, and increases only when an
  // item of higher priority arrives.
  std::uint64_t Position(std::uint64_t id) const;

  std::uint64_t size() const { return places_.size(); }
  // The earliest arrival time of the items in the queue.
  std::optional<Timestamp> oldest() const {
    if (arrivals_.empty()) return std::nullopt;
    return Timestamp(std::chrono::microseconds(arrivals_.begin()->first));
  }
  std::uint64_t SizeOf(std::string_view tenant) const;
  // How many tenants are in memory: those with items in the queue.
  std::size_t tenants_known() const { return tenants_.size(); }

 private:
  struct Rank {
    std::int64_t due = 0;  // arrived - priority * ageing
    std::int64_t arrived = 0;
    std::uint64_t order = 0;
    std::uint64_t id = 0;
    auto operator<=>(const Rank&) const = default;
  };
  struct Lane;    // the items of one group and key
  struct Group;   // lanes
  struct Tenant;  // groups
  struct Place {
    Lane* lane = nullptr;
    Rank rank;
  };
  using Turn = std::pair<std::uint64_t, std::uint64_t>;  // virtual time, number of the tenant

  Rank RankOf(const Item& item) const;
  Tenant& TenantOf(const Item& item);
  static Lane& LaneOf(Tenant& tenant, const Item& item);
  Tenant* Find(std::string_view tenant) const;
  void TakeOut(std::unordered_map<std::uint64_t, Place>::iterator place);
  void Publish(Lane& lane);
  void Publish(Group& group);
  void Publish(Tenant& tenant);
  static void Forget(Lane& lane);

  const std::int64_t ageing_us_;
  std::unordered_map<std::uint64_t, Place> places_;
  std::set<std::pair<std::int64_t, std::uint64_t>> arrivals_;  // time and item
  std::map<std::string, std::unique_ptr<Tenant>, std::less<>> tenants_;
  std::map<Turn, Tenant*> ready_;   // tenants with items at open gates, by turn
  std::uint64_t virtual_time_ = 0;  // the end of the last turn
  std::uint64_t tenants_made_ = 0;
};

}  // namespace everstep
