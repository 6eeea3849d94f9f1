#include "bus/delivery_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace everstep {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Always yields the longest backoff.
class NoLuck final : public Random {
 public:
  std::uint64_t Next() override { return UINT64_MAX; }
};

class DeliveryQueueTest : public testing::Test {
 protected:
  using Batch = DeliveryQueue::Batch;

  static DeliveryPolicy Policy() {
    DeliveryPolicy policy;
    policy.attempts_max = 3;
    policy.backoff_initial = milliseconds(100);
    policy.backoff_max = milliseconds(1'000);
    policy.batch_events_max = 10;
    policy.in_flight_max = 2;
    return policy;
  }
  void Open(DeliveryPolicy policy, bool whole = true, DeliveryQueue::Bounds bounds = {}) {
    queue_.emplace(policy, whole, Position(), bounds);
    position_ = 0;
  }
  // Adds the next outbox change: these events of a run.
  void Commit(const std::string& run, std::vector<std::uint64_t> seqs) {
    ++position_;
    for (const std::uint64_t seq : seqs) queue_->Add(Event(run, seq, Position(position_)));
    queue_->ReadUpTo(Position(position_));
  }
  static QueuedEvent Event(const std::string& run, std::uint64_t seq, Position position) {
    QueuedEvent event;
    event.run_id = RunId(run);
    event.seq = EventSeq(seq);
    event.position = position;
    event.messages.resize(1);
    event.bytes = 100;
    return event;
  }
  static std::string NameOf(const QueuedEvent& event) {
    return event.run_id.value() + std::to_string(event.seq.value());
  }
  Batch MustTake() {
    auto batch = queue_->Take(now_);
    EXPECT_TRUE(batch);
    return batch.value_or(Batch{});
  }
  std::vector<std::string> Names(const Batch& batch) {
    std::vector<std::string> names;
    for (const QueuedEvent* event : batch.events) names.push_back(NameOf(*event));
    return names;
  }
  void Report(const Batch& batch, Verdict verdict) {
    Report(batch, std::vector<Verdict>(batch.events.size(), verdict));
  }
  void Report(const Batch& batch, const std::vector<Verdict>& verdicts) {
    std::vector<Outcome> outcomes;
    for (const Verdict verdict : verdicts) {
      outcomes.push_back({verdict, verdict == Verdict::kDelivered ? "" : "no"});
    }
    queue_->Report(batch.id, outcomes, now_, luck_);
  }
  std::vector<std::string> Dead() {
    settled_ = queue_->TakeSettled();
    std::vector<std::string> names;
    for (const DeadLetter& letter : settled_.died) {
      names.push_back(letter.run_id.value() + std::to_string(letter.seq.value()) + "/" +
                      std::to_string(letter.attempts));
    }
    return names;
  }
  std::uint64_t Position_() { return queue_->position().value(); }

  std::optional<DeliveryQueue> queue_;
  DeliveryQueue::Moment now_{std::chrono::hours(1)};
  NoLuck luck_;
  std::uint64_t position_ = 0;
  DeliveryQueue::Settled settled_;
};

TEST_F(DeliveryQueueTest, ABatchHoldsEventsOfManyRunsInOrderOfEach) {
  Open(Policy());
  Commit("a", {1, 2});
  Commit("b", {1});
  Commit("a", {3});
  const Batch batch = MustTake();
  EXPECT_THAT(Names(batch), ElementsAre("a1", "a2", "a3", "b1"));
  EXPECT_FALSE(queue_->Take(now_)) << "nothing is left";
  Report(batch, Verdict::kDelivered);
  EXPECT_EQ(Position_(), 3U);
  EXPECT_EQ(queue_->delivered(), 4U);
}

TEST_F(DeliveryQueueTest, ARunIsInOneBatchAtATime) {
  Open(Policy());
  Commit("a", {1});
  const Batch first = MustTake();
  Commit("a", {2});
  Commit("b", {1});
  const Batch second = MustTake();
  EXPECT_THAT(Names(second), ElementsAre("b1"));
  Report(first, Verdict::kDelivered);
  Report(second, Verdict::kDelivered);
  EXPECT_THAT(Names(MustTake()), ElementsAre("a2"));
}

TEST_F(DeliveryQueueTest, WithoutWholeBatchesARunHasOneEventUnderWay) {
  Open(Policy(), false);
  Commit("a", {1, 2});
  Commit("b", {1});
  const Batch batch = MustTake();
  EXPECT_THAT(Names(batch), ElementsAre("a1", "b1"));
  Report(batch, {Verdict::kRefused, Verdict::kDelivered});
  EXPECT_FALSE(queue_->Take(now_)) << "a2 waits for a1";
  EXPECT_EQ(Position_(), 0U);
  now_ += milliseconds(100);
  EXPECT_THAT(Names(MustTake()), ElementsAre("a1"));
}

TEST_F(DeliveryQueueTest, ThePositionWaitsForTheOldestEvent) {
  DeliveryPolicy policy = Policy();
  policy.batch_events_max = 1;
  Open(policy);
  Commit("a", {1});
  Commit("b", {1});
  const Batch a = MustTake();
  const Batch b = MustTake();
  EXPECT_FALSE(queue_->Take(now_)) << "two batches are in flight";
  Report(b, Verdict::kDelivered);
  EXPECT_EQ(Position_(), 0U);
  Report(a, Verdict::kDelivered);
  EXPECT_EQ(Position_(), 2U);
}

TEST_F(DeliveryQueueTest, EventsNotForTheSinkAreSkipped) {
  Open(Policy());
  Commit("a", {});
  EXPECT_EQ(Position_(), 1U);
  Commit("a", {1});
  Commit("b", {});
  EXPECT_EQ(Position_(), 1U);
  Report(MustTake(), Verdict::kDelivered);
  EXPECT_EQ(Position_(), 3U);
}

TEST_F(DeliveryQueueTest, AnUnreachableReceiverIsTriedLessOftenAndNoEventDies) {
  Open(Policy());
  Commit("a", {1});
  Commit("b", {1});
  for (const int wait : {100, 200, 400, 800, 1'000, 1'000, 1'000}) {
    Report(MustTake(), Verdict::kUnavailable);
    EXPECT_TRUE(queue_->failing());
    EXPECT_EQ(queue_->NextWake(), now_ + milliseconds(wait));
    EXPECT_FALSE(queue_->Take(now_ + milliseconds(wait - 1)));
    now_ += milliseconds(wait);
  }
  EXPECT_THAT(Dead(), IsEmpty());
  const Batch batch = MustTake();
  EXPECT_THAT(Names(batch), testing::UnorderedElementsAre("a1", "b1"));
  Report(batch, Verdict::kDelivered);
  EXPECT_FALSE(queue_->failing());
  EXPECT_EQ(Position_(), 2U);
}

TEST_F(DeliveryQueueTest, OneBatchProbesWhetherTheReceiverIsBack) {
  DeliveryPolicy policy = Policy();
  policy.batch_events_max = 1;
  Open(policy);
  for (const char* run : {"a", "b", "c"}) Commit(run, {1});
  Report(MustTake(), Verdict::kUnavailable);
  now_ += milliseconds(100);
  const Batch probe = MustTake();
  EXPECT_FALSE(queue_->Take(now_));
  EXPECT_FALSE(queue_->NextWake());
  Report(probe, Verdict::kDelivered);
  EXPECT_TRUE(queue_->Take(now_));
  EXPECT_TRUE(queue_->Take(now_));
}

TEST_F(DeliveryQueueTest, WhileAReceiverIsDownLittleIsReadAhead) {
  Open(Policy());
  Commit("a", {1});
  EXPECT_TRUE(queue_->HasRoom());
  Report(MustTake(), Verdict::kUnavailable);
  EXPECT_TRUE(queue_->HasRoom());
  for (int i = 0; i < 9; ++i) Commit("b" + std::to_string(i), {1});
  EXPECT_FALSE(queue_->HasRoom()) << "a batch is queued";
}

TEST_F(DeliveryQueueTest, ARefusedBatchIsHalvedUntilTheBadEventStandsAlone) {
  Open(Policy());
  for (int i = 0; i < 8; ++i) Commit("r" + std::to_string(i), {1});
  std::size_t requests = 0;
  std::vector<std::string> delivered;
  while (queue_->delivered() < 7 && requests < 50) {
    auto batch = queue_->Take(now_);
    if (!batch) {
      now_ = queue_->NextWake().value_or(now_);
      batch = queue_->Take(now_);
    }
    ASSERT_TRUE(batch);
    const auto names = Names(*batch);
    ++requests;
    const bool bad = std::ranges::count(names, "r31") > 0;
    Report(*batch, bad ? Verdict::kRefused : Verdict::kDelivered);
    if (!bad) delivered.insert(delivered.end(), names.begin(), names.end());
  }
  EXPECT_EQ(delivered.size(), 7U);
  EXPECT_LE(requests, 12U);
  EXPECT_THAT(Dead(), IsEmpty());
  EXPECT_EQ(Position_(), 3U) << "the bad event is still retried";
}

TEST_F(DeliveryQueueTest, AnEventThatIsRefusedTooOftenDiesAndHoldsItsRun) {
  Open(Policy());
  Commit("a", {1});
  Commit("a", {2});
  Commit("b", {1});
  Report(MustTake(), Verdict::kRefused);
  int alone = 0;
  for (int i = 0; i < 20 && Position_() < 3; ++i) {
    auto batch = queue_->Take(now_);
    if (!batch) {
      now_ = *queue_->NextWake();
      continue;
    }
    const bool bad = Names(*batch).front() == "a1";
    alone += Names(*batch) == std::vector<std::string>{"a1"} ? 1 : 0;
    Report(*batch, bad ? Verdict::kRefused : Verdict::kDelivered);
  }
  EXPECT_EQ(alone, 3);
  EXPECT_THAT(Dead(), ElementsAre("a1/3", "a2/0"));
  EXPECT_EQ(settled_.position, Position(3));
  EXPECT_EQ(queue_->waiting(), 0U);
}

TEST_F(DeliveryQueueTest, ByPolicyLaterEventsOfTheRunPass) {
  DeliveryPolicy policy = Policy();
  policy.attempts_max = 1;
  policy.later = LaterEvents::kPass;
  policy.batch_events_max = 1;
  Open(policy);
  Commit("a", {1, 2});
  Report(MustTake(), Verdict::kRefused);
  EXPECT_THAT(Dead(), ElementsAre("a1/1"));
  const Batch next = MustTake();
  EXPECT_THAT(Names(next), ElementsAre("a2"));
  Report(next, Verdict::kDelivered);
  EXPECT_EQ(Position_(), 1U);
}

TEST_F(DeliveryQueueTest, AnEventWithoutAnswerIsBlamedOnceOthersAreDelivered) {
  DeliveryPolicy policy = Policy();
  policy.batch_events_max = 1;
  Open(policy);
  Commit("bad", {1});
  int tries = 0;
  for (int i = 0; i < 60 && Dead().empty(); ++i) {
    if (i % 3 == 0) Commit("good" + std::to_string(i), {1});
    auto batch = queue_->Take(now_);
    if (!batch) {
      now_ = queue_->NextWake().value_or(now_ + milliseconds(1));
      continue;
    }
    const bool bad = Names(*batch).front() == "bad1";
    tries += bad ? 1 : 0;
    Report(*batch, bad ? Verdict::kUnavailable : Verdict::kDelivered);
  }
  ASSERT_EQ(settled_.died.size(), 1U);
  EXPECT_EQ(settled_.died.front().run_id, RunId("bad"));
  EXPECT_GE(tries, 3);
}

TEST_F(DeliveryQueueTest, AFaultyEventBecomesADeadLetterInItsTurn) {
  Open(Policy());
  Commit("a", {1});
  QueuedEvent faulty = Event("a", 2, Position(++position_));
  faulty.fault = "the filter failed";
  queue_->Add(faulty);
  queue_->ReadUpTo(Position(position_));
  Commit("a", {3});
  const Batch first = MustTake();
  EXPECT_THAT(Names(first), ElementsAre("a1"));
  Report(first, Verdict::kDelivered);
  EXPECT_FALSE(queue_->Take(now_));
  EXPECT_THAT(Dead(), ElementsAre("a2/1", "a3/0"));
  EXPECT_EQ(Position_(), 3U);
}

TEST_F(DeliveryQueueTest, WithoutRoomForDeadLettersEventsAreRetriedForever) {
  DeliveryPolicy policy = Policy();
  policy.attempts_max = 1;
  Open(policy);
  queue_->SetLettersLeft(0);
  Commit("a", {1});
  Report(MustTake(), Verdict::kRefused);
  EXPECT_TRUE(queue_->stalled());
  EXPECT_FALSE(queue_->HasRoom());
  EXPECT_THAT(Dead(), IsEmpty());
  queue_->SetLettersLeft(1);
  EXPECT_FALSE(queue_->stalled());
  now_ += milliseconds(1'000);
  Report(MustTake(), Verdict::kRefused);
  EXPECT_THAT(Dead(), ElementsAre("a1/2"));
}

TEST_F(DeliveryQueueTest, AReceiverThatIsGoneIsLeftAlone) {
  Open(Policy());
  Commit("a", {1});
  Report(MustTake(), Verdict::kGone);
  EXPECT_TRUE(queue_->gone());
  now_ += std::chrono::hours(1);
  EXPECT_FALSE(queue_->Take(now_));
  EXPECT_FALSE(queue_->HasRoom());
  EXPECT_THAT(Dead(), IsEmpty());
  EXPECT_EQ(Position_(), 0U) << "it is kept in case the receiver comes back";
}

TEST_F(DeliveryQueueTest, AReceiverMaySayWhenToRetry) {
  Open(Policy());
  Commit("a", {1});
  const Batch batch = MustTake();
  queue_->Report(batch.id, {{Verdict::kUnavailable, "HTTP 429", milliseconds(5'000)}}, now_, luck_);
  EXPECT_EQ(queue_->NextWake(), now_ + milliseconds(5'000));
}

TEST_F(DeliveryQueueTest, ADeliveredLetterIsRemovedAndThePositionStays) {
  Open(Policy());
  QueuedEvent letter = Event("a", 1, Position());
  letter.letter = true;
  letter.attempts = 3;
  queue_->Add(letter);
  letter.seq = EventSeq(2);
  queue_->Add(letter);
  EXPECT_EQ(queue_->letters_waiting(), 2U);
  Report(MustTake(), Verdict::kDelivered);
  EXPECT_THAT(Dead(), IsEmpty());
  EXPECT_THAT(settled_.gone,
              ElementsAre(std::pair(RunId("a"), EventSeq(1)), std::pair(RunId("a"), EventSeq(2))));
  EXPECT_EQ(Position_(), 0U);
}

TEST_F(DeliveryQueueTest, ALetterThatIsRefusedAgainStaysOneAndTheOthersOfItsRunWait) {
  Open(Policy(), false);
  QueuedEvent letter = Event("a", 1, Position());
  letter.letter = true;
  letter.attempts = 3;
  queue_->Add(letter);
  letter.seq = EventSeq(2);
  letter.attempts = 0;
  queue_->Add(letter);
  Report(MustTake(), Verdict::kRefused);
  EXPECT_THAT(Dead(), ElementsAre("a1/4"));
  EXPECT_EQ(queue_->waiting(), 0U);
}

TEST_F(DeliveryQueueTest, ABatchIsBoundedInBytes) {
  DeliveryPolicy policy = Policy();
  policy.batch_bytes_max = 250;
  Open(policy);
  Commit("a", {1, 2, 3});
  EXPECT_THAT(Names(MustTake()), ElementsAre("a1", "a2"));
}

TEST_F(DeliveryQueueTest, TheQueueIsBounded) {
  Open(Policy(), true, {.events_max = 3, .bytes_max = 1'000, .ahead_max = 5});
  Commit("a", {1, 2});
  EXPECT_TRUE(queue_->HasRoom());
  Commit("b", {1});
  EXPECT_FALSE(queue_->HasRoom());
  Open(Policy(), true, {.events_max = 100, .bytes_max = 250, .ahead_max = 5});
  Commit("a", {1, 2, 3});
  EXPECT_FALSE(queue_->HasRoom());
}

// Whatever a receiver does, every event of a run is either delivered in order or becomes a dead
// letter, and the position never passes an event that is neither.
TEST_F(DeliveryQueueTest, NothingIsLostOrOvertakenUnderRandomFailures) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SeededRandom random(seed);
    DeliveryPolicy policy = Policy();
    policy.later = random.OneIn(2) ? LaterEvents::kHold : LaterEvents::kPass;
    policy.batch_events_max = 1 + static_cast<std::uint32_t>(random.Below(5));
    const bool whole = random.OneIn(2);
    Open(policy, whole);
    std::map<std::string, std::uint64_t> written;
    std::map<std::string, std::uint64_t> seen;
    std::map<std::string, std::set<std::uint64_t>> dead;
    std::map<std::uint64_t, int> open;  // events of each position
    std::map<std::string, std::uint64_t> position_of;
    std::vector<Batch> under_way;
    const auto settle = [&](const std::string& name) { --open[position_of.at(name)]; };
    const auto drain = [&] {
      DeliveryQueue::Settled settled = queue_->TakeSettled();
      for (const DeadLetter& letter : settled.died) {
        const std::string run = letter.run_id.value();
        ASSERT_TRUE(dead[run].insert(letter.seq.value()).second);
        settle(run + std::to_string(letter.seq.value()));
      }
      for (const auto& [position, events] : open) {
        if (events == 0) continue;
        ASSERT_LT(settled.position.value(), position) << "seed " << seed;
      }
    };
    for (int step = 0; step < 1'000; ++step) {
      const bool calm = step > 300;
      if (!calm && random.OneIn(3)) {
        const std::string run(1, static_cast<char>('a' + random.Below(4)));
        // A held run gets no new events; the reader ensures that.
        if (policy.later == LaterEvents::kHold && !dead[run].empty()) continue;
        std::vector<std::uint64_t> seqs;
        for (std::uint64_t i = 0; i <= random.Below(3); ++i) seqs.push_back(++written[run]);
        Commit(run, seqs);
        for (const std::uint64_t seq : seqs) {
          position_of[run + std::to_string(seq)] = position_;
          ++open[position_];
        }
      }
      if (auto batch = queue_->Take(now_)) under_way.push_back(*batch);
      if (!under_way.empty() && random.OneIn(2)) {
        const std::size_t pick = random.Below(under_way.size());
        const Batch batch = under_way[pick];
        under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(pick));
        std::vector<Verdict> verdicts;
        const auto fate = [&] {
          const std::uint64_t dice = calm ? 0 : random.Below(4);
          return dice < 2 ? Verdict::kDelivered
                          : (dice == 2 ? Verdict::kRefused : Verdict::kUnavailable);
        };
        const Verdict all = fate();
        for (const QueuedEvent* event : batch.events) {
          verdicts.push_back(whole ? all : fate());
          if (verdicts.back() != Verdict::kDelivered) continue;
          const std::string run = event->run_id.value();
          std::uint64_t next = seen[run] + 1;
          while (dead[run].contains(next)) ++next;
          ASSERT_EQ(event->seq.value(), next) << "seed " << seed;
          seen[run] = next;
          settle(NameOf(*event));
        }
        Report(batch, verdicts);
        drain();
      }
      now_ += milliseconds(random.Below(200));
    }
    drain();
    if (under_way.empty()) {
      ASSERT_EQ(queue_->waiting(), 0U) << "seed " << seed;
      ASSERT_EQ(Position_(), position_) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace everstep
