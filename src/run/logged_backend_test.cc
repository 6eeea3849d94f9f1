#include "run/logged_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/manual_clock.h"
#include "testing/orders.h"

namespace everstep {
namespace {

using enum EventType;
using testing::HasSubstr;

class LoggedBackendTest : public testing::Test {
 protected:
  LoggedBackendTest() {
    EventWrite start = Write("r", kRunStarted);
    start.facts.engine_run_ref = "elsewhere/1";
    Append(std::move(start));
  }
  void Append(EventWrite write) {
    const AppendOrder order = Order(std::move(write));
    const auto placed = authority_.Await(authority_.Submit(std::span(&order, 1), DefaultScope()));
    ASSERT_TRUE(placed.front()) << ToString(placed.front().error());
  }
  Result<SignalDecision> Signal(const std::string& type, const std::string& id,
                                const std::string& tenant = "default",
                                LoggedBackend* backend = nullptr) {
    SignalRequest request;
    request.run_id = "r";
    request.tenant_id = tenant;
    request.signal_id = id;
    request.type = type;
    request.reason = "audit";
    request.actor.id = "ada";
    request.actor.roles = {"Admin", "System"};
    if (type == "ESCALATE_ALERT") request.payload = R"({"level":"INFO"})";
    const auto verdict = JudgeSignal(request, {}, clock_.Now(), random_);
    if (!verdict) return verdict.error();
    return (backend == nullptr ? backend_ : *backend).Signal(request, *verdict);
  }
  StoredRun Run() { return **store_->Read()->FindRun(RunId("r")); }
  RunView View() { return *backend_.View(Run()); }
  Explanation Why() { return *backend_.Why(Run()); }
  std::string StatusOf() { return View().status; }

  ManualClock clock_;
  SeededRandom random_{1};
  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  Committer committer_{*store_, clock_, {}};
  AppendAuthority authority_{*store_, committer_, clock_, random_, {}};
  LoggedBackend backend_{{*store_, authority_, clock_, random_}};
  LoggedBackend confirming_{{*store_, authority_, clock_, random_}, LoggedBackend::Pauses::kAtOnce};
};

TEST_F(LoggedBackendTest, APauseIsRequestedUntilTheOtherSideConfirmsIt) {
  EXPECT_TRUE(LoggedBackend::Has(Run().state));
  const auto paused = Signal("PAUSE", "one");
  ASSERT_TRUE(paused) << ToString(paused.error());
  EXPECT_EQ(paused->decision, "ACCEPTED");
  EXPECT_EQ(paused->run_seq, 2U);
  EXPECT_EQ(StatusOf(), "RUNNING");
  EXPECT_EQ(View().substatus, "PAUSE_REQUESTED");
  EXPECT_EQ(Why().substatus, "PAUSE_REQUESTED");
  EXPECT_EQ(Why().summary, "a pause was requested; elsewhere/1 has not confirmed it");
  EXPECT_TRUE(Signal("PAUSE", "one")->repeated);
  EXPECT_EQ(Signal("PAUSE", "two")->decision, "REJECTED");
  Append(Write("r", kRunPaused));
  EXPECT_EQ(StatusOf(), "PAUSED");
  EXPECT_EQ(View().substatus, "");
  EXPECT_EQ(Signal("RESUME", "three")->decision, "ACCEPTED");
  EXPECT_EQ(StatusOf(), "PAUSED");
  EXPECT_EQ(View().substatus, "RESUME_REQUESTED");
  Append(Write("r", kRunResumed));
  EXPECT_EQ(StatusOf(), "RUNNING");
  EXPECT_EQ(View().substatus, "");
}

TEST_F(LoggedBackendTest, ARequestIsTakenBack) {
  ASSERT_EQ(Signal("PAUSE", "one")->decision, "ACCEPTED");
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(Signal("ESCALATE_ALERT", "alert-" + std::to_string(i))->decision, "ACCEPTED");
  }
  EXPECT_EQ(View().substatus, "PAUSE_REQUESTED");
  EXPECT_EQ(Signal("RESUME", "two")->decision, "ACCEPTED");
  EXPECT_EQ(View().substatus, "");
  EXPECT_EQ(Signal("RESUME", "three")->decision, "REJECTED") << "the run is not paused";
  EXPECT_EQ(Signal("PAUSE", "four")->decision, "ACCEPTED");
  EXPECT_EQ(View().substatus, "PAUSE_REQUESTED");
}

TEST_F(LoggedBackendTest, ABackendThatGivesOutTheWorkConfirmsAtOnce) {
  EXPECT_EQ(Signal("PAUSE", "one", "default", &confirming_)->decision, "ACCEPTED");
  EXPECT_EQ(StatusOf(), "PAUSED");
  EXPECT_EQ(Signal("PAUSE", "two", "default", &confirming_)->decision, "REJECTED");
  EXPECT_EQ(Signal("RESUME", "three", "default", &confirming_)->decision, "ACCEPTED");
  EXPECT_EQ(StatusOf(), "RUNNING");
  EXPECT_EQ(View().substatus, "");
}

TEST_F(LoggedBackendTest, TakesNoDeliveries) {
  const auto taken = backend_.Deliver(Run(), {RunId("r"), "hook-1", {}}, {});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kCapabilityNotSupported);
  EXPECT_THAT(taken.error().message, HasSubstr("elsewhere/1"));
}

TEST_F(LoggedBackendTest, CancelledRunsRefuseSignals) {
  const auto cancelled = Signal("CANCEL", "one");
  ASSERT_TRUE(cancelled) << ToString(cancelled.error());
  EXPECT_EQ(cancelled->decision, "ACCEPTED");
  EXPECT_EQ(StatusOf(), "CANCELLED");
  const auto late = Signal("PAUSE", "two");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kRunTerminal);
}

TEST_F(LoggedBackendTest, SignalsThatOnlyTheirEngineCanDecideAreRejected) {
  const auto retried = Signal("RETRY_RUN", "one");
  ASSERT_TRUE(retried) << ToString(retried.error());
  EXPECT_EQ(retried->decision, "REJECTED");
  EXPECT_EQ(retried->code, Name(ErrorCode::kCapabilityNotSupported));
}

TEST_F(LoggedBackendTest, AreNotVisibleToOtherTenants) {
  const auto paused = Signal("PAUSE", "one", "other");
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().code, ErrorCode::kRunNotFound);
}

TEST_F(LoggedBackendTest, WhyExplainsWhatTheyWaitFor) {
  EXPECT_THAT(Why().summary, HasSubstr("application"));
  EventWrite wait = Write("r", kWaitCreated, "w1");
  wait.facts.due_at = *ParseTimestamp("2026-03-01T00:00:00.000Z");
  Append(std::move(wait));
  EventWrite step = Write("r", kStepScheduled, "s1");
  step.payload = R"({"stepName":"pack"})";
  Append(std::move(step));
  Append(Write("r", kStepStarted, "s1"));
  const Explanation why = Why();
  ASSERT_EQ(why.blockers.size(), 2U);
  EXPECT_EQ(why.blockers[0].kind, "step");
  EXPECT_EQ(why.blockers[1].kind, "timer");
  EXPECT_THAT(why.blockers[1].message, HasSubstr("2026-03-01"));
  ASSERT_TRUE(Signal("PAUSE", "one", "default", &confirming_));
  EXPECT_EQ(Why().blockers[0].kind, "pause");
  const RunView view = View();
  EXPECT_EQ(view.substatus, "DRAINING");
  ASSERT_EQ(view.steps.size(), 1U);
  EXPECT_EQ(view.steps[0].name, "pack");
  EXPECT_EQ(view.steps[0].status, "RUNNING");
}

}  // namespace
}  // namespace everstep
