#include <gtest/gtest.h>

#include "testing/given_events.h"

namespace everstep {
namespace {

using enum EventType;

EventWrite Order(EventType type, std::string entity_id = {}) {
  EventWrite write;
  write.type = type;
  write.entity_id = std::move(entity_id);
  return write;
}

const std::vector<Fact> kRunning = {{kRunStarted}, Fact(kStepStarted, "s1").Attempt(2)};
const std::vector<Fact> kWillRetry = {
    {kRunStarted}, {kStepStarted, "s1"}, Fact(kStepFailed, "s1").WillRetry()};
const std::vector<Fact> kExhausted = {{kRunStarted}, {kStepStarted, "s1"}, {kStepFailed, "s1"}};
const std::vector<Fact> kSucceeded = {{kRunStarted}, {kStepStarted, "s1"}, {kStepCompleted, "s1"}};

std::uint32_t AttemptOf(const std::vector<Fact>& history, const EventWrite& write) {
  return Given(history).Resolved(write).logical_attempt;
}

TEST(Resolve, KeepsWhatTheWriterSpecified) {
  EventWrite write = Order(kStepFailed, "s1");
  write.parent_id = "loop";
  write.logical_attempt = 4;
  write.engine_attempt = 7;
  write.emitted_at = EmittedAt(9);
  write.emitted_by = "worker-1";
  write.facts.error_code = "E1";
  write.payload = R"({"a":1})";
  write.attributes = R"({"b":2})";
  const Event event = Given(kRunning).Resolved(write);
  EXPECT_EQ(event.type, kStepFailed);
  EXPECT_EQ(event.parent_id, "loop");
  EXPECT_EQ(event.logical_attempt, 4u);
  EXPECT_EQ(event.engine_attempt, 7u);
  EXPECT_EQ(event.emitted_at, write.emitted_at);
  EXPECT_EQ(event.emitted_by, "worker-1");
  EXPECT_EQ(event.facts, write.facts);
  EXPECT_EQ(event.payload, write.payload);
  EXPECT_EQ(event.attributes, write.attributes);
  EXPECT_EQ(event.seq, EventSeq());
}

TEST(Resolve, AnUnspecifiedAttemptIsTheStepsCurrentOne) {
  EXPECT_EQ(AttemptOf({{kRunStarted}}, Order(kStepScheduled, "s1")), 1u);
  EXPECT_EQ(AttemptOf(kRunning, Order(kStepCompleted, "s1")), 2u);
  EXPECT_EQ(AttemptOf(kSucceeded, Order(kStepStarted, "s1")), 1u);
}

TEST(Resolve, AnAnnouncedRetryIsTheNextAttempt) {
  for (const EventType type : {kStepScheduled, kStepStarted, kStepSkipped}) {
    EXPECT_EQ(AttemptOf(kWillRetry, Order(type, "s1")), 2u);
    EXPECT_EQ(AttemptOf(kExhausted, Order(type, "s1")), 1u) << "no retry was announced";
  }
  EXPECT_EQ(AttemptOf(kWillRetry, Order(kStepCompleted, "s1")), 1u);
  EXPECT_EQ(AttemptOf(kWillRetry, Order(kStepDelayed, "s1")), 1u);
}

TEST(Resolve, ARevisitOpensTheNextAttemptOfAStepThatHasEnded) {
  for (const EventType type : {kStepScheduled, kStepStarted}) {
    EventWrite write = Order(type, "s1");
    write.revisit = true;
    const Event again = Given(kSucceeded).Resolved(write);
    EXPECT_EQ(again.logical_attempt, 2u);
    EXPECT_TRUE(again.facts.revisit);
    const Event after_failure = Given(kExhausted).Resolved(write);
    EXPECT_EQ(after_failure.logical_attempt, 2u);
    EXPECT_FALSE(after_failure.facts.revisit) << "a failed step needs no permission to run again";
    EXPECT_FALSE(Given(kRunning).Resolved(write).facts.revisit);
    write.logical_attempt = 2;
    EXPECT_TRUE(Given(kSucceeded).Resolved(write).facts.revisit);
    write.logical_attempt = 1;
    EXPECT_FALSE(Given(kSucceeded).Resolved(write).facts.revisit);
  }
  EventWrite completed = Order(kStepCompleted, "s1");
  completed.revisit = true;
  EXPECT_EQ(AttemptOf(kSucceeded, completed), 1u);
}

TEST(Resolve, TheWriterCannotSetTheRevisitFactItself) {
  EventWrite write = Order(kStepStarted, "s1");
  write.logical_attempt = 2;
  write.facts.revisit = true;
  EXPECT_FALSE(Given(kSucceeded).Resolved(write).facts.revisit);
}

TEST(Resolve, AStartOfARunningStepIsTheNextEngineAttempt) {
  const std::vector<Fact> running = {{kRunStarted}, Fact(kStepStarted, "s1").EngineAttempt(3)};
  EXPECT_EQ(Given(running).Resolved(Order(kStepStarted, "s1")).engine_attempt, 4u);
  EXPECT_EQ(Given(running).Resolved(Order(kStepCompleted, "s1")).engine_attempt, 3u);
  EXPECT_EQ(Given(running).Resolved(Order(kStepStarted, "s2")).engine_attempt, 1u);
}

TEST(Resolve, EachFurtherStartOfARunningStepHasANewInstance) {
  auto run = Given({{kRunStarted}, {kStepStarted, "s1"}, {kStepStarted, "s1"}});
  EXPECT_EQ(run.Resolved(Order(kStepStarted, "s1")).instance_id, "s1#3");
  EXPECT_EQ(run.Resolved(Order(kStepCompleted, "s1")).instance_id, "");
}

TEST(Resolve, EventsOfTheRunAreAttemptOne) {
  EXPECT_EQ(AttemptOf({}, Order(kRunQueued)), 1u);
  EXPECT_EQ(AttemptOf(kRunning, Order(kRunCompleted)), 1u);
  EXPECT_EQ(AttemptOf(kRunning, Order(kRunResumed)), 1u) << "even without a pause to end";
  const std::vector<Fact> started = {Fact(kRunStarted).EngineAttempt(2)};
  EXPECT_EQ(Given(started).Resolved(Order(kRunCompleted)).engine_attempt, 2u);
}

TEST(Resolve, OtherEntitiesKeepTheAttemptTheyHave) {
  const std::vector<Fact> waiting = {{kRunStarted}, Fact(kWaitCreated, "w1").Attempt(3)};
  EXPECT_EQ(AttemptOf(waiting, Order(kWaitCompleted, "w1")), 3u);
  EXPECT_EQ(AttemptOf(waiting, Order(kWaitCreated, "w2")), 1u);
}

TEST(Resolve, TheMachineAcceptsResolvedEvents) {
  auto run = Given({});
  const auto append = [&run](const EventWrite& write) {
    Fact fact(write.type);
    fact.event() = run.Resolved(write);
    run.When(fact);
    return run.message();
  };
  EventWrite failed = Order(kStepFailed, "s1");
  failed.facts.will_retry = true;
  EventWrite revisit = Order(kStepScheduled, "s1");
  revisit.revisit = true;
  for (const EventWrite& write :
       {Order(kRunQueued), Order(kRunStarted), Order(kStepScheduled, "s1"),
        Order(kStepStarted, "s1"), Order(kStepStarted, "s1"), failed, Order(kStepStarted, "s1"),
        Order(kRunPaused), Order(kStepCompleted, "s1"), Order(kRunResumed), revisit,
        Order(kStepStarted, "s1"), Order(kRunPaused), Order(kRunResumed),
        Order(kStepCompleted, "s1"), Order(kRunCompleted)}) {
    EXPECT_EQ(append(write), "");
  }
  EXPECT_EQ(run.entity({EntityKind::kStep, "s1"}).logical_attempt, 3u);
  EXPECT_EQ(run.run().pause_epoch, 2u);
}

}  // namespace
}  // namespace everstep
