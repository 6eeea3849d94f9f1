#include "engine/committer.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "engine/append_authority.h"
#include "store/keyed_store.h"
#include "testing/faulty_key_value.h"
#include "testing/manual_clock.h"
#include "testing/orders.h"

namespace everstep {
namespace {

using enum EventType;

class CommitterTest : public testing::Test {
 protected:
  AppendAuthority::Submission Submit(AppendOrder order) {
    return authority_.Submit(std::span(&order, 1), DefaultScope());
  }
  Result<Placed> Await(AppendAuthority::Submission submission) {
    return authority_.Await(std::move(submission)).front();
  }
  Result<Placed> Append(AppendOrder order) { return Await(Submit(std::move(order))); }

  SeededRandom random_{3};
  ManualClock clock_;
  FaultyKeyValue* disk_ = nullptr;
  std::unique_ptr<StateStore> store_ = [this] {
    auto disk = std::make_unique<FaultyKeyValue>(random_);
    disk_ = disk.get();
    return std::move(*OpenKeyedStore(std::move(disk)));
  }();
  std::size_t notified_ = 0;
  Committer committer_{*store_, clock_, [this](auto units) { notified_ += units.size(); }};
  AppendAuthority authority_{*store_, committer_, clock_, random_, {}};
};

TEST_F(CommitterTest, OneWriteCommitsAllQueuedUnits) {
  const std::uint64_t before = disk_->writes();
  auto a = Submit(Order("a", kRunStarted));
  auto b = Submit(Order("b", kRunStarted));
  auto c = Submit(Order("c", kRunStarted));
  EXPECT_TRUE(Await(std::move(a)).has_value());
  EXPECT_EQ(disk_->writes(), before + 1);
  EXPECT_TRUE(Await(std::move(b)).has_value());
  EXPECT_TRUE(Await(std::move(c)).has_value());
  EXPECT_EQ(disk_->writes(), before + 1);
  EXPECT_EQ(notified_, 3U);
}

// A unit's memory is reused for the run's next decision, but not while the unit has other owners.
TEST_F(CommitterTest, AUnitThatIsStillHeldIsNotReused) {
  std::vector<std::shared_ptr<CommitUnit>> held;
  Committer committer(*store_, clock_,
                      [&held](auto units) { held.insert(held.end(), units.begin(), units.end()); });
  AppendAuthority authority(*store_, committer, clock_, random_, {});
  const auto append = [&](EventType type) {
    const AppendOrder order = Order("a", type, type == kRunStarted ? "" : "s");
    ASSERT_TRUE(authority.Await(authority.Submit(std::span(&order, 1), DefaultScope()))[0]);
  };
  append(kRunStarted);
  append(kStepStarted);
  append(kStepCompleted);
  ASSERT_EQ(held.size(), 3U);
  EXPECT_EQ(held[0]->change.events.at(0).type, kRunStarted);
  EXPECT_EQ(held[1]->change.events.at(0).type, kStepStarted);
  EXPECT_EQ(held[2]->change.events.at(0).type, kStepCompleted);
}

TEST_F(CommitterTest, AReusedUnitHasNothingOfThePreviousDecision) {
  std::vector<RunChange> seen;
  Committer committer(*store_, clock_, [&seen](auto units) {
    for (const auto& unit : units) seen.push_back(unit->change);
  });
  AppendAuthority authority(*store_, committer, clock_, random_, {});
  AppendOrder create = Order("a", kHookCreated, "h");
  create.events[0].facts.token = "secret";
  for (const AppendOrder& order :
       {Order("a", kRunStarted), create, Order("a", kWaitCreated, "w"), Order("a", kRunPaused)}) {
    ASSERT_TRUE(authority.Await(authority.Submit(std::span(&order, 1), DefaultScope()))[0]);
  }
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[1].tokens.size(), 1U);
  EXPECT_EQ(seen[2].alarms.size(), 1U);
  EXPECT_EQ(seen[3].events.size(), 1U);
  EXPECT_TRUE(seen[3].entities.empty());
  EXPECT_TRUE(seen[3].tokens.empty());
  EXPECT_TRUE(seen[3].alarms.empty());
  EXPECT_TRUE(seen[3].instance_keys.empty());
}

TEST_F(CommitterTest, NothingIsReturnedOrVisibleBeforeItIsDurable) {
  auto submission = Submit(Order("a", kRunStarted));
  EXPECT_FALSE(store_->Read()->FindRun(RunId("a"))->has_value());
  EXPECT_EQ(notified_, 0U);
  EXPECT_TRUE(Await(std::move(submission)).has_value());
  EXPECT_TRUE(store_->Read()->FindRun(RunId("a"))->has_value());
}

TEST_F(CommitterTest, AFailedWriteStopsTheLogAndItsOutcomeIsUnknown) {
  ASSERT_TRUE(Append(Order("a", kRunStarted)).has_value());
  disk_->PlanFault(WriteFault::kWrittenAnyway);
  EXPECT_EQ(Append(Order("a", kStepStarted, "s")).error().code, ErrorCode::kIndeterminate);
  EXPECT_TRUE(committer_.stopped());
  EXPECT_EQ(Append(Order("b", kRunStarted)).error().code, ErrorCode::kStoreStopped);
}

TEST_F(CommitterTest, DecisionsBasedOnAFailedWriteAreNotWritten) {
  ASSERT_TRUE(Append(Order("a", kRunStarted)).has_value());
  disk_->PlanFault(WriteFault::kNothingWritten);
  auto first = Submit(Order("a", kStepStarted, "s"));
  const auto failed = Await(std::move(first));
  EXPECT_EQ(failed.error().code, ErrorCode::kIndeterminate);
  EXPECT_EQ(Append(Order("a", kStepCompleted, "s")).error().code, ErrorCode::kStoreStopped);
  EXPECT_EQ(notified_, 1U);
}

TEST_F(CommitterTest, AFullDiskRefusesAppendsUntilThereIsSpace) {
  ASSERT_TRUE(Append(Order("a", kRunStarted)).has_value());
  disk_->PlanFault(WriteFault::kDiskFull);
  auto step = Submit(Order("a", kStepStarted, "s"));
  auto completion = Submit(Order("a", kStepCompleted, "s"));
  auto other = Submit(Order("b", kRunStarted));
  EXPECT_EQ(Await(std::move(step)).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(Await(std::move(completion)).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(Await(std::move(other)).error().code, ErrorCode::kStoreFull);
  // Decided again, on the state that is actually stored.
  EXPECT_EQ(Append(Order("a", kStepCompleted, "s")).error().code, ErrorCode::kStepNotFound);
  EXPECT_EQ(Append(Order("a", kStepStarted, "s"))->seq, EventSeq(2));
  EXPECT_EQ(Append(Order("b", kRunStarted))->seq, EventSeq(1));
  EXPECT_EQ(store_->LastPosition(), Position(3)) << "the commit order has no gaps";
}

TEST_F(CommitterTest, TokensOfADiscardedDecisionAreFree) {
  const auto hook = [](const std::string& run) {
    auto write = Write(run, kHookCreated, "h");
    write.facts.token = "t";
    return Order(write);
  };
  ASSERT_TRUE(Append(Order("a", kRunStarted)).has_value());
  ASSERT_TRUE(Append(Order("b", kRunStarted)).has_value());
  disk_->PlanFault(WriteFault::kDiskFull);
  EXPECT_FALSE(Append(hook("a")).has_value());
  EXPECT_TRUE(Append(hook("b")).has_value());
  EXPECT_EQ((*store_->Read()->FindHook("default", "t"))->run_id, RunId("b"));
}

TEST_F(CommitterTest, DocumentsAreDurableWhenPutReturnsAndAreNoEvents) {
  const DocumentKey key{DocumentKind::kMessage, "", "m"};
  EXPECT_TRUE(committer_.Put({{key, "text"}}).has_value());
  EXPECT_EQ(**store_->Read()->FindDocument(key), "text");
  EXPECT_TRUE(committer_.Put({{key, std::nullopt}}).has_value());
  EXPECT_FALSE(store_->Read()->FindDocument(key)->has_value());
  EXPECT_EQ(notified_, 0U);
  disk_->PlanFault(WriteFault::kDiskFull);
  EXPECT_EQ(committer_.Put({{key, "text"}}).error().code, ErrorCode::kStoreFull);
  EXPECT_FALSE(store_->Read()->FindDocument(key)->has_value());
  EXPECT_TRUE(committer_.Put({{key, "text"}}).has_value());
}

TEST_F(CommitterTest, DocumentsShareTheWriteOfEarlierEvents) {
  // The other thread must be queued before the write begins, which happens in one of many rounds.
  bool together = false;
  for (int round = 0; round < 10'000 && !together; ++round) {
    const std::string name = std::to_string(round);
    auto event = Submit(Order("r" + name, kRunStarted));
    const std::uint64_t before = disk_->writes();
    std::thread other([&] {
      EXPECT_TRUE(committer_.Put({{{DocumentKind::kMessage, "", name}, "text"}}).has_value());
    });
    std::this_thread::yield();
    EXPECT_TRUE(Await(std::move(event)).has_value());
    other.join();
    together = disk_->writes() == before + 1;
    EXPECT_EQ(notified_, static_cast<std::size_t>(round) + 1) << "documents do not notify";
  }
  EXPECT_TRUE(together);
}

TEST_F(CommitterTest, AnOrderIsWrittenBetweenWritesOfEvents) {
  auto queued = Submit(Order("a", kRunStarted));
  const std::uint64_t before = disk_->writes();
  std::thread other([&] {
    EXPECT_TRUE(committer_.CarryOut(StorePlan{Sha256("plan"), "plan"}).has_value());
  });
  EXPECT_TRUE(Await(std::move(queued)).has_value());
  other.join();
  EXPECT_EQ(disk_->writes(), before + 2);
  EXPECT_EQ(**store_->Read()->FindPlan(Sha256("plan")), "plan");
}

TEST_F(CommitterTest, AFailedOrderIsReportedAndLeavesNothing) {
  const DocumentKey key{DocumentKind::kPlanVersion, "acme", "p"};
  const SinkKey sink{"acme", "s"};
  ASSERT_TRUE(Append(Order("a", kRunStarted)).has_value());
  const auto orders = [&] {
    return std::vector<StoreOrder>{StorePlan{Sha256("plan"), "plan"}, StoreFirst{{key, "text"}},
                                   QuarantineRun{RunId("a"), "damaged"},
                                   SinkMove{{sink, Position(1)}, {}, {}, "definition"},
                                   PurgeRuns{{RunId("a")}, clock_.Now(), Timestamp{}}};
  };
  for (StoreOrder& order : orders()) {
    disk_->PlanFault(WriteFault::kDiskFull);
    EXPECT_EQ(committer_.CarryOut(order).error().code, ErrorCode::kStoreFull) << order.index();
  }
  EXPECT_FALSE(store_->Read()->FindPlan(Sha256("plan"))->has_value());
  EXPECT_FALSE(store_->Read()->FindDocument(key)->has_value());
  EXPECT_FALSE(store_->Read()->FindSink(sink)->has_value());
  EXPECT_FALSE(store_->Read()->FindDocument(SinkDocumentKey(sink))->has_value());
  EXPECT_EQ((*store_->Read()->FindRun(RunId("a")))->quarantine, "");
  EXPECT_EQ(store_->Read()->Counts("acme").row_bytes, 0U) << "counts of refused documents";
  // Given again, each is carried out.
  for (StoreOrder& order : orders()) EXPECT_TRUE(committer_.CarryOut(order)) << order.index();
  EXPECT_EQ(**store_->Read()->FindDocument(SinkDocumentKey(sink)), "definition");
  EXPECT_FALSE(store_->Read()->FindRun(RunId("a"))->has_value());
  EXPECT_EQ(store_->Read()->Counts("acme").row_bytes, 4U + 10U);
}

TEST_F(CommitterTest, OfTwoDocumentsWithOneKeyTheFirstStays) {
  const DocumentKey key{DocumentKind::kPlanVersion, "acme", "p"};
  StoreOrder first = StoreFirst{{key, "first"}};
  ASSERT_TRUE(committer_.CarryOut(first));
  EXPECT_FALSE(std::get<StoreFirst>(first).existing);
  StoreOrder second = StoreFirst{{key, "second"}};
  ASSERT_TRUE(committer_.CarryOut(second));
  EXPECT_EQ(std::get<StoreFirst>(second).existing, "first");
  EXPECT_EQ(**store_->Read()->FindDocument(key), "first");
}

TEST_F(CommitterTest, ASinkIsForgottenAsAWhole) {
  const SinkKey sink{"acme", "s"};
  DeadLetter letter;
  letter.run_id = RunId("a");
  letter.seq = EventSeq(1);
  ASSERT_TRUE(committer_.CarryOut(SinkMove{{sink, Position(1)}, {letter}, {}, "definition"}));
  disk_->PlanFault(WriteFault::kDiskFull);
  EXPECT_FALSE(committer_.CarryOut(ForgetSink{sink}));
  EXPECT_EQ((*store_->Read()->FindSink(sink))->dead_letters, 1U);
  EXPECT_TRUE(store_->Read()->FindDocument(SinkDocumentKey(sink))->has_value());
  ASSERT_TRUE(committer_.CarryOut(ForgetSink{sink}));
  EXPECT_FALSE(store_->Read()->FindSink(sink)->has_value());
  EXPECT_FALSE(store_->Read()->FindDocument(SinkDocumentKey(sink))->has_value());
  EXPECT_TRUE(store_->Read()->ListDeadLetters({.sink = sink})->empty());
  EXPECT_EQ(store_->Read()->Counts("acme").row_bytes, 0U);
}

TEST_F(CommitterTest, AnOrderOfUnknownOutcomeStopsTheLog) {
  disk_->PlanFault(WriteFault::kWrittenAnyway);
  EXPECT_EQ(committer_.CarryOut(StorePlan{Sha256("p"), "p"}).error().code,
            ErrorCode::kIndeterminate);
  EXPECT_EQ(Append(Order("a", kRunStarted)).error().code, ErrorCode::kStoreStopped);
  EXPECT_EQ(committer_.CarryOut(StorePlan{Sha256("p"), "p"}).error().code,
            ErrorCode::kStoreStopped);
}

TEST(CommitterConcurrent, AllConcurrentAppendersAreAnswered) {
  ManualClock clock;
  const auto store = OpenMemoryStore();
  std::atomic<std::size_t> durable{0};
  Committer committer(*store, clock, [&](auto units) { durable += units.size(); });
  AppendAuthority authority(*store, committer, SystemClock(), SystemRandom(), {});
  constexpr int kThreads = 8;
  constexpr int kEach = 200;
  std::latch ready(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ready.arrive_and_wait();
      for (int i = 0; i < kEach; ++i) {
        const AppendOrder order =
            Order("r" + std::to_string(t) + "." + std::to_string(i), kRunStarted);
        const auto answers =
            authority.Await(authority.Submit(std::span(&order, 1), DefaultScope()));
        EXPECT_TRUE(answers.front().has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(durable, static_cast<std::size_t>(kThreads * kEach));
  EXPECT_EQ(store->LastPosition(), Position(kThreads * kEach));
}

}  // namespace
}  // namespace everstep
