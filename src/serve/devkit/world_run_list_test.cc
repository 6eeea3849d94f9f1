#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "serve/devkit/world_reader.h"
#include "testing/store_workbench.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorldRunListTest : public testing::Test {
 protected:
  // A run of an application.
  RunScribe& AddRun(const std::string& run_id) {
    RunScribe& run = bench_.NewRun(run_id);
    EXPECT_TRUE(bench_.Append(run, EventType::kRunQueued));
    return run;
  }
  void AddPlanRuns(int count) {
    for (int i = 0; i < count; ++i) {
      RunScribe& run = bench_.NewRun("plan-" + std::to_string(++plan_runs_));
      EXPECT_TRUE(bench_.Append(run, EventType::kRunQueued, {},
                                {.engine_run_ref = std::string(kOwnEngine)}));
    }
  }

  struct Page {
    std::vector<std::string> ids;
    std::string cursor;
    bool more = false;
    std::size_t rows = 0;
  };
  // The page for a call with these members.
  Page List(const std::function<void(CborWriter&)>& members) {
    std::string args;
    CborWriter writer(args);
    writer.BeginMap();
    members(writer);
    writer.End();
    const auto parsed = ParseCbor(args);
    EXPECT_TRUE(parsed);
    const auto reader = bench_.Read();
    WorldReader world(*reader, {"acme", 5, bench_.now()});
    std::string answer;
    CborWriter cbor(answer);
    EXPECT_FALSE(world.ListRuns(*parsed, cbor));
    const auto read = ParseCbor(answer);
    EXPECT_TRUE(read);
    Page page;
    page.cursor = read->Text("cursor");
    page.rows = world.rows_read();
    page.more = read->Flag("hasMore");
    for (const CborItem& run : read->Find("data")->items) page.ids.emplace_back(run.Text("runId"));
    return page;
  }
  // The ids of all pages.
  std::vector<std::string> Walk(const std::string& order,
                                const std::vector<std::string>& statuses) {
    std::vector<std::string> all;
    Page page;
    int pages = 0;
    do {
      page = List([&](CborWriter& args) {
        args.Member("limit", std::uint64_t{2});
        args.Member("sortOrder", order);
        if (!page.cursor.empty()) args.Member("cursor", page.cursor);
        Statuses(args, statuses);
      });
      all.insert(all.end(), page.ids.begin(), page.ids.end());
    } while (page.more && ++pages < 100);
    return all;
  }
  static void Statuses(CborWriter& args, const std::vector<std::string>& statuses) {
    args.Key("status");
    args.BeginArray();
    for (const std::string& status : statuses) args.Text(status);
    args.End();
  }

  StoreWorkbench bench_{OpenMemoryStore()};
  int plan_runs_ = 0;
};

TEST_F(WorldRunListTest, AStatusThatIsAskedForRepeatedlyIsReadOnce) {
  for (const char* id : {"a", "b", "c"}) AddRun(id);
  const Page page =
      List([](CborWriter& args) { Statuses(args, std::vector<std::string>(6'000, "pending")); });
  EXPECT_THAT(page.ids, ElementsAre("c", "b", "a"));
  EXPECT_FALSE(page.more);
  EXPECT_LE(page.rows, 6U);
}

TEST_F(WorldRunListTest, RunsOfSeveralStatusesAreInOneOrder) {
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    RunScribe& run = AddRun(id);
    if (id[0] % 2 == 0) {
      ASSERT_TRUE(bench_.Append(run, EventType::kRunStarted));
    }
  }
  const std::vector<std::string> both = {"running", "pending"};
  EXPECT_THAT(Walk("desc", both), ElementsAre("e", "d", "c", "b", "a"));
  EXPECT_THAT(Walk("asc", both), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(Walk("asc", {"running"}), ElementsAre("b", "d"));
  EXPECT_THAT(Walk("asc", {}), IsEmpty());
}

TEST_F(WorldRunListTest, APageEndsEarlyWhereManyRunsAreLeftOut) {
  ASSERT_TRUE(bench_.Append(AddRun("first"), EventType::kRunStarted));
  AddRun("second");
  AddPlanRuns(12'000);
  ASSERT_TRUE(bench_.Append(AddRun("last"), EventType::kRunStarted));
  const std::vector<std::string> both = {"running", "pending"};
  const Page page = List([&](CborWriter& args) { Statuses(args, both); });
  EXPECT_THAT(page.ids, ElementsAre("last"));
  EXPECT_TRUE(page.more);
  EXPECT_LE(page.rows, 12'000U);
  EXPECT_THAT(Walk("desc", both), ElementsAre("last", "second", "first"));
  EXPECT_THAT(Walk("asc", both), ElementsAre("first", "second", "last"));
}

}  // namespace
}  // namespace everstep
