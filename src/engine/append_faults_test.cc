#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "engine/append_authority.h"
#include "engine/verify.h"
#include "store/keyed_store.h"
#include "testing/faulty_key_value.h"
#include "testing/manual_clock.h"
#include "testing/orders.h"

// Results that callers get when writes fail, and when their orders overlap with orders in flight.

namespace everstep {
namespace {

using enum EventType;

class AppendFaultsTest : public testing::Test {
 protected:
  AppendFaultsTest() {
    auto tables = std::make_unique<FaultyKeyValue>(random_);
    disk_ = tables.get();
    store_ = std::move(*OpenKeyedStore(std::move(tables)));
    committer_ = std::make_unique<Committer>(*store_, clock_, Committer::DurableFn());
    authority_ = std::make_unique<AppendAuthority>(*store_, *committer_, clock_, SystemRandom(),
                                                   AppendAuthority::Options());
  }

  AppendAuthority::Submission Submit(const AppendOrder& order) {
    return authority_->Submit(std::span(&order, 1), DefaultScope());
  }
  Result<Placed> Await(AppendAuthority::Submission submission) {
    return authority_->Await(std::move(submission)).front();
  }
  Result<Placed> Append(const AppendOrder& order) { return Await(Submit(order)); }
  std::uint64_t EventsOf(const std::string& run) {
    const auto stored = store_->Read()->FindRun(RunId(run));
    return *stored ? (*stored)->state.last_seq.value() : 0;
  }

  SeededRandom random_{1};
  ManualClock clock_;
  FaultyKeyValue* disk_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<AppendAuthority> authority_;
};

TEST_F(AppendFaultsTest, AnOrderThatStartsWithADuplicateWaitsForItsNewEvent) {
  ASSERT_TRUE(Append(Order("r", kRunStarted, "", 1)).has_value());
  const AppendOrder order{RunId("r"),
                          {Write("r", kRunStarted, "", 1), Write("r", kStepStarted, "a", 1)}};
  const auto placed = Append(order);
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->seq, EventSeq(1));
  EXPECT_FALSE(placed->duplicate);
  EXPECT_EQ(EventsOf("r"), 2U);
  EXPECT_EQ(Append(Order("r", kStepCompleted, "a"))->seq, EventSeq(3)) << "the log continues";
}

TEST_F(AppendFaultsTest, AnOrderOfDuplicatesWaitsForTheEventInFlight) {
  ASSERT_TRUE(Append(Order("r", kRunStarted, "", 1)).has_value());
  disk_->PlanFault(WriteFault::kDiskFull);
  auto step = Submit(Order("r", kStepStarted, "a", 1));
  auto both =
      Submit({RunId("r"), {Write("r", kRunStarted, "", 1), Write("r", kStepStarted, "a", 1)}});
  EXPECT_EQ(Await(std::move(step)).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(Await(std::move(both)).error().code, ErrorCode::kStoreFull);
}

TEST_F(AppendFaultsTest, ARejectionWaitsForTheEventsItDependsOn) {
  ASSERT_TRUE(Append(Order("r", kRunStarted)).has_value());
  disk_->PlanFault(WriteFault::kDiskFull);
  auto end = Submit(Order("r", kRunCompleted));
  auto late = Submit(Order("r", kStepStarted, "a"));
  EXPECT_EQ(Await(std::move(end)).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(Await(std::move(late)).error().code, ErrorCode::kStoreFull) << "the run never ended";
  EXPECT_TRUE(Append(Order("r", kStepStarted, "a")).has_value());
}

TEST_F(AppendFaultsTest, AfterAWriteOfUnknownOutcomeNotEvenADuplicateIsAnswered) {
  ASSERT_TRUE(Append(Order("r", kRunStarted, "", 1)).has_value());
  disk_->PlanFault(WriteFault::kSyncFails);
  const AppendOrder order = Order("r", kStepStarted, "a", 1);
  EXPECT_EQ(Append(order).error().code, ErrorCode::kIndeterminate);
  EXPECT_EQ(EventsOf("r"), 2U) << "readable, but not known to be durable";
  EXPECT_EQ(Append(order).error().code, ErrorCode::kStoreStopped);
  EXPECT_EQ(Append(Order("r", kRunQueued)).error().code, ErrorCode::kStoreStopped);
}

TEST_F(AppendFaultsTest, APurgeOfUnknownOutcomeStopsTheLog) {
  ASSERT_TRUE(Append(Order("r", kRunStarted)).has_value());
  ASSERT_TRUE(Append(Order("r", kRunCompleted)).has_value());
  disk_->PlanFault(WriteFault::kSyncFails);
  const std::vector<RunId> runs = {RunId("r")};
  EXPECT_EQ(authority_->Purge(runs, Timestamp{}).error().code, ErrorCode::kIndeterminate);
  EXPECT_EQ(Append(Order("r", kRunStarted)).error().code, ErrorCode::kStoreStopped);
}

TEST_F(AppendFaultsTest, APurgeThatCannotBeWrittenRemovesNothing) {
  ASSERT_TRUE(Append(Order("r", kRunStarted)).has_value());
  ASSERT_TRUE(Append(Order("r", kRunCompleted)).has_value());
  disk_->PlanFault(WriteFault::kDiskFull);
  const std::vector<RunId> runs = {RunId("r")};
  EXPECT_EQ(authority_->Purge(runs, Timestamp{}).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(EventsOf("r"), 2U);
  EXPECT_TRUE(Append(Order("r", kRunCompleted))->duplicate) << "the run is known as before";
  EXPECT_EQ(*authority_->Purge(runs, Timestamp{}), 1U);
  EXPECT_EQ(Append(Order("r", kRunStarted)).error().code, ErrorCode::kRunExpired);
}

TEST_F(AppendFaultsTest, AQuarantineThatCannotBeWrittenLeavesTheRunUsable) {
  ASSERT_TRUE(Append(Order("r", kRunStarted)).has_value());
  disk_->PlanFault(WriteFault::kDiskFull);
  authority_->Quarantine(RunId("r"), "damaged");
  EXPECT_EQ(Append(Order("r", kStepStarted, "a"))->seq, EventSeq(2));
  authority_->Quarantine(RunId("r"), "damaged");
  EXPECT_EQ(Append(Order("r", kStepCompleted, "a")).error().code, ErrorCode::kRunQuarantined);
}

TEST_F(AppendFaultsTest, PurgeKeepsARunWhoseEndWasNotWritten) {
  ASSERT_TRUE(Append(Order("r", kRunStarted)).has_value());
  disk_->PlanFault(WriteFault::kDiskFull);
  EXPECT_EQ(Append(Order("r", kRunCompleted)).error().code, ErrorCode::kStoreFull);
  const std::vector<RunId> runs = {RunId("r")};
  EXPECT_EQ(*authority_->Purge(runs, Timestamp{}), 0U);
  EXPECT_TRUE(Append(Order("r", kStepStarted, "a")).has_value());
}

TEST_F(AppendFaultsTest, ADuplicateWithinOneCallIsTreatedLikeALaterOne) {
  auto hook = Write("b", kHookCreated, "h");
  hook.facts.token = "t";
  auto holder = hook;
  holder.run_id = RunId("a");
  auto signal = Write("b", kSignalAccepted, "s", 1);
  auto changed = signal;
  changed.payload = R"({"signalType":"CANCEL"})";
  const std::vector<AppendOrder> orders = {
      Order("a", kRunStarted), Order(holder), Order("b", kRunStarted), Order(hook), Order(hook),
      Order(signal),           Order(changed)};
  const auto answers = authority_->Await(authority_->Submit(orders, DefaultScope()));
  EXPECT_TRUE(answers[4]->duplicate);
  EXPECT_FALSE(answers[4]->payload_mismatch) << "the conflict's payload is not the writer's";
  EXPECT_EQ(answers[6].error().code, ErrorCode::kSignalDuplicate);
}

TEST_F(AppendFaultsTest, ConcurrentRepeatsOfOneOrderAreWrittenOnce) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  std::vector<std::thread> threads;
  std::latch ready(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ready.arrive_and_wait();
      for (int i = 0; i < kRounds; ++i) {
        EXPECT_TRUE(Append(Order("r" + std::to_string(i), kRunStarted, "", 1)).has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->LastPosition(), Position(kRounds));
}

}  // namespace
}  // namespace everstep
