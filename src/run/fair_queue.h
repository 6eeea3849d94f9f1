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

// What waits, in the order in which it should go on.
//
// Between tenants: weighted fair (self-clocked fair queueing). A turn takes 1/weight of virtual
// time, and the tenant whose next turn ends first goes next; that is then the time of the queue. A
// tenant that comes, or had nothing ready, begins at the time of the queue: it has no credit for
// the past. As every turn moves the time on, even an endless row of new tenants keeps nobody from
// his turn.
//
// Inside a tenant: by priority, and every `ageing` of waiting counts as one priority more. As all
// that wait age alike, the order of two never changes: it is that of (arrived - priority * ageing),
// then of arrival, of `order`, and of id. So nothing is scanned as time goes by, and nothing
// starves: what comes later than (P - p) * ageing after an item of priority p and has at most
// priority P goes behind it. With an ageing of zero the order is that of arrival.
//
// Gates: a tenant, a group in it (a project) and a key in it (over all its groups) can be closed.
// What is behind a closed gate keeps its place and is passed over at no cost. The owner knows which
// gates are closed; the queue keeps that only for what waits, and forgets the rest.
//
// Every call is O(log n), SetKeyOpen times the groups that wait for the key. Not thread-safe.
class FairQueue {
 public:
  struct Item {
    std::uint64_t id = 0;     // unique in the queue; of equals, the smaller goes first
    std::uint64_t order = 0;  // of those that arrived at the same time, the smaller goes first
    std::string tenant{};
    std::string group{};  // may be empty
    std::string key{};    // may be empty: none
    std::int32_t priority = 0;
    Timestamp arrived{};
    std::uint32_t weight = 1;  // of the tenant; the last one given counts
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

  // An item that comes back with the same id, priority and arrival has its old place.
  void Push(const Item& item, Gates gates);
  void Push(const Item& item) { Push(item, Gates()); }  // all open
  // Which item goes next; empty: none, or all are behind closed gates.
  std::optional<std::uint64_t> Peek() const;
  // Takes that item out; its tenant has had a turn.
  std::optional<std::uint64_t> Pop();
  // Takes an item out that is not wanted any more. False: it is not here.
  bool Remove(std::uint64_t id);

  // Without effect where nothing waits.
  void SetTenantOpen(std::string_view tenant, bool open);
  void SetGroupOpen(std::string_view tenant, std::string_view group, bool open);
  void SetKeyOpen(std::string_view tenant, std::string_view key, bool open);

  // The place of an item in the order of its tenant, from 1; zero: it is not here. Gates and other
  // tenants are left out of account. It falls as those before it leave, and rises only when
  // something of a higher priority comes.
  std::uint64_t Position(std::uint64_t id) const;

  std::uint64_t size() const { return places_.size(); }
  // When the item that is here for the longest time arrived.
  std::optional<Timestamp> oldest() const {
    if (arrivals_.empty()) return std::nullopt;
    return Timestamp(std::chrono::microseconds(arrivals_.begin()->first));
  }
  std::uint64_t SizeOf(std::string_view tenant) const;
  // Tenants in memory: those that have something here.
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
  std::set<std::pair<std::int64_t, std::uint64_t>> arrivals_;  // when, and the item
  std::map<std::string, std::unique_ptr<Tenant>, std::less<>> tenants_;
  std::map<Turn, Tenant*> ready_;   // have something to go, in the order of their turns
  std::uint64_t virtual_time_ = 0;  // at which the last turn ended
  std::uint64_t tenants_made_ = 0;
};

}  // namespace everstep
