#include "engine/append_authority.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "engine/verify.h"
#include "store/keyed_store.h"
#include "testing/manual_clock.h"
#include "testing/orders.h"

namespace everstep {
namespace {

using enum EventType;

class AppendAuthorityTest : public testing::Test {
 protected:
  Result<Placed> Append(AppendOrder order) {
    return authority_.Await(authority_.Submit(std::span(&order, 1), DefaultScope())).front();
  }
  Result<Placed> Append(const std::string& run, EventType type, std::string entity = "",
                        std::uint32_t attempt = 0) {
    return Append(Order(run, type, std::move(entity), attempt));
  }
  ErrorCode RefusalOf(AppendOrder order) {
    const auto placed = Append(std::move(order));
    EXPECT_FALSE(placed.has_value());
    return placed ? ErrorCode::kInvalidArgument : placed.error().code;
  }
  StoredRun Stored(const std::string& run) { return **store_->Read()->FindRun(RunId(run)); }
  EntityState Entity(const std::string& run, EntityKind kind, const std::string& id) {
    const auto reader = store_->Read();
    return **reader->FindEntity((*reader->FindRun(RunId(run)))->run_no, {kind, id});
  }
  std::vector<Event> Events(const std::string& run) {
    const auto reader = store_->Read();
    return *reader->ReadEvents(**reader->FindRun(RunId(run)), {});
  }
  void ExpectSound() {
    const auto report = VerifyStore(*store_, {});
    ASSERT_TRUE(report.has_value());
    for (const auto& finding : report->findings)
      ADD_FAILURE() << finding.run_id << ": " << finding.what;
  }

  ManualClock clock_;
  Random& random_ = SystemRandom();  // shared by concurrent appenders
  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  Committer committer_{*store_, clock_, {}};
  AppendAuthority authority_{*store_, committer_, clock_, random_, {}};
};

TEST_F(AppendAuthorityTest, DesignRule01AcceptsKeysOfBothVersionsAndKeepsTheRunsVersion) {
  auto start = Write("run-1", kRunStarted, "", 1);
  start.scope = {"t1", "p1", "dev", "hello-world", "1.0.0"};
  start.key = DigestFromHex("617d570ec27ab09a9da5e49464e48bda8165c82fa220b72a772b170f709be542");
  ASSERT_TRUE(Append(Order(start)).has_value());
  EXPECT_EQ(Stored("run-1").state.key_version, KeyVersion::kV2) << "the first event fixes it";
  auto step = Write("run-1", kStepStarted, "s1", 1);
  step.key = Sha256("run-1|s1|1|StepStarted|1.0.0");  // v1
  ASSERT_TRUE(Append(Order(step)).has_value());
  step.key = Sha256("run-1|s1|1|StepStarted|hello-world|1.0.0");  // v2
  EXPECT_TRUE(Append(Order(step))->duplicate) << "the same event under its other key";
}

TEST_F(AppendAuthorityTest, DesignRule11OutboxRowsAreWrittenWithTheirEventsAndOnlyForNewOnes) {
  ASSERT_TRUE(Append("r", kRunStarted, "", 1).has_value());
  ASSERT_TRUE(Append("r", kRunStarted, "", 1).has_value()) << "a duplicate adds no outbox row";
  ASSERT_TRUE(Append("r", kStepStarted, "a").has_value());
  const auto outbox = store_->Read()->ReadOutbox(Position(0), 10);
  ASSERT_EQ(outbox->size(), 2U);
  EXPECT_EQ((*outbox)[0].last_seq, EventSeq(1));
  EXPECT_EQ((*outbox)[1].first_seq, EventSeq(2));
}

TEST_F(AppendAuthorityTest, DesignRule18DueTimesAreRecordedAndNotComputedAgain) {
  auto wait = Write("r", kWaitCreated, "w");
  wait.facts.due_at = clock_.Now() + std::chrono::seconds(60);
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  ASSERT_TRUE(Append(Order(wait)).has_value());
  clock_.Advance(std::chrono::hours(5));
  EXPECT_EQ(Events("r").back().facts.due_at, wait.facts.due_at);
  EXPECT_EQ(Entity("r", EntityKind::kWait, "w").due_at, wait.facts.due_at);
}

TEST_F(AppendAuthorityTest, DesignRule04AssignsContiguousSequenceNumbersFromOne) {
  EXPECT_EQ(Append("r", kRunStarted)->seq, EventSeq(1));
  EXPECT_EQ(Append("r", kStepStarted, "a")->seq, EventSeq(2));
  EXPECT_EQ(Append("r", kStepCompleted, "a")->seq, EventSeq(3));
  EXPECT_EQ(Append("other", kRunQueued)->seq, EventSeq(1));
  ExpectSound();
}

TEST_F(AppendAuthorityTest, AnswersADuplicateWithTheExistingEventAndWritesNothing) {
  const auto first = Append("r", kRunStarted, "", 1);
  clock_.Advance(std::chrono::seconds(5));
  const auto again = Append("r", kRunStarted, "", 1);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->event_id, first->event_id);
  EXPECT_EQ(again->seq, first->seq);
  EXPECT_EQ(again->persisted_at, first->persisted_at);
  EXPECT_EQ(Stored("r").state.last_seq, EventSeq(1));
  EXPECT_EQ(store_->LastPosition(), Position(1));
}

TEST_F(AppendAuthorityTest, DesignRule03MarksADuplicateWithAnotherPayload) {
  auto write = Write("r", kRunStarted, "", 1);
  write.payload = R"({"a":1,"b":2})";
  ASSERT_TRUE(Append(Order(write)).has_value());
  write.payload = R"({ "b": 2, "a": 1 })";
  EXPECT_FALSE(Append(Order(write))->payload_mismatch) << "the same content, written differently";
  write.payload = R"({"a":1,"b":3})";
  const auto other = Append(Order(write));
  EXPECT_TRUE(other->duplicate);
  EXPECT_TRUE(other->payload_mismatch);
  EXPECT_EQ(authority_.payload_mismatches(), 1U);
  EXPECT_EQ(Events("r").front().payload, R"({"a":1,"b":2})");
}

TEST_F(AppendAuthorityTest, FindsADuplicateOfAnEventInFlight) {
  const AppendOrder order = Order("r", kRunStarted, "", 1);
  auto first = authority_.Submit(std::span(&order, 1), DefaultScope());
  auto second = authority_.Submit(std::span(&order, 1), DefaultScope());
  const auto placed = authority_.Await(std::move(first)).front();
  const auto again = authority_.Await(std::move(second)).front();
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->event_id, placed->event_id);
  EXPECT_EQ(again->persisted_at, placed->persisted_at);
}

TEST_F(AppendAuthorityTest, FindsADuplicateWithinOneCall) {
  const std::vector<AppendOrder> orders = {Order("r", kRunStarted, "", 1),
                                           Order("r", kRunStarted, "", 1),
                                           Order("r", kStepStarted, "a", 1)};
  const auto answers = authority_.Await(authority_.Submit(orders, DefaultScope()));
  EXPECT_FALSE(answers[0]->duplicate);
  EXPECT_TRUE(answers[1]->duplicate);
  EXPECT_EQ(answers[1]->persisted_at, answers[0]->persisted_at);
  EXPECT_EQ(answers[2]->seq, EventSeq(2));
}

TEST_F(AppendAuthorityTest, AnOrderWithAnExplicitAttemptIsNoDuplicateOfAnEarlierAttempt) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  auto delayed = Write("r", kStepDelayed, "a");
  delayed.revisit = true;
  delayed.instance_id = "a:1";
  ASSERT_TRUE(Append(Order(delayed)).has_value());
  delayed.logical_attempt = 2;
  EXPECT_EQ(RefusalOf(Order(delayed)), ErrorCode::kInvalidTransition);
  delayed.logical_attempt = 0;
  EXPECT_TRUE(Append(Order(delayed))->duplicate);
}

TEST_F(AppendAuthorityTest, DesignRule05RefusesEventsAfterATerminalState) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  ASSERT_TRUE(Append("r", kRunCompleted).has_value());
  EXPECT_EQ(RefusalOf(Order("r", kRunCancelled)), ErrorCode::kRunTerminal);
  EXPECT_EQ(RefusalOf(Order("r", kStepStarted, "late")), ErrorCode::kRunTerminal);
  EXPECT_EQ(Events("r").size(), 2U);
}

TEST_F(AppendAuthorityTest, DesignRule02ASecondPauseIsAnotherEvent) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  ASSERT_TRUE(Append("r", kRunPaused).has_value());
  ASSERT_TRUE(Append("r", kRunResumed).has_value());
  EXPECT_FALSE(Append("r", kRunPaused)->duplicate);
  EXPECT_EQ(Events("r").back().logical_attempt, 2U);
  EXPECT_TRUE(Append("r", kRunPaused, "", 1)->duplicate) << "a resend of the first pause";
}

TEST_F(AppendAuthorityTest, DesignRule17PersistedAtNeverGoesBack) {
  const auto first = Append("r", kRunStarted);
  clock_.JumpBack(std::chrono::hours(1));
  const auto second = Append("r", kStepStarted, "a");
  EXPECT_GE(second->persisted_at, first->persisted_at);
}

TEST_F(AppendAuthorityTest, DesignRule17TheTimeOfOneRunDoesNotAffectAnother) {
  clock_.Advance(std::chrono::hours(3));
  const auto ahead = Append("ahead", kRunStarted);
  clock_.JumpBack(std::chrono::hours(3));
  EXPECT_EQ(Append("right", kRunStarted)->persisted_at, clock_.Now());
  EXPECT_EQ(Append("ahead", kStepStarted, "a")->persisted_at, ahead->persisted_at);
  clock_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(Append("right", kStepStarted, "a")->persisted_at, clock_.Now());
}

TEST_F(AppendAuthorityTest, RefusesAWrongKeyAndNamesTheRightOne) {
  auto write = Write("run-001", kStepStarted, "model.orders", 1);
  write.scope.plan_version = "1.2.0";
  ASSERT_TRUE(Append([] {
                auto start = Write("run-001", kRunStarted);
                start.scope.plan_version = "1.2.0";
                return Order(start);
              }())
                  .has_value());
  write.key = Sha256("something else");
  const auto refused = Append(Order(write));
  EXPECT_EQ(refused.error().code, ErrorCode::kIdempotencyKeyMismatch);
  EXPECT_NE(refused.error().faults[0].message.find(
                "6c99484df8a52a1dc3f2533b796f7257c11f57149d3fe3277d4c7ab98433d033"),
            std::string::npos);
  write.key = DigestFromHex("6c99484df8a52a1dc3f2533b796f7257c11f57149d3fe3277d4c7ab98433d033");
  EXPECT_TRUE(Append(Order(write)).has_value());
}

TEST_F(AppendAuthorityTest, RefusesAnEventOfAnotherTenant) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  auto write = Write("r", kStepStarted, "a");
  write.scope.tenant_id = "somebody";
  EXPECT_EQ(RefusalOf(Order(write)), ErrorCode::kRunScopeMismatch);
}

TEST_F(AppendAuthorityTest, AnOrderIsAtomic) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  const StoredRun before = Stored("r");
  AppendOrder order{RunId("r"), {Write("r", kStepStarted, "a"), Write("r", kStepCompleted, "b")}};
  EXPECT_EQ(RefusalOf(order), ErrorCode::kStepNotFound);
  EXPECT_EQ(Stored("r").state, before.state);
  EXPECT_TRUE(Append("r", kStepStarted, "a").has_value()) << "the rejected order had no effect";
  EXPECT_EQ(Stored("r").state.steps_total, 1U);
  ExpectSound();
}

TEST_F(AppendAuthorityTest, StartsARunImplicitly) {
  auto write = Write("exec-1", kStepScheduled, "Transform");
  write.starts_run = true;
  EXPECT_EQ(Append(Order(write))->seq, EventSeq(1));
  EXPECT_EQ(Events("exec-1")[0].type, kRunStarted);
  EXPECT_EQ(Events("exec-1")[1].type, kStepScheduled);
}

EventWrite Hook(const std::string& run, const std::string& hook, const std::string& token) {
  auto write = Write(run, kHookCreated, hook);
  write.facts.token = token;
  return write;
}

TEST_F(AppendAuthorityTest, ATakenTokenIsRecordedAsAConflict) {
  ASSERT_TRUE(Append("a", kRunStarted).has_value());
  ASSERT_TRUE(Append("b", kRunStarted).has_value());
  ASSERT_TRUE(Append(Order(Hook("a", "h1", "order-7"))).has_value());
  ASSERT_TRUE(Append(Order(Hook("b", "h2", "order-7"))).has_value());
  EXPECT_EQ(Events("b").back().type, kHookConflict);
  EXPECT_NE(Events("b").back().payload.find(R"("conflictingRunId":"a")"), std::string::npos);
  EXPECT_TRUE(Append(Order(Hook("b", "h2", "order-7")))->duplicate);
  ExpectSound();
}

TEST_F(AppendAuthorityTest, ATokenIsFreeAgainAfterDisposalAndAfterTheRunEnds) {
  for (const auto* run : {"a", "b", "c"}) ASSERT_TRUE(Append(run, kRunStarted).has_value());
  ASSERT_TRUE(Append(Order(Hook("a", "h", "t"))).has_value());
  ASSERT_TRUE(Append("a", kHookDisposed, "h").has_value());
  ASSERT_TRUE(Append(Order(Hook("b", "h", "t"))).has_value());
  EXPECT_EQ((*store_->Read()->FindHook("default", "t"))->run_id, RunId("b"));
  ASSERT_TRUE(Append("b", kRunCancelled).has_value());
  EXPECT_EQ(Entity("b", EntityKind::kHook, "h").status, EntityStatus::kDisposed);
  ASSERT_TRUE(Append(Order(Hook("c", "h", "t"))).has_value());
  EXPECT_EQ((*store_->Read()->FindHook("default", "t"))->run_id, RunId("c"));
  ExpectSound();
}

TEST_F(AppendAuthorityTest, ATokenMayStayReservedAfterTheRunEnds) {
  for (const char* run : {"r1", "r2"}) ASSERT_TRUE(Append(run, kRunStarted));
  EventWrite kept = Hook("r1", "h", "t");
  kept.facts.due_at = clock_.Now() + std::chrono::hours(1);
  ASSERT_TRUE(Append(Order(kept)));
  ASSERT_TRUE(Append("r1", kRunCompleted));
  ASSERT_TRUE(Append(Order(Hook("r2", "early", "t"))));
  EXPECT_EQ(Entity("r2", EntityKind::kHook, "early").status, EntityStatus::kConflicted);
  ExpectSound();
  clock_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(Append(Order(Hook("r2", "late", "t"))));
  EXPECT_EQ(Entity("r2", EntityKind::kHook, "late").status, EntityStatus::kActive);
  ASSERT_EQ(*authority_.Purge(std::vector{RunId("r1")}, {}), 1U);
  EXPECT_EQ((**store_->Read()->FindHook("default", "t")).hook_id, "late");
  ExpectSound();
}

TEST_F(AppendAuthorityTest, PurgingARunFreesItsReservedToken) {
  ASSERT_TRUE(Append("r1", kRunStarted));
  EventWrite kept = Hook("r1", "h", "t");
  kept.facts.due_at = clock_.Now() + std::chrono::hours(1);
  ASSERT_TRUE(Append(Order(kept)));
  ASSERT_TRUE(Append("r1", kRunCompleted));
  ASSERT_EQ(*authority_.Purge(std::vector{RunId("r1")}, {}), 1U);
  EXPECT_FALSE(*store_->Read()->FindHook("default", "t"));
  ExpectSound();
}

TEST_F(AppendAuthorityTest, TokensDecidedInOneSubmissionSeeEachOther) {
  const std::vector<AppendOrder> orders = {Order("a", kRunStarted), Order(Hook("a", "h1", "t")),
                                           Order(Hook("a", "h2", "t")), Order("b", kRunStarted),
                                           Order(Hook("b", "h3", "t"))};
  for (const auto& answer : authority_.Await(authority_.Submit(orders, DefaultScope()))) {
    EXPECT_TRUE(answer.has_value());
  }
  EXPECT_EQ(Events("a").back().type, kHookConflict);
  EXPECT_EQ(Events("b").back().type, kHookConflict);
  ExpectSound();
}

TEST_F(AppendAuthorityTest, AWaitIsDueUntilItCompletesOrTheRunEnds) {
  auto wait = Write("r", kWaitCreated, "w1");
  wait.facts.due_at = clock_.Now() + std::chrono::seconds(60);
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  ASSERT_TRUE(Append(Order(wait)).has_value());
  wait.entity_id = "w2";
  ASSERT_TRUE(Append(Order(wait)).has_value());
  const auto later = clock_.Now() + std::chrono::hours(1);
  EXPECT_EQ(store_->Read()->TimersDue({later, 10, {}})->size(), 2U);
  ASSERT_TRUE(Append("r", kWaitCompleted, "w1").has_value());
  EXPECT_EQ(store_->Read()->TimersDue({later, 10, {}})->size(), 1U);
  ASSERT_TRUE(Append("r", kRunFailed).has_value());
  EXPECT_TRUE(store_->Read()->TimersDue({later, 10, {}})->empty());
  ExpectSound();
}

TEST_F(AppendAuthorityTest, ResolvesAllOpenErrorsOfARun) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  ASSERT_TRUE(Append("r", kErrorRecorded, "20001").has_value());
  ASSERT_TRUE(Append("r", kErrorRecorded, "31001").has_value());
  EXPECT_EQ(Stored("r").state.errors_open, 2U);
  ASSERT_TRUE(Append("r", kErrorResolved, "*").has_value());
  EXPECT_EQ(Stored("r").state.errors_open, 0U);
  EXPECT_EQ(RefusalOf(Order("r", kErrorResolved, "*")), ErrorCode::kErrorNotOpen);
}

TEST_F(AppendAuthorityTest, DesignRule15ASecondEmissionOfAnErrorDoesNotCountTwice) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Append("r", kErrorRecorded, "20001").has_value());
  EXPECT_EQ(Stored("r").state.errors_open, 1U);
  EXPECT_EQ(Entity("r", EntityKind::kError, "20001").occurrences, 3U);
}

TEST_F(AppendAuthorityTest, DesignRule10ASignalIdIsDecidedOnce) {
  auto signal = Write("r", kSignalAccepted, "sig-1", 1);
  signal.payload = R"({"signalType":"PAUSE"})";
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  ASSERT_TRUE(Append(Order(signal)).has_value());
  EXPECT_TRUE(Append(Order(signal))->duplicate);
  signal.payload = R"({"signalType":"CANCEL"})";
  EXPECT_EQ(RefusalOf(Order(signal)), ErrorCode::kSignalDuplicate);
  signal.type = kSignalRejected;
  EXPECT_EQ(RefusalOf(Order(signal)), ErrorCode::kSignalDuplicate);
}

TEST_F(AppendAuthorityTest, MemoryIsBoundedByTheSettingNotByTheNumberOfRuns) {
  AppendAuthority small(*store_, committer_, clock_, random_, {256 << 10});
  for (int i = 0; i < 2000; ++i) {
    const AppendOrder order = Order("run-" + std::to_string(i), kRunStarted);
    ASSERT_TRUE(
        small.Await(small.Submit(std::span(&order, 1), DefaultScope())).front().has_value());
  }
  EXPECT_LE(small.MemoryBytes(), 400U << 10);
  const AppendOrder order = Order("run-0", kStepStarted, "a");
  EXPECT_EQ(small.Await(small.Submit(std::span(&order, 1), DefaultScope())).front()->seq,
            EventSeq(2));
}

TEST_F(AppendAuthorityTest, ARunWithManyStepsKeepsFewOfThemInMemory) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(Append("r", kStepStarted, "s" + std::to_string(i)).has_value());
  }
  EXPECT_LE(authority_.MemoryBytes(), 200U << 10);
  EXPECT_TRUE(Append("r", kStepCompleted, "s7").has_value());
  ExpectSound();
}

TEST_F(AppendAuthorityTest, APurgedRunLeavesATombstoneThatRefusesItsId) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  ASSERT_TRUE(Append("running", kRunStarted).has_value());
  ASSERT_TRUE(Append("r", kRunCompleted).has_value());
  const std::vector<RunId> runs = {RunId("r"), RunId("running"), RunId("unknown")};
  EXPECT_EQ(*authority_.Purge(runs, Timestamp{}), 1U);
  EXPECT_EQ(RefusalOf(Order("r", kRunStarted)), ErrorCode::kRunExpired);
  EXPECT_TRUE(Append("running", kStepStarted, "a").has_value());
  ExpectSound();
}

TEST_F(AppendAuthorityTest, ConcurrentAppendsToOneRunAreNeitherLostNorRepeated) {
  ASSERT_TRUE(Append("r", kRunStarted).has_value());
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::latch ready(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ready.arrive_and_wait();
      for (int i = 0; i < kEach; ++i) {
        // Two threads at a time race for the same step.
        const AppendOrder order =
            Order("r", kStepStarted, "s" + std::to_string(t / 2) + "." + std::to_string(i), 1);
        EXPECT_TRUE(authority_.Await(authority_.Submit(std::span(&order, 1), DefaultScope()))
                        .front()
                        .has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Stored("r").state.last_seq, EventSeq(1 + kThreads / 2 * kEach));
  ExpectSound();
}

TEST_F(AppendAuthorityTest, ConcurrentHooksWithOneTokenHaveOneWinner) {
  constexpr int kThreads = 4;
  std::latch ready(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ready.arrive_and_wait();
      for (int i = 0; i < 50; ++i) {
        const std::string run = "r" + std::to_string(t) + "." + std::to_string(i);
        const std::vector<AppendOrder> orders = {Order(run, kRunStarted),
                                                 Order(Hook(run, "h", "t" + std::to_string(i)))};
        for (const auto& answer : authority_.Await(authority_.Submit(orders, DefaultScope()))) {
          EXPECT_TRUE(answer.has_value());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int winners = 0;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < 50; ++i) {
      const auto events = Events("r" + std::to_string(t) + "." + std::to_string(i));
      winners += events.back().type == kHookCreated ? 1 : 0;
    }
  }
  EXPECT_EQ(winners, 50);
  ExpectSound();
}

}  // namespace
}  // namespace everstep
