#include "testing/simulation.h"

#include <gtest/gtest.h>

#include <string>

namespace everstep {
namespace {

// Instrumented builds are about ten times slower; every seed runs in the plain build.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeedsPerTest = 10;
#else
constexpr std::uint64_t kSeedsPerTest = 100;
#endif
constexpr std::uint64_t kShards = 6;
constexpr std::uint64_t kSeedsToFindABug = 40;

std::string Text(const SimulationReport& report) {
  std::string text;
  for (const std::string& finding : report.findings) text += finding + "\n";
  return text;
}

class SeededSimulationTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SeededSimulationTest, NoFixedSeedFindsAFault) {
  for (std::uint64_t i = 0; i < kSeedsPerTest; ++i) {
    SimulationOptions options;
    options.seed = 1 + GetParam() + i * kShards;
    const SimulationReport report = Simulate(options);
    ASSERT_TRUE(report.findings.empty()) << Text(report) << ReproduceCommand(options);
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, SeededSimulationTest, testing::Range<std::uint64_t>(0, kShards));

TEST(SimulationTest, ALongRunFindsNoFault) {
  SimulationOptions options;
  options.seed = 4242;
  options.steps = 10 * kSeedsPerTest * kShards;
  const SimulationReport report = Simulate(options);
  EXPECT_TRUE(report.findings.empty()) << Text(report) << ReproduceCommand(options);
}

// A simulation that never gets into trouble proves nothing.
TEST(SimulationTest, CoversEveryFaultOfItsModel) {
  SimulationCounts counts;
  for (std::uint64_t seed = 1; seed <= kSeedsToFindABug; ++seed) {
    counts += Simulate({.seed = seed}).counts;
  }
  const auto often = kSeedsToFindABug / 4;
  EXPECT_GT(counts.events, kSeedsToFindABug * 20);
  EXPECT_GT(counts.duplicates, kSeedsToFindABug);
  EXPECT_GT(counts.refused, kSeedsToFindABug);
  EXPECT_GT(counts.crashes, kSeedsToFindABug * 2);
  EXPECT_GT(counts.runs_ended, kSeedsToFindABug);
  EXPECT_GT(counts.store_full, often);
  EXPECT_GT(counts.indeterminate, often);
  EXPECT_GT(counts.store_stopped, often);
  EXPECT_GT(counts.unanswered, often);
  EXPECT_GT(counts.doubtful_kept, often);
  EXPECT_GT(counts.doubtful_lost, often);
  EXPECT_GT(counts.purged, often);
  EXPECT_GT(counts.conflicts, often);
}

TEST(SimulationTest, TheSameSeedGivesTheSameRun) {
  const SimulationOptions options{.seed = 7, .trace = true};
  const SimulationReport first = Simulate(options);
  EXPECT_GT(first.trace.size(), 100U);
  EXPECT_EQ(first.trace, Simulate(options).trace);
}

class PlantedBugSimulationTest : public testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugSimulationTest, IsFoundWithinAFewSeeds) {
  SimulationOptions options;
  options.bug = GetParam();
  for (options.seed = 1; options.seed <= kSeedsToFindABug; ++options.seed) {
    if (!Simulate(options).findings.empty()) return;
  }
  ADD_FAILURE() << Name(GetParam()) << " was not found in " << kSeedsToFindABug << " seeds";
}

std::string BugName(const testing::TestParamInfo<PlantedBug>& bug) {
  std::string name(Name(bug.param));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugSimulationTest, testing::ValuesIn(kPlantedBugs), BugName);

}  // namespace
}  // namespace everstep
