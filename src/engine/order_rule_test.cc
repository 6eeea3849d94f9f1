#include "engine/order_rule.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/append_authority.h"
#include "engine/verify.h"
#include "testing/manual_clock.h"
#include "testing/orders.h"

namespace everstep {
namespace {

using enum EventType;

// Starts a step unless it has been started; the second attempt is rejected.
class StartOnce final : public OrderRule {
 public:
  explicit StartOnce(std::string instance) {
    start_ = Write("r", kStepStarted, "s");
    start_.instance_id = std::move(instance);
  }
  std::optional<EntityKey> About() const override { return EntityKey{EntityKind::kStep, "s"}; }
  const EventWrite* Mark() const override { return &start_; }
  Result<std::vector<EventWrite>> Decide(const RunState& run, const EntityState& step) override {
    if (run.status == RunStatus::kCompleted) return std::vector<EventWrite>();
    if (step.status != EntityStatus::kAbsent) {
      return Error{ErrorCode::kInvalidTransition, "already started", {}};
    }
    return std::vector{Write("r", kStepScheduled, "s"), start_};
  }
  void Decided(const StoredRun& run, const EntityState& step,
               std::span<const Event> events) override {
    run_ = run.state;
    step_ = step;
    recorded_ = events.size();
  }

  EventWrite start_;
  RunState run_;
  EntityState step_;
  std::size_t recorded_ = 99;
};

class OrderRuleTest : public testing::Test {
 protected:
  OrderRuleTest() { (void)Submit(Order("r", kRunStarted)); }

  Result<Placed> Submit(const AppendOrder& order) {
    return authority_.Await(authority_.Submit(std::span(&order, 1), DefaultScope())).front();
  }
  Result<Placed> Submit(StartOnce& rule) { return Submit({RunId("r"), {}, &rule}); }
  EventSeq LastSeq() { return (*store_->Read()->FindRun(RunId("r")))->state.last_seq; }

  ManualClock clock_;
  Random& random_ = SystemRandom();  // shared by concurrent appenders
  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  Committer committer_{*store_, clock_, {}};
  AppendAuthority authority_{*store_, committer_, clock_, random_, {}};
};

TEST_F(OrderRuleTest, DecidesTheEventsAndSeesTheResult) {
  StartOnce rule("s/1");
  const auto placed = Submit(rule);
  ASSERT_TRUE(placed) << ToString(placed.error());
  EXPECT_EQ(placed->seq, EventSeq(2));
  EXPECT_EQ(rule.recorded_, 2U);
  EXPECT_EQ(rule.step_.status, EntityStatus::kRunning);
  EXPECT_EQ(rule.run_.last_seq, EventSeq(3));
  EXPECT_EQ(LastSeq(), EventSeq(3));
}

TEST_F(OrderRuleTest, ARejectionWritesNothing) {
  StartOnce first("s/1");
  ASSERT_TRUE(Submit(first));
  StartOnce second("s/2");
  EXPECT_EQ(Submit(second).error().message, "already started");
  EXPECT_EQ(LastSeq(), EventSeq(3));
}

TEST_F(OrderRuleTest, ARepeatedOrderIsRecognizedByItsMark) {
  StartOnce rule("s/1");
  ASSERT_TRUE(Submit(rule));
  StartOnce again("s/1");
  const auto placed = Submit(again);
  ASSERT_TRUE(placed) << ToString(placed.error());
  EXPECT_TRUE(placed->duplicate);
  EXPECT_EQ(placed->seq, EventSeq(3));
  EXPECT_EQ(again.recorded_, 0U);
  EXPECT_EQ(again.step_.status, EntityStatus::kRunning);
  EXPECT_EQ(LastSeq(), EventSeq(3));
}

TEST_F(OrderRuleTest, ARuleMayDecideToWriteNothing) {
  ASSERT_TRUE(Submit(Order("r", kRunCompleted)));
  StartOnce rule("s/1");
  const auto placed = Submit(rule);
  ASSERT_TRUE(placed) << ToString(placed.error());
  EXPECT_EQ(placed->seq, EventSeq(2));
  EXPECT_EQ(rule.run_.status, RunStatus::kCompleted);
  EXPECT_EQ(rule.recorded_, 0U);
}

TEST_F(OrderRuleTest, ConcurrentOrdersHaveOneWinner) {
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      StartOnce rule("s/" + std::to_string(i));
      if (Submit(rule)) ++won;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(LastSeq(), EventSeq(3));
  const auto report = VerifyStore(*store_, {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->findings.empty());
}

}  // namespace
}  // namespace everstep
