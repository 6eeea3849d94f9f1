#include "testing/engine_simulation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "flow/plan.h"
#include "testing/random_plan.h"

namespace everstep {
namespace {

// Instrumented builds are about ten times slower; every seed runs in the plain build.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeedsPerTest = 20;
#else
constexpr std::uint64_t kSeedsPerTest = 300;
#endif
constexpr std::uint64_t kShards = 6;
constexpr std::uint64_t kSeedsToFindABug = 60;

std::string Text(const EngineSimulationReport& report) {
  std::string text;
  for (const std::string& finding : report.findings) text += finding + "\n";
  return text;
}

class SeededEngineSimulationTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SeededEngineSimulationTest, NoFixedSeedFindsAFault) {
  for (std::uint64_t i = 0; i < kSeedsPerTest; ++i) {
    EngineSimulationOptions options;
    options.seed = 1 + GetParam() + i * kShards;
    const EngineSimulationReport report = SimulateEngine(options);
    ASSERT_TRUE(report.findings.empty()) << Text(report) << ReproduceCommand(options);
  }
  std::printf("%llu seeds\n", static_cast<unsigned long long>(kSeedsPerTest));
}

INSTANTIATE_TEST_SUITE_P(Shard, SeededEngineSimulationTest,
                         testing::Range<std::uint64_t>(0, kShards));

TEST(EngineSimulationTest, ALongRunFindsNoFault) {
  EngineSimulationOptions options;
  options.seed = 4242;
  options.steps = 3000;
  const EngineSimulationReport report = SimulateEngine(options);
  EXPECT_TRUE(report.findings.empty()) << Text(report) << ReproduceCommand(options);
}

// A simulation that never gets into trouble proves nothing.
TEST(EngineSimulationTest, CoversEveryFaultOfItsModel) {
  EngineSimulationCounts counts;
  for (std::uint64_t seed = 1; seed <= kSeedsToFindABug; ++seed) {
    counts += SimulateEngine({.seed = seed}).counts;
  }
  EXPECT_GT(counts.runs, kSeedsToFindABug * 3);
  EXPECT_GT(counts.events, kSeedsToFindABug * 100);
  EXPECT_GT(counts.redeliveries, kSeedsToFindABug);
  EXPECT_GT(counts.late_reports, kSeedsToFindABug / 2);
  EXPECT_GT(counts.lost_workers, kSeedsToFindABug / 2);
  EXPECT_GT(counts.undone, kSeedsToFindABug / 4);
  EXPECT_GT(counts.signals, kSeedsToFindABug * 5);
  EXPECT_GT(counts.deliveries, kSeedsToFindABug);
  EXPECT_GT(counts.crashes, kSeedsToFindABug * 2);
  EXPECT_GT(counts.failed_writes, kSeedsToFindABug);
  EXPECT_GT(counts.completed, kSeedsToFindABug);
  EXPECT_GT(counts.failed, kSeedsToFindABug / 2);
  EXPECT_GT(counts.cancelled, kSeedsToFindABug / 4);
}

TEST(EngineSimulationTest, TheSameSeedGivesTheSameRun) {
  const EngineSimulationOptions options{.seed = 7, .trace = true};
  const EngineSimulationReport first = SimulateEngine(options);
  EXPECT_GT(first.trace.size(), 100U);
  EXPECT_EQ(first.trace, SimulateEngine(options).trace);
}

TEST(RandomPlanTest, EveryPlanIsWellFormed) {
  SeededRandom random(1);
  for (int i = 0; i < 500; ++i) {
    SeededRandom same = random;
    const std::string text = RandomPlan(random);
    const auto plan = ReadPlan(text);
    ASSERT_TRUE(plan) << ToString(plan.error()) << "\n" << text;
    for (const EngineBug bug : kEngineBugs) {
      SeededRandom again = same;
      ASSERT_TRUE(ReadPlan(RandomPlan(again, OmissionOf(bug)))) << Name(bug);
    }
  }
}

class PlantedEngineBugTest : public testing::TestWithParam<EngineBug> {};

TEST_P(PlantedEngineBugTest, IsFoundWithinAFewSeeds) {
  EngineSimulationOptions options;
  options.bug = GetParam();
  for (options.seed = 1; options.seed <= kSeedsToFindABug; ++options.seed) {
    if (!SimulateEngine(options).findings.empty()) return;
  }
  ADD_FAILURE() << Name(GetParam()) << " was not found in " << kSeedsToFindABug << " seeds";
}

std::string BugName(const testing::TestParamInfo<EngineBug>& bug) {
  std::string name(Name(bug.param));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedEngineBugTest, testing::ValuesIn(kEngineBugs), BugName);

}  // namespace
}  // namespace everstep
