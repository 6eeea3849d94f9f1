#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run/admission.h"

namespace everstep {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using Verdict = AdmissionDecision::Verdict;
using Failure = Admission::StartFailure;

const Timestamp kStart = FromMicros(1'770'000'000'000'000);

AdmissionRun ARun(std::string id, std::string key = "") {
  return {.run_id = RunId(std::move(id)),
          .tenant = "acme",
          .project = "web",
          .key = std::move(key),
          .priority = 0,
          .start_at = {}};
}

// One run at a time; others wait in the order of their names.
class AdmissionLeaseTest : public ::testing::Test {
 protected:
  static AdmissionPolicy OnePlace() {
    AdmissionPolicy policy;
    policy.engine.running_max = 1;
    return policy;
  }
  void Queue(const std::string& id) { admission_.Request(ARun(id), kStart); }
  std::string NextName(Timestamp now = kStart) {
    const auto next = admission_.Next(now, 9);
    if (next.empty()) return "none";
    epoch_ = next.front().epoch;
    return next.size() == 1 ? next.front().run_id.value() : "several";
  }

  Admission admission_{OnePlace()};
  LeaseEpoch epoch_ = admission_.Request(ARun("0"), kStart).epoch;
};

TEST_F(AdmissionLeaseTest, ALeaseCountsAsRunning) {
  Queue("1");
  EXPECT_EQ(admission_.leased(), 1u);
  EXPECT_EQ(NextName(), "none");
  EXPECT_TRUE(admission_.Confirm(RunId("0"), epoch_));
  EXPECT_EQ(admission_.leased(), 0u);
  EXPECT_EQ(admission_.running(), 1u);
  EXPECT_EQ(NextName(), "none");
}

TEST_F(AdmissionLeaseTest, IsConfirmedOnce) {
  EXPECT_TRUE(admission_.Confirm(RunId("0"), epoch_));
  EXPECT_FALSE(admission_.Confirm(RunId("0"), epoch_));
  EXPECT_FALSE(admission_.Release(RunId("0"), epoch_, Failure::kTransient));
  EXPECT_FALSE(admission_.Confirm(RunId("unknown"), epoch_));
}

TEST_F(AdmissionLeaseTest, ATransientFailurePutsTheRunBackInItsPlace) {
  Queue("1");
  Queue("2");
  EXPECT_TRUE(admission_.Release(RunId("0"), epoch_, Failure::kTransient));
  EXPECT_EQ(admission_.Position(RunId("0")), 1u);
  EXPECT_EQ(admission_.Position(RunId("1")), 2u);
  const LeaseEpoch first = epoch_;
  EXPECT_EQ(NextName(), "0");
  EXPECT_GT(epoch_, first);
  EXPECT_FALSE(admission_.Confirm(RunId("0"), first));
  EXPECT_FALSE(admission_.Release(RunId("0"), first, Failure::kPermanent));
  EXPECT_TRUE(admission_.Confirm(RunId("0"), epoch_));
}

TEST_F(AdmissionLeaseTest, ATransientFailureCanDelayTheRunWhileOthersStart) {
  Queue("1");
  Queue("2");
  EXPECT_TRUE(admission_.Release(RunId("0"), epoch_, Failure::kTransient, kStart + seconds(3)));
  EXPECT_EQ(NextName(), "1");
  admission_.Ended(RunId("1"));
  EXPECT_EQ(NextName(kStart + seconds(3)), "0");
}

TEST_F(AdmissionLeaseTest, APermanentFailureForgetsTheRun) {
  Queue("1");
  EXPECT_TRUE(admission_.Release(RunId("0"), epoch_, Failure::kPermanent));
  EXPECT_FALSE(admission_.Knows(RunId("0")));
  EXPECT_EQ(NextName(), "1");
}

TEST_F(AdmissionLeaseTest, AnExpiredLeaseIsReplacedAndTheOldOneRefused) {
  Queue("1");
  EXPECT_TRUE(admission_.ExpireLeases(kStart + seconds(29), seconds(30)).empty());
  const auto expired = admission_.ExpireLeases(kStart + seconds(30), seconds(30));
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired.front(), RunId("0"));
  EXPECT_EQ(admission_.leases_expired(), 1u);
  EXPECT_FALSE(admission_.Confirm(RunId("0"), epoch_));
  const LeaseEpoch first = epoch_;
  EXPECT_EQ(NextName(kStart + seconds(30)), "0");
  EXPECT_FALSE(admission_.Confirm(RunId("0"), first));
  EXPECT_TRUE(admission_.Confirm(RunId("0"), epoch_));
}

TEST_F(AdmissionLeaseTest, ALeaseExpiresAlthoughTheClockWasSetBack) {
  const Timestamp earlier = kStart - hours(1);
  EXPECT_TRUE(admission_.ExpireLeases(earlier, seconds(30)).empty());
  EXPECT_EQ(admission_.ExpireLeases(earlier + seconds(30), seconds(30)).size(), 1u);
}

TEST_F(AdmissionLeaseTest, ARunThatIsCancelledWhileLeasedFreesItsPlace) {
  Queue("1");
  EXPECT_TRUE(admission_.Forget(RunId("0")));
  EXPECT_FALSE(admission_.Confirm(RunId("0"), epoch_));
  EXPECT_EQ(NextName(), "1");
}

TEST(AdmissionTokensTest, AFailedStartGivesItsTokensBack) {
  AdmissionPolicy policy;
  policy.tenant.starts_per_second = 0.001;
  Admission admission(policy);
  const auto first = admission.Request(ARun("1"), kStart);
  EXPECT_EQ(admission.Request(ARun("2"), kStart).verdict, Verdict::kQueue);
  EXPECT_TRUE(admission.Release(RunId("1"), first.epoch, Failure::kPermanent));
  EXPECT_EQ(admission.Next(kStart, 9).size(), 1u);
}

// Admission has seen a later time than the bucket: for admission the clock was set back, for the
// bucket it only wavered.
TEST(AdmissionTokensTest, AnOpenGateIsCheckedAgainAfterTheClockWasSetBack) {
  AdmissionPolicy policy;
  policy.engine.running_max = 1;
  policy.tenant.starts_per_second = 1;
  Admission admission(policy);
  EXPECT_EQ(admission.Request(ARun("1"), kStart).verdict, Verdict::kStart);
  EXPECT_EQ(admission.Request(ARun("2"), kStart + seconds(1)).verdict, Verdict::kQueue);
  EXPECT_TRUE(admission.Ended(RunId("1")));
  EXPECT_EQ(admission.NextWake(kStart + seconds(5)), kStart + seconds(5));
  EXPECT_TRUE(admission.Next(kStart - seconds(2), 9).empty());
  EXPECT_EQ(admission.NextWake(kStart - seconds(2)), kStart + seconds(1));
  EXPECT_EQ(admission.Next(kStart + seconds(1), 9).size(), 1u);
}

TEST(AdmissionRestoreTest, CountsRunningRunsBeyondLimitsAndTakesNoTokens) {
  AdmissionPolicy policy;
  policy.tenant.running_max = 1;
  policy.tenant.starts_per_second = 1;
  Admission admission(policy);
  EXPECT_TRUE(admission.Restore(ARun("1"), Admission::RestoredAs::kRunning, {}));
  EXPECT_TRUE(admission.Restore(ARun("2"), Admission::RestoredAs::kRunning, {}));
  EXPECT_FALSE(admission.Restore(ARun("2"), Admission::RestoredAs::kQueued, {}));
  EXPECT_TRUE(admission.Restore(ARun("3"), Admission::RestoredAs::kQueued, kStart));
  EXPECT_EQ(admission.running(), 2u);
  EXPECT_TRUE(admission.Next(kStart, 9).empty());
  admission.Ended(RunId("1"));
  EXPECT_TRUE(admission.Next(kStart, 9).empty());
  admission.Ended(RunId("2"));
  EXPECT_EQ(admission.Next(kStart, 9).size(), 1u);
}

TEST(AdmissionRestoreTest, QueuedRunsHaveTheirOldOrderAndStartTimes) {
  Admission admission(AdmissionPolicy{});
  auto later = ARun("later", "k");
  later.start_at = kStart + seconds(60);
  EXPECT_TRUE(admission.Restore(later, Admission::RestoredAs::kQueued, kStart - seconds(9)));
  EXPECT_TRUE(
      admission.Restore(ARun("b", "k"), Admission::RestoredAs::kQueued, kStart - seconds(1)));
  EXPECT_TRUE(
      admission.Restore(ARun("a", "k"), Admission::RestoredAs::kQueued, kStart - seconds(2)));
  EXPECT_TRUE(
      admission.Restore(ARun("c", "k"), Admission::RestoredAs::kQueued, kStart - seconds(1)));
  std::vector<std::string> order;
  Timestamp now = kStart;
  while (const auto wake = admission.NextWake(now)) {
    now = std::max(now, *wake);
    for (const RunLease& lease : admission.Next(now, 9)) {
      order.push_back(lease.run_id.value());
      admission.Ended(lease.run_id);
    }
  }
  EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "c", "later"}));
  EXPECT_EQ(now, later.start_at);
}

}  // namespace
}  // namespace everstep
