#include "run/fair_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace everstep {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

const Timestamp kStart = FromMicros(1'770'000'000'000'000);
constexpr seconds kAgeing{10};

std::vector<std::uint64_t> Drain(FairQueue& queue) {
  std::vector<std::uint64_t> order;
  while (const auto id = queue.Pop()) order.push_back(*id);
  return order;
}

using Ids = std::vector<std::uint64_t>;

TEST(FairQueueTest, GoesByPriorityThenByArrival) {
  FairQueue queue(kAgeing);
  queue.Push({.id = 1, .tenant = "a", .priority = 0, .arrived = kStart});
  queue.Push({.id = 2, .tenant = "a", .priority = 5, .arrived = kStart + seconds(1)});
  queue.Push({.id = 3, .tenant = "a", .priority = 5, .arrived = kStart});
  queue.Push({.id = 4, .tenant = "a", .priority = 5, .arrived = kStart});
  EXPECT_EQ(queue.Position(3), 1u);
  EXPECT_EQ(queue.Position(4), 2u);
  EXPECT_EQ(queue.Position(2), 3u);
  EXPECT_EQ(queue.Position(1), 4u);
  EXPECT_EQ(queue.Position(9), 0u);
  EXPECT_EQ(Drain(queue), (Ids{3, 4, 2, 1}));
}

TEST(FairQueueTest, WaitingRaisesPriorityByOnePerAgeing) {
  FairQueue queue(kAgeing);
  queue.Push({.id = 1, .tenant = "a", .priority = 0, .arrived = kStart});
  queue.Push({.id = 2, .tenant = "a", .priority = 2, .arrived = kStart + seconds(19)});
  queue.Push({.id = 3, .tenant = "a", .priority = 2, .arrived = kStart + seconds(20)});
  EXPECT_EQ(Drain(queue), (Ids{2, 1, 3}));
}

TEST(FairQueueTest, WithoutAgeingItIsFirstComeFirstServed) {
  FairQueue queue(seconds(0));
  queue.Push({.id = 1, .tenant = "a", .priority = 0, .arrived = kStart});
  queue.Push({.id = 2, .tenant = "a", .priority = 9, .arrived = kStart + microseconds(1)});
  EXPECT_EQ(Drain(queue), (Ids{1, 2}));
}

TEST(FairQueueTest, ExtremePrioritiesKeepTheirOrder) {
  FairQueue queue(std::chrono::hours(24 * 365));
  const auto lowest = std::numeric_limits<std::int32_t>::min();
  const auto highest = std::numeric_limits<std::int32_t>::max();
  queue.Push({.id = 1, .tenant = "a", .priority = lowest, .arrived = kStart});
  queue.Push({.id = 2, .tenant = "a", .priority = 0, .arrived = kStart});
  queue.Push({.id = 3, .tenant = "a", .priority = highest, .arrived = kStart});
  EXPECT_EQ(Drain(queue), (Ids{3, 2, 1}));
}

// An item of priority 9 arrives each second and one leaves each second. Without ageing, the item of
// low priority would wait forever.
TEST(FairQueueTest, AStreamOfHigherPriorityStarvesNothing) {
  FairQueue queue(kAgeing);
  queue.Push({.id = 1, .tenant = "a", .priority = 0, .arrived = kStart});
  std::uint64_t next_id = 2;
  for (int i = 0; i < 20; ++i) {
    queue.Push({.id = next_id++, .tenant = "a", .priority = 9, .arrived = kStart});
  }
  // The items that arrive within (9 - 0) * 10 s go before it, and so do the 20 older ones.
  const int bound = 9 * 10 + 20;
  int served = 0;
  for (bool found = false; !found; ++served) {
    ASSERT_LE(served, bound);
    queue.Push(
        {.id = next_id++, .tenant = "a", .priority = 9, .arrived = kStart + seconds(served)});
    found = queue.Pop() == 1;
  }
  EXPECT_EQ(served, bound + 1);
}

TEST(FairQueueTest, TurnsAreSharedByWeight) {
  FairQueue queue(kAgeing);
  for (std::uint64_t id = 0; id < 800; ++id) {
    const bool heavy = id % 2 == 0;
    queue.Push({.id = id,
                .tenant = heavy ? "heavy" : "light",
                .arrived = kStart,
                .weight = heavy ? 3u : 1u});
  }
  int heavy = 0;
  for (int turn = 1; turn <= 400; ++turn) {
    heavy += *queue.Pop() % 2 == 0;
    EXPECT_NEAR(heavy, turn * 3 / 4.0, 2) << turn;
  }
}

TEST(FairQueueTest, ATenantThatWasIdleGetsNoBurst) {
  FairQueue queue(kAgeing);
  std::uint64_t id = 0;
  for (int i = 0; i < 200; ++i) queue.Push({.id = ++id, .tenant = "busy", .arrived = kStart});
  for (int i = 0; i < 100; ++i) queue.Pop();
  std::set<std::uint64_t> late;
  for (int i = 0; i < 100; ++i) {
    late.insert(++id);
    queue.Push({.id = id, .tenant = "late", .arrived = kStart});
  }
  int served_late = 0;
  for (int turn = 1; turn <= 100; ++turn) {
    served_late += late.contains(*queue.Pop());
    EXPECT_NEAR(served_late, turn / 2.0, 1) << turn;
  }
}

TEST(FairQueueTest, ATenantWhoseGateWasClosedGetsNoBurst) {
  FairQueue queue(kAgeing);
  for (std::uint64_t id = 1; id <= 200; ++id) {
    queue.Push({.id = id, .tenant = id % 2 == 0 ? "even" : "odd", .arrived = kStart});
  }
  queue.SetTenantOpen("even", false);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(*queue.Pop() % 2, 1u);
  queue.SetTenantOpen("even", true);
  int even = 0;
  for (int turn = 1; turn <= 40; ++turn) {
    even += *queue.Pop() % 2 == 0;
    EXPECT_NEAR(even, turn / 2.0, 1) << turn;
  }
}

// A tenant is forgotten with its last item. It must not go first each time it returns.
TEST(FairQueueTest, OneItemAtATimeDoesNotBeatTheWeights) {
  FairQueue queue(kAgeing);
  for (std::uint64_t id = 0; id < 1'000; ++id) {
    queue.Push({.id = id, .tenant = "heavy", .arrived = kStart, .weight = 3});
  }
  std::uint64_t single = 10'000;
  queue.Push({.id = single, .tenant = "light", .arrived = kStart});
  int light = 0;
  for (int turn = 0; turn < 400; ++turn) {
    if (*queue.Pop() != single) continue;
    ++light;
    queue.Push({.id = ++single, .tenant = "light", .arrived = kStart});
  }
  EXPECT_NEAR(light, 100, 2);
}

TEST(FairQueueTest, ItemsAtAClosedGateAreSkippedAndKeepTheirPlaces) {
  FairQueue queue(kAgeing);
  const auto push = [&](std::uint64_t id, std::string group, std::string key) {
    queue.Push({.id = id,
                .tenant = "a",
                .group = std::move(group),
                .key = std::move(key),
                .arrived = kStart + seconds(id)});
  };
  push(1, "web", "deploy");
  push(2, "web", "");
  push(3, "data", "deploy");
  push(4, "data", "");
  queue.SetKeyOpen("a", "deploy", false);
  EXPECT_EQ(queue.Pop(), 2u);
  EXPECT_EQ(queue.Peek(), 4u);
  queue.SetGroupOpen("a", "data", false);
  EXPECT_EQ(queue.Pop(), std::nullopt);
  queue.SetKeyOpen("a", "deploy", true);
  EXPECT_EQ(queue.Position(4), 3u);
  EXPECT_EQ(queue.Pop(), 1u);
  EXPECT_EQ(queue.Pop(), std::nullopt);
  queue.SetGroupOpen("a", "data", true);
  EXPECT_EQ(Drain(queue), (Ids{3, 4}));
}

TEST(FairQueueTest, AnItemThatIsPushedAgainGetsItsOldPlace) {
  FairQueue queue(kAgeing);
  const FairQueue::Item first = {.id = 1, .tenant = "a", .arrived = kStart};
  queue.Push(first);
  queue.Push({.id = 2, .tenant = "a", .arrived = kStart});
  EXPECT_EQ(queue.Pop(), 1u);
  queue.Push(first);
  EXPECT_EQ(queue.Position(1), 1u);
  EXPECT_EQ(Drain(queue), (Ids{1, 2}));
}

TEST(FairQueueTest, ForgetsTenantsWithoutItems) {
  FairQueue queue(kAgeing);
  for (std::uint64_t id = 0; id < 1'000; ++id) {
    queue.Push({.id = id, .tenant = "t" + std::to_string(id), .arrived = kStart});
    if (id % 3 == 0) queue.Remove(id);
  }
  Drain(queue);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.tenants_known(), 0u);
}

TEST(FairQueueTest, AStreamOfNewTenantsDoesNotStarveOthers) {
  FairQueue queue(kAgeing);
  queue.Push({.id = 1, .tenant = "old", .arrived = kStart});
  queue.Push({.id = 2, .tenant = "old", .arrived = kStart});
  std::uint64_t id = 2;
  int turns = 0;
  for (; queue.SizeOf("old") > 0 && turns < 100; ++turns) {
    ++id;
    queue.Push({.id = id, .tenant = "t" + std::to_string(id), .arrived = kStart});
    queue.Pop();
  }
  EXPECT_LE(turns, 4);
}

TEST(FairQueueTest, ForgetsIdleTenantsWhileOthersWait) {
  FairQueue queue(kAgeing);
  for (std::uint64_t id = 0; id < 2'000; ++id) {
    queue.Push({.id = id, .tenant = "busy", .arrived = kStart});
  }
  for (std::uint64_t id = 10'000; id < 10'900; ++id) {
    queue.Push({.id = id, .tenant = "t" + std::to_string(id), .arrived = kStart});
    queue.Pop();
    EXPECT_EQ(queue.tenants_known(), 1 + queue.size() - queue.SizeOf("busy"));
  }
}

// A slow reference implementation that scans everything each time.
struct PlainQueue {
  std::map<std::uint64_t, FairQueue::Item> items;
  std::set<std::string> closed_groups;
  std::set<std::string> closed_keys;

  std::optional<std::uint64_t> Best() const {
    const auto rank = [](const FairQueue::Item& item) {
      return std::tuple(item.arrived - item.priority * kAgeing, item.arrived, item.id);
    };
    const FairQueue::Item* best = nullptr;
    for (const auto& [id, item] : items) {
      if (closed_groups.contains(item.group) || closed_keys.contains(item.key)) continue;
      if (best == nullptr || rank(item) < rank(*best)) best = &item;
    }
    return best == nullptr ? std::nullopt : std::optional(best->id);
  }
  FairQueue::Gates GatesOf(const FairQueue::Item& item) const {
    return {.tenant_open = true,
            .group_open = !closed_groups.contains(item.group),
            .key_open = !closed_keys.contains(item.key)};
  }
};

RC_GTEST_PROP(FairQueueTest, TheOrderWithinATenantIsThatOfTheReference, ()) {
  FairQueue queue(kAgeing);
  PlainQueue plain;
  const auto flip = [](std::set<std::string>& closed, const std::string& name) {
    if (closed.erase(name) == 0) closed.insert(name);
    return !closed.contains(name);
  };
  const std::vector<std::string> names = {"", "x", "y", "z"};
  for (std::uint64_t id = 1; id <= 120; ++id) {
    const auto name = *rc::gen::elementOf(names);
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        queue.SetGroupOpen("a", name, flip(plain.closed_groups, name));
        break;
      case 1:
        if (!name.empty()) queue.SetKeyOpen("a", name, flip(plain.closed_keys, name));
        break;
      case 2: {
        const auto best = plain.Best();
        RC_ASSERT(queue.Pop() == best);
        if (best) plain.items.erase(*best);
        break;
      }
      case 3: {
        const auto gone = *rc::gen::inRange<std::uint64_t>(1, 121);
        RC_ASSERT(queue.Remove(gone) == (plain.items.erase(gone) == 1));
        break;
      }
      default: {
        const FairQueue::Item item = {.id = id,
                                      .tenant = "a",
                                      .group = name,
                                      .key = *rc::gen::elementOf(names),
                                      .priority = *rc::gen::inRange(-3, 4),
                                      .arrived = kStart + seconds(*rc::gen::inRange(0, 60))};
        queue.Push(item, plain.GatesOf(item));
        plain.items.emplace(id, item);
      }
    }
    RC_ASSERT(queue.Peek() == plain.Best());
    RC_ASSERT(queue.SizeOf("a") == plain.items.size());
  }
}

RC_GTEST_PROP(FairQueueTest, PositionsAreOneToNInPopOrder, ()) {
  FairQueue queue(kAgeing);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 60);
  for (std::uint64_t id = 1; id <= count; ++id) {
    queue.Push({.id = id,
                .tenant = "a",
                .group = *rc::gen::element<std::string>("p", "q"),
                .priority = *rc::gen::inRange(-3, 4),
                .arrived = kStart + seconds(*rc::gen::inRange(0, 60))});
  }
  std::vector<std::uint64_t> by_position(count);
  for (std::uint64_t id = 1; id <= count; ++id) by_position.at(queue.Position(id) - 1) = id;
  RC_ASSERT(Drain(queue) == by_position);
}

TEST(FairQueueTest, HoldsAHundredThousandItemsOfAThousandTenants) {
  FairQueue queue(kAgeing);
  for (std::uint64_t id = 0; id < 100'000; ++id) {
    queue.Push({.id = id,
                .tenant = "tenant-" + std::to_string(id % 1'000),
                .group = "project-" + std::to_string(id % 3),
                .priority = static_cast<std::int32_t>(id % 7),
                .arrived = kStart + microseconds(id)});
  }
  EXPECT_EQ(queue.tenants_known(), 1'000u);
  EXPECT_EQ(Drain(queue).size(), 100'000u);
}

}  // namespace
}  // namespace everstep
