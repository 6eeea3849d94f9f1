#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "store/state_store.h"
#include "testing/store_workbench.h"
#include "testing/temporary_directory.h"

namespace everstep {

// The store implementations. The contract of StateStore is tested for each of them.
struct StoreKind {
  std::string name;
  bool keeps;  // its rows survive the process
  Result<std::unique_ptr<StateStore>> (*open)(const std::string& directory);

  friend std::ostream& operator<<(std::ostream& out, const StoreKind& engine) {
    return out << engine.name;
  }
};

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  StoreContract() : bench_(Open()) {}
  ~StoreContract() override {
    // Whatever a test did, the rows must be consistent with each other.
    EXPECT_THAT(bench_.Faults(), testing::IsEmpty());
  }

  std::unique_ptr<StateStore> Open() {
    auto store = GetParam().open(directory_ / "store");
    if (!store) ADD_FAILURE() << ToString(store.error());
    return std::move(*store);
  }
  void ReopenStore() {
    bench_.Close();
    bench_.Take(Open());
  }

  std::vector<Event> Events(const RunScribe& run, const EventQuery& query = {}) {
    auto events = bench_.Read()->ReadEvents(run.stored(), query);
    EXPECT_TRUE(events) << ToString(events.error());
    return events ? *events : std::vector<Event>();
  }
  std::vector<std::uint64_t> Seqs(const RunScribe& run, const EventQuery& query) {
    std::vector<std::uint64_t> seqs;
    for (const Event& event : Events(run, query)) seqs.push_back(event.seq.value());
    return seqs;
  }
  std::optional<StoredRun> Find(const std::string& run_id) {
    auto run = bench_.Read()->FindRun(RunId(run_id));
    EXPECT_TRUE(run) << ToString(run.error());
    return run ? *run : std::nullopt;
  }
  RunPage List(const RunQuery& query) {
    auto page = bench_.Read()->ListRuns(query);
    EXPECT_TRUE(page) << ToString(page.error());
    return page ? *page : RunPage();
  }
  std::vector<std::string> ListedIds(const RunQuery& query) {
    std::vector<std::string> ids;
    for (const StoredRun& run : List(query).runs) ids.push_back(run.run_id.value());
    return ids;
  }
  std::vector<OutboxEntry> Outbox(Position after = {}, std::size_t limit = 1000) {
    auto entries = bench_.Read()->ReadOutbox(after, limit);
    EXPECT_TRUE(entries) << ToString(entries.error());
    return entries ? *entries : std::vector<OutboxEntry>();
  }
  std::vector<Timer> Due(Timestamp until, std::size_t limit = 100) {
    auto timers = bench_.Read()->TimersDue({until, limit, {}});
    EXPECT_TRUE(timers) << ToString(timers.error());
    return timers ? *timers : std::vector<Timer>();
  }
  std::optional<HookHolder> Hook(const std::string& tenant, const std::string& token) {
    auto holder = bench_.Read()->FindHook(tenant, token);
    EXPECT_TRUE(holder) << ToString(holder.error());
    return holder ? *holder : std::nullopt;
  }
  Position Before(Timestamp time) {
    auto position = bench_.Read()->PositionBefore(time);
    EXPECT_TRUE(position) << ToString(position.error());
    return position ? *position : Position();
  }
  void ExpectStored(const RunScribe& run) {
    const auto found = Find(run.run_id().value());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->run_no, run.stored().run_no);
    EXPECT_EQ(found->state, run.stored().state);
    EXPECT_EQ(Events(run), run.log());
    std::map<EntityKey, EntityState> entities;
    EXPECT_TRUE(bench_.Read()->VisitEntities(
        run.stored().run_no, {},
        [&](const EntityKey& key, const EntityState& state) { entities[key] = state; }));
    EXPECT_EQ(entities, run.entities());
  }

  TemporaryDirectory directory_;
  StoreWorkbench bench_;
};

inline std::vector<StoreKind> AllEngines() {
  return {
      {"Memory", false,
       [](const std::string&) { return Result<std::unique_ptr<StateStore>>(OpenMemoryStore()); }},
      {"Rocksdb", true,
       [](const std::string& directory) { return OpenRocksdbStore(directory, {}); }}};
}

inline std::vector<StoreKind> KeepingEngines() {
  std::vector<StoreKind> engines = AllEngines();
  std::erase_if(engines, [](const StoreKind& engine) { return !engine.keeps; });
  return engines;
}

inline std::string EngineName(const testing::TestParamInfo<StoreKind>& engine) {
  return engine.param.name;
}

}  // namespace everstep
