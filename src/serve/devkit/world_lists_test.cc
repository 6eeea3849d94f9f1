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
using enum EventType;

class WorldListsTest : public testing::Test {
 protected:
  struct Page {
    std::vector<std::string> steps;
    std::string cursor;
    bool more = false;
    std::size_t rows = 0;
  };
  Page ListSteps(std::uint64_t limit, const std::string& order, const std::string& cursor) {
    std::string args;
    CborWriter writer(args);
    writer.BeginMap();
    writer.Member("runId", "run");
    writer.Member("limit", limit);
    writer.Member("sortOrder", order);
    if (!cursor.empty()) writer.Member("cursor", cursor);
    writer.End();
    const auto reader = bench_.Read();
    WorldReader world(*reader, {"acme", 5, bench_.now()});
    std::string answer;
    CborWriter cbor(answer);
    EXPECT_FALSE(world.ListSteps(*ParseCbor(args), cbor));
    const auto read = ParseCbor(answer);
    EXPECT_TRUE(read);
    Page page{{}, std::string(read->Text("cursor")), read->Flag("hasMore"), world.rows_read()};
    for (const CborItem& step : read->Find("data")->items) {
      page.steps.emplace_back(step.Text("stepId"));
    }
    return page;
  }
  std::vector<std::string> Walk(const std::string& order) {
    std::vector<std::string> all;
    Page page;
    int pages = 0;
    do {
      page = ListSteps(2, order, page.cursor);
      all.insert(all.end(), page.steps.begin(), page.steps.end());
    } while (page.more && ++pages < 100);
    return all;
  }

  StoreWorkbench bench_{OpenMemoryStore()};
};

TEST_F(WorldListsTest, StepsAreListedInTheOrderInWhichTheyBegan) {
  RunScribe& run = bench_.StartedRun("run");
  EXPECT_THAT(Walk("asc"), IsEmpty());
  EXPECT_EQ(ListSteps(2, "asc", "").cursor, "");
  for (const char* id : {"e", "d", "c", "b", "a"}) {
    ASSERT_TRUE(bench_.Append(run, kStepScheduled, id));
    ASSERT_TRUE(bench_.Append(run, kContextUpdated, "attributes", {}, R"({"changes":[]})"));
  }
  for (const char* id : {"c", "e"}) ASSERT_TRUE(bench_.Append(run, kStepStarted, id));
  EXPECT_THAT(Walk("asc"), ElementsAre("e", "d", "c", "b", "a"));
  EXPECT_THAT(Walk("desc"), ElementsAre("a", "b", "c", "d", "e"));
  const Page all = ListSteps(5, "asc", "");
  EXPECT_FALSE(all.more) << "no step follows the last one";
  ASSERT_TRUE(bench_.Append(run, kStepScheduled, "f"));
  EXPECT_THAT(ListSteps(5, "asc", all.cursor).steps, ElementsAre("f"));
}

TEST_F(WorldListsTest, APageOfStepsReadsAPartOfTheLog) {
  RunScribe& run = bench_.StartedRun("run");
  bench_.Write(run, kStepScheduled, "first");
  for (int i = 0; i < 12'000; ++i) {
    bench_.Write(run, kContextUpdated, "attributes", {}, R"({"changes":[]})");
  }
  for (int i = 0; i < 1'000; ++i) bench_.Write(run, kStepScheduled, "s" + std::to_string(i));
  ASSERT_TRUE(bench_.Commit({&run}));
  const Page newest = ListSteps(3, "desc", "");
  EXPECT_THAT(newest.steps, ElementsAre("s999", "s998", "s997"));
  EXPECT_LE(newest.rows, 10U);
  const Page oldest = ListSteps(3, "asc", "");
  EXPECT_THAT(oldest.steps, ElementsAre("first"));
  EXPECT_TRUE(oldest.more) << "the page ends early";
  EXPECT_LE(oldest.rows, 10'000U);
  const Page next = ListSteps(3, "asc", oldest.cursor);
  EXPECT_THAT(next.steps, ElementsAre("s0", "s1", "s2"));
}

TEST_F(WorldListsTest, AttributesAreFoldedOnceAndCounted) {
  RunScribe& run = bench_.StartedRun("run");
  for (int i = 0; i < 300; ++i) {
    bench_.Write(run, kContextUpdated, "attributes", {},
                 R"({"changes":[{"key":"k)" + std::to_string(i % 7) + R"(","value":")" +
                     std::to_string(i) + R"("},{"key":"gone","value":)" +
                     (i == 299 ? "null" : R"("x")") + "}]}");
  }
  ASSERT_TRUE(bench_.Commit({&run}));
  const auto reader = bench_.Read();
  AttributeCache cache;
  for (const std::size_t rows : {300U, 0U}) {
    WorldReader world(*reader, {"acme", 5, bench_.now(), {}, &cache});
    const auto attributes = world.AttributesOf(run.stored());
    ASSERT_TRUE(attributes);
    EXPECT_EQ(attributes->size(), 7U);
    EXPECT_EQ(attributes->at("k5"), "299");
    EXPECT_EQ(attributes->at("k6"), "293" + std::string()) << "293 = 6 + 41 * 7";
    EXPECT_EQ(world.rows_read(), rows);
  }
}

}  // namespace
}  // namespace everstep
