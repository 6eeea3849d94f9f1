#include "run/admission.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = AdmissionDecision::Verdict;

const Timestamp kStart = FromMicros(1'770'000'000'000'000);

AdmissionRun ARun(std::string id, std::string tenant = "acme", std::string project = "web",
                  std::string key = "") {
  return {.run_id = RunId(std::move(id)),
          .tenant = std::move(tenant),
          .project = std::move(project),
          .key = std::move(key),
          .priority = 0,
          .start_at = {}};
}

std::vector<std::string> Ids(const std::vector<RunLease>& leases) {
  std::vector<std::string> ids;
  for (const RunLease& lease : leases) ids.push_back(lease.run_id.value());
  return ids;
}

using Names = std::vector<std::string>;

// Starts a run, which must be possible, and confirms its lease.
void Start(Admission& admission, const AdmissionRun& run, Timestamp now = kStart) {
  const auto decision = admission.Request(run, now);
  ASSERT_EQ(decision.verdict, Verdict::kStart) << decision.block.message;
  ASSERT_TRUE(admission.Confirm(run.run_id, decision.epoch));
}

TEST(AdmissionTest, WithoutLimitsEverythingStarts) {
  Admission admission(AdmissionPolicy{});
  for (int i = 0; i < 100; ++i) Start(admission, ARun("run-" + std::to_string(i)));
  EXPECT_EQ(admission.running(), 100u);
  EXPECT_EQ(admission.NextWake(kStart), std::nullopt);
}

struct LimitCase {
  const char* name;
  AdmissionLevel level;
  AdmissionRun blocked;  // by run-1 of tenant acme, project web, key deploy
  AdmissionRun free;
  const char* message;
};

TEST(AdmissionTest, EachLevelBlocksOnlyItsOwnRuns) {
  const LimitCase cases[] = {
      {"tenant", AdmissionLevel::kTenant, ARun("b", "acme", "data"), ARun("f", "other", "web"),
       "tenant acme has 1 of at most 1 run running: run-1"},
      {"project", AdmissionLevel::kProject, ARun("b", "acme", "web"), ARun("f", "acme", "data"),
       "project web has 1 of at most 1 run running: run-1"},
      {"project of another tenant", AdmissionLevel::kProject, ARun("b", "acme", "web"),
       ARun("f", "other", "web"), "project web has 1 of at most 1 run running: run-1"},
      {"key", AdmissionLevel::kKey, ARun("b", "acme", "data", "deploy"),
       ARun("f", "acme", "web", "test"),
       "concurrency key deploy has 1 of at most 1 run running: run-1"},
      {"key of another tenant", AdmissionLevel::kKey, ARun("b", "acme", "web", "deploy"),
       ARun("f", "other", "web", "deploy"),
       "concurrency key deploy has 1 of at most 1 run running: run-1"},
  };
  for (const LimitCase& test : cases) {
    SCOPED_TRACE(test.name);
    AdmissionPolicy policy;
    if (test.level == AdmissionLevel::kTenant) policy.tenant.running_max = 1;
    if (test.level == AdmissionLevel::kProject) policy.project.running_max = 1;
    Admission admission(policy);
    Start(admission, ARun("run-1", "acme", "web", "deploy"));
    const auto held = admission.Request(test.blocked, kStart);
    EXPECT_EQ(held.verdict, Verdict::kQueue);
    EXPECT_EQ(held.position, 1u);
    EXPECT_EQ(held.block.level, test.level);
    EXPECT_EQ(held.block.bound, AdmissionBound::kRunning);
    EXPECT_EQ(held.block.message, test.message);
    EXPECT_EQ(admission.Request(test.free, kStart).verdict, Verdict::kStart);
    EXPECT_TRUE(admission.Next(kStart, 9).empty());
    EXPECT_TRUE(admission.Ended(RunId("run-1")));
    EXPECT_EQ(Ids(admission.Next(kStart, 9)), (Names{"b"}));
  }
}

TEST(AdmissionTest, TheEngineLimitBlocksAllTenants) {
  AdmissionPolicy policy;
  policy.engine.running_max = 2;
  Admission admission(policy);
  Start(admission, ARun("1", "a"));
  Start(admission, ARun("2", "b"));
  const auto decision = admission.Request(ARun("3", "c"), kStart);
  EXPECT_EQ(decision.verdict, Verdict::kQueue);
  EXPECT_EQ(decision.block.message, "the engine has 2 of at most 2 runs running");
  EXPECT_EQ(admission.NextWake(kStart), std::nullopt);
  admission.Ended(RunId("1"));
  EXPECT_EQ(admission.NextWake(kStart), kStart);
  EXPECT_EQ(Ids(admission.Next(kStart, 9)), (Names{"3"}));
}

TEST(AdmissionTest, ATenantCanHaveItsOwnLimits) {
  AdmissionPolicy policy;
  policy.tenant.running_max = 1;
  policy.tenants = {{"big", AdmissionLimit{.running_max = 3}}};
  Admission admission(policy);
  for (int i = 0; i < 3; ++i) Start(admission, ARun("big-" + std::to_string(i), "big"));
  EXPECT_EQ(admission.Request(ARun("big-3", "big"), kStart).verdict, Verdict::kQueue);
  Start(admission, ARun("small-0", "small"));
  EXPECT_EQ(admission.Request(ARun("small-1", "small"), kStart).verdict, Verdict::kQueue);
}

TEST(AdmissionTest, ARateLimitBlocksUntilATokenArrives) {
  AdmissionPolicy policy;
  policy.tenant.starts_per_second = 2;
  policy.tenant.starts_burst = 2;
  Admission admission(policy);
  Start(admission, ARun("1"));
  Start(admission, ARun("2"));
  const auto decision = admission.Request(ARun("3"), kStart);
  EXPECT_EQ(decision.verdict, Verdict::kQueue);
  EXPECT_EQ(decision.block.bound, AdmissionBound::kRate);
  EXPECT_EQ(decision.block.wakes_at, kStart + milliseconds(500));
  EXPECT_EQ(decision.block.message, "tenant acme starts at most 2 runs per second, the next at " +
                                        FormatTimestamp(kStart + milliseconds(500)));
  EXPECT_EQ(admission.Request(ARun("4"), kStart).verdict, Verdict::kQueue);
  EXPECT_EQ(admission.NextWake(kStart), kStart + milliseconds(500));
  EXPECT_TRUE(admission.Next(kStart + milliseconds(499), 9).empty());
  EXPECT_EQ(Ids(admission.Next(kStart + milliseconds(500), 9)), (Names{"3"}));
  EXPECT_EQ(admission.NextWake(kStart + milliseconds(500)), kStart + seconds(1));
  EXPECT_EQ(Ids(admission.Next(kStart + seconds(1), 9)), (Names{"4"}));
}

TEST(AdmissionTest, NextWakeIncludesTheEngineRate) {
  AdmissionPolicy policy;
  policy.engine.starts_per_second = 1;
  Admission admission(policy);
  Start(admission, ARun("1", "a"));
  EXPECT_EQ(admission.Request(ARun("2", "b"), kStart).verdict, Verdict::kQueue);
  EXPECT_EQ(admission.NextWake(kStart), kStart + seconds(1));
  EXPECT_EQ(Ids(admission.Next(kStart + seconds(1), 9)), (Names{"2"}));
}

TEST(AdmissionTest, RejectSaysWhenToRetry) {
  AdmissionPolicy policy;
  policy.overload = AdmissionPolicy::Overload::kReject;
  policy.tenant.starts_per_second = 0.25;
  Admission admission(policy);
  Start(admission, ARun("1"));
  const auto decision = admission.Request(ARun("2"), kStart + seconds(1));
  EXPECT_EQ(decision.verdict, Verdict::kReject);
  EXPECT_EQ(decision.retry_after, seconds(3));
  EXPECT_EQ(decision.block.level, AdmissionLevel::kTenant);
  EXPECT_EQ(decision.block.bound, AdmissionBound::kRate);
  EXPECT_FALSE(admission.Knows(RunId("2")));
  Start(admission, ARun("2"), kStart + seconds(1) + decision.retry_after);
}

TEST(AdmissionTest, ATenantWithAFullQueueIsRejectedAndOthersAreNot) {
  AdmissionPolicy policy;
  policy.engine.running_max = 1;
  policy.queue_max = 2;
  Admission admission(policy);
  Start(admission, ARun("1"));
  auto later = ARun("2");
  later.start_at = kStart + hours(1);
  EXPECT_EQ(admission.Request(later, kStart).verdict, Verdict::kDelay);
  EXPECT_EQ(admission.Request(ARun("3"), kStart).verdict, Verdict::kQueue);
  const auto decision = admission.Request(ARun("4"), kStart);
  EXPECT_EQ(decision.verdict, Verdict::kReject);
  EXPECT_EQ(decision.block.bound, AdmissionBound::kQueue);
  EXPECT_EQ(decision.retry_after, seconds(5));
  EXPECT_EQ(decision.block.message, "tenant acme may have at most 2 runs pending");
  EXPECT_EQ(admission.PendingOf("acme"), 2u);
  EXPECT_EQ(admission.Request(ARun("5", "other"), kStart).verdict, Verdict::kQueue);
}

TEST(AdmissionTest, DelayPostponesTheStart) {
  AdmissionPolicy policy;
  policy.overload = AdmissionPolicy::Overload::kDelay;
  policy.tenant.running_max = 1;
  Admission admission(policy);
  Start(admission, ARun("1"));
  const auto decision = admission.Request(ARun("2"), kStart);
  EXPECT_EQ(decision.verdict, Verdict::kDelay);
  EXPECT_EQ(decision.start_at, kStart + seconds(5));
  EXPECT_EQ(decision.block.bound, AdmissionBound::kRunning);
  admission.Ended(RunId("1"));
  EXPECT_EQ(admission.NextWake(kStart), kStart + seconds(5));
  EXPECT_TRUE(admission.Next(kStart + seconds(4), 9).empty());
  EXPECT_EQ(Ids(admission.Next(kStart + seconds(5), 9)), (Names{"2"}));
}

TEST(AdmissionTest, ARunDoesNotStartBeforeItsTime) {
  Admission admission(AdmissionPolicy{});
  auto run = ARun("1");
  run.start_at = kStart + hours(2);
  const auto decision = admission.Request(run, kStart);
  EXPECT_EQ(decision.verdict, Verdict::kDelay);
  EXPECT_EQ(decision.start_at, run.start_at);
  EXPECT_EQ(admission.Why(run.run_id, kStart)->message,
            "does not start before " + FormatTimestamp(run.start_at));
  EXPECT_EQ(admission.NextWake(kStart), run.start_at);
  EXPECT_TRUE(admission.Next(run.start_at - milliseconds(1), 9).empty());
  EXPECT_EQ(Ids(admission.Next(run.start_at, 9)), (Names{"1"}));
}

TEST(AdmissionTest, ABlockedRunDoesNotBlockTheRunsAfterIt) {
  AdmissionPolicy policy;
  policy.tenant.running_max = 2;
  Admission admission(policy);
  Start(admission, ARun("1", "acme", "web", "deploy"));
  Start(admission, ARun("2"));
  EXPECT_EQ(admission.Request(ARun("3", "acme", "web", "deploy"), kStart).position, 1u);
  EXPECT_EQ(admission.Request(ARun("4"), kStart).position, 2u);
  admission.Ended(RunId("2"));
  EXPECT_EQ(Ids(admission.Next(kStart, 9)), (Names{"4"}));
  EXPECT_EQ(admission.Position(RunId("3")), 1u);
}

TEST(AdmissionTest, PriorityGoesFirstAndTenantsTakeTurns) {
  AdmissionPolicy policy;
  policy.engine.running_max = 1;
  policy.tenants = {{"b", AdmissionLimit{.weight = 2}}};
  Admission admission(policy);
  Start(admission, ARun("first"));
  for (int i = 0; i < 4; ++i) {
    for (const char* tenant : {"a", "b"}) {
      auto run = ARun(tenant + std::to_string(i), tenant);
      run.priority = i;
      EXPECT_EQ(admission.Request(run, kStart).verdict, Verdict::kQueue);
    }
  }
  EXPECT_EQ(admission.Position(RunId("a0")), 4u);
  Names order;
  std::string last = "first";
  while (true) {
    admission.Ended(RunId(last));
    const auto next = admission.Next(kStart, 9);
    if (next.empty()) break;
    last = next.front().run_id.value();
    order.push_back(last);
  }
  EXPECT_EQ(order, (Names{"b3", "a3", "b2", "b1", "a2", "b0", "a1", "a0"}));
}

TEST(AdmissionTest, WhyNamesTheNearestLimitAndThoseAhead) {
  AdmissionPolicy policy;
  policy.engine.running_max = 1;
  Admission admission(policy);
  Start(admission, ARun("1", "acme", "web", "deploy"));
  admission.Request(ARun("2"), kStart);
  admission.Request(ARun("3"), kStart);
  admission.Request(ARun("4", "acme", "web", "deploy"), kStart);
  EXPECT_EQ(admission.Why(RunId("2"), kStart)->message,
            "the engine has 1 of at most 1 run running: 1");
  EXPECT_EQ(admission.Why(RunId("3"), kStart)->message,
            "the engine has 1 of at most 1 run running: 1, 1 run of its tenant ahead");
  EXPECT_EQ(admission.Why(RunId("4"), kStart)->message,
            "concurrency key deploy has 1 of at most 1 run running: 1, 2 runs of its tenant ahead");
  EXPECT_EQ(admission.Why(RunId("1"), kStart), std::nullopt);
  EXPECT_EQ(admission.Why(RunId("9"), kStart), std::nullopt);
  admission.Ended(RunId("1"));
  EXPECT_EQ(admission.Why(RunId("3"), kStart)->message, "has 1 run of tenant acme ahead");
  admission.Next(kStart, 1);
  EXPECT_EQ(admission.Why(RunId("2"), kStart)->message, "is being started");
}

TEST(AdmissionTest, ForgettingAQueuedRunFreesItsPlace) {
  AdmissionPolicy policy;
  policy.engine.running_max = 1;
  Admission admission(policy);
  Start(admission, ARun("1"));
  admission.Request(ARun("2"), kStart);
  admission.Request(ARun("3"), kStart);
  EXPECT_TRUE(admission.Forget(RunId("2")));
  EXPECT_FALSE(admission.Forget(RunId("2")));
  EXPECT_FALSE(admission.Forget(RunId("1")));
  EXPECT_EQ(admission.Position(RunId("3")), 1u);
  EXPECT_EQ(admission.pending(), 1u);
}

TEST(AdmissionTest, ForgetsScopesWithoutRunsOnceTheirTokensAreBack) {
  AdmissionPolicy policy;
  policy.tenant.starts_per_second = 1;
  policy.tenant.starts_burst = 3;
  Admission admission(policy);
  for (int i = 0; i < 3; ++i) {
    Start(admission, ARun("run-" + std::to_string(i), "acme", "web", "key-" + std::to_string(i)));
  }
  EXPECT_EQ(admission.scopes_known(), 5u);
  for (int i = 0; i < 3; ++i) admission.Ended(RunId("run-" + std::to_string(i)));
  EXPECT_EQ(admission.scopes_known(), 1u);
  EXPECT_EQ(admission.NextWake(kStart), std::nullopt);
  EXPECT_EQ(admission.Request(ARun("4"), kStart).verdict, Verdict::kQueue);
  admission.Forget(RunId("4"));
  admission.Next(kStart + seconds(3), 1);
  EXPECT_EQ(admission.scopes_known(), 0u);
}

TEST(AdmissionTest, AHundredThousandRunsOfTenantsAtTheirLimitsAllStart) {
  AdmissionPolicy policy;
  policy.tenant.running_max = 2;
  policy.project.running_max = 1;
  policy.engine.running_max = 100'000;
  Admission admission(policy);
  constexpr int kRuns = 100'000;
  for (int i = 0; i < kRuns; ++i) {
    const std::string tenant = "tenant-" + std::to_string(i % 1'000);
    admission.Restore(ARun("run-" + std::to_string(i), tenant, "p" + std::to_string(i / 1'000 % 3)),
                      Admission::RestoredAs::kQueued, kStart);
  }
  int started = 0;
  std::vector<RunLease> running = admission.Next(kStart, kRuns);
  EXPECT_EQ(running.size(), 2'000u);
  while (!running.empty()) {
    started += static_cast<int>(running.size());
    std::vector<RunLease> next;
    for (const RunLease& lease : running) {
      admission.Ended(lease.run_id);
      for (RunLease& more : admission.Next(kStart, 8)) next.push_back(std::move(more));
    }
    running = std::move(next);
  }
  EXPECT_EQ(started, kRuns);
}

TEST(AdmissionTest, RunsOfTheSameMomentAreRestoredInTheirOldOrder) {
  AdmissionPolicy policy;
  policy.engine.running_max = 1;
  Admission before(policy);
  Start(before, ARun("first"));
  std::vector<AdmissionRun> runs;
  for (const char* id : {"d", "b", "e", "a", "c"}) {
    runs.push_back(ARun(id));
    // Two of them have the same later start time.
    if (runs.size() > 3) runs.back().start_at = kStart + seconds(1);
    (void)before.Request(runs.back(), kStart);
  }
  Admission after(policy);
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    ASSERT_TRUE(after.Restore(*run, Admission::RestoredAs::kQueued, before.QueuedAt(run->run_id)));
  }
  Names order;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto next = Ids(after.Next(kStart + seconds(2), 1));
    ASSERT_EQ(next.size(), 1U);
    order.push_back(next.front());
    after.Ended(RunId(next.front()));
  }
  EXPECT_EQ(order, (Names{"d", "b", "e", "a", "c"}));
}

}  // namespace
}  // namespace everstep
