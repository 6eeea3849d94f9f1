#include <gtest/gtest.h>

#include <set>

#include "testing/given_events.h"

// The rules of docs/decisions.md that concern the log. Each has a test suite named by its number.

namespace everstep {
namespace {

using enum EventType;
using Run = RunStatus;
using Is = EntityStatus;
using Code = ErrorCode;

EventWrite Order(EventType type, std::string entity_id = {}) {
  EventWrite write;
  write.type = type;
  write.entity_id = std::move(entity_id);
  return write;
}

TEST(DesignRule02, EachPauseIsAnAttemptOfItsOwn) {
  auto run = Given({{kRunStarted}});
  EXPECT_EQ(run.Resolved(Order(kRunPaused)).logical_attempt, 1u);
  run.When(Fact(kRunPaused).Attempt(1)).Then(Run::kPaused);
  EXPECT_EQ(run.Resolved(Order(kRunResumed)).logical_attempt, 1u);
  run.When(Fact(kRunResumed).Attempt(1)).Then(Run::kRunning);
  EXPECT_EQ(run.Resolved(Order(kRunPaused)).logical_attempt, 2u);
  run.When(Fact(kRunPaused).Attempt(1)).Then(Code::kInvalidTransition);
  run.When(Fact(kRunPaused).Attempt(3)).Then(Code::kInvalidTransition);
  run.When(Fact(kRunPaused).Attempt(2)).Then(Run::kPaused);
  run.When(Fact(kRunResumed).Attempt(1)).Then(Code::kInvalidTransition);
  run.When(Fact(kRunResumed).Attempt(2)).Then(Run::kRunning);
}

TEST(DesignRule02, RepeatableEventsHaveTheirOwnInstance) {
  const auto run = Given({{kRunStarted}, {kStepStarted, "s1"}});
  std::set<EventType> repeating;
  for (int number = 1; number <= kEventTypeCount; ++number) {
    EventWrite write = Order(static_cast<EventType>(number), "x");
    write.event_id = "evt-9";
    const Event event = run.Resolved(write);
    if (event.instance_id.empty()) continue;
    EXPECT_EQ(event.instance_id, "x/evt-9") << number;
    repeating.insert(event.type);
  }
  EXPECT_EQ(
      repeating,
      (std::set{kStepDelayed, kToolStarted, kToolProcessed, kLoopStarted, kLoopIterationStarted,
                kLoopIterationFinished, kLoopFinished, kCaseStarted, kCaseEvaluated, kNextEvaluated,
                kRetryStarted, kRetryProcessed, kSinkStarted, kSinkProcessed, kContextUpdated,
                kHookReceived, kErrorRecorded, kErrorResolved, kErrorUnrecoverable}));
}

TEST(DesignRule02, APlainStepKeepsTheContractsKeyAndAPhysicalRestartGetsItsOwn) {
  const auto fresh = Given({{kRunStarted}});
  EXPECT_EQ(fresh.Resolved(Order(kStepStarted, "s1")).instance_id, "");
  const auto running = Given({{kRunStarted}, {kStepStarted, "s1"}});
  EXPECT_EQ(running.Resolved(Order(kStepStarted, "s1")).instance_id, "s1#2");
  EventWrite with_attempt = Order(kStepStarted, "s1");
  with_attempt.logical_attempt = 1;
  EXPECT_EQ(running.Resolved(with_attempt).instance_id, "") << "the same key: a duplicate";
}

TEST(DesignRule05, TerminalIsFinal) {
  for (const EventType end : {kRunCompleted, kRunFailed, kRunCancelled}) {
    for (const EventType next : {kRunQueued, kRunApproved, kRunStarted, kRunPaused, kRunResumed,
                                 kRunCompleted, kRunFailed, kRunCancelled}) {
      auto run = Given({{kRunStarted}, {end}}).When({next}).Then(Code::kRunTerminal);
      EXPECT_EQ(run.run().last_seq, EventSeq(2));
    }
  }
  for (const EventType end : {kStepCompleted, kStepSkipped}) {
    for (const EventType next :
         {kStepScheduled, kStepStarted, kStepFailed, kStepCompleted, kStepSkipped, kStepDelayed}) {
      Given({{kRunStarted}, {kStepScheduled, "s1"}, {end, "s1"}})
          .When({next, "s1"})
          .Then(Code::kStepTerminal);
    }
  }
}

TEST(DesignRule05, AnInvalidStoredEventIsIgnoredAndMarked) {
  RunFold fold;
  const auto apply = [&fold](EventType type, std::uint64_t seq) {
    Event event;
    event.type = type;
    event.seq = EventSeq(seq);
    return fold.Apply(event);
  };
  EXPECT_EQ(apply(kRunStarted, 1), RunFold::Applied::kApplied);
  EXPECT_EQ(apply(kRunCompleted, 2), RunFold::Applied::kApplied);
  EXPECT_FALSE(fold.run().inconsistent);
  EXPECT_EQ(apply(kRunCancelled, 3), RunFold::Applied::kInvalid);
  EXPECT_EQ(fold.run().status, Run::kCompleted);
  EXPECT_EQ(fold.run().last_seq, EventSeq(3));
  EXPECT_TRUE(fold.run().inconsistent);
}

TEST(DesignRule06, AttemptsCountFromOne) {
  Given({{kRunStarted}}).When(Fact(kStepStarted, "s1").Attempt(0)).Then(Code::kInvalidTransition);
  Given({{kRunStarted}})
      .When(Fact(kStepStarted, "s1").EngineAttempt(0))
      .Then(Code::kInvalidTransition);
  const Event event = Given({{kRunStarted}}).Resolved(Order(kStepStarted, "s1"));
  EXPECT_EQ(event.logical_attempt, 1u);
  EXPECT_EQ(event.engine_attempt, 1u);
}

TEST(DesignRule06, AnEarlierAttemptIsStale) {
  auto run = Given({{kRunStarted},
                    {kStepStarted, "s1"},
                    {kStepFailed, "s1"},
                    Fact(kStepStarted, "s1").Attempt(2)});
  run.When(Fact(kStepCompleted, "s1").Attempt(1)).Then(Code::kStepAttemptStale);
  run.When(Fact(kStepCompleted, "s1").Attempt(3)).Then(Code::kInvalidTransition);
  run.When(Fact(kStepCompleted, "s1").Attempt(2)).Then(Is::kSuccess);
}

TEST(DesignRule06, StepSuccessIsCalledSuccess) {
  Given({{kRunStarted}, {kStepStarted, "s1"}}).When({kStepCompleted, "s1"}).Then(Is::kSuccess);
  EXPECT_EQ(Name(Is::kSuccess), "SUCCESS");
}

TEST(DesignRule07, ApprovalIsAStageThatMayBeLeftOut) {
  Given({{kRunQueued}}).When({kRunApproved}).Then(Run::kApproved);
  Given({{kRunQueued}, {kRunApproved}}).When({kRunStarted}).Then(Run::kRunning);
  Given({{kRunQueued}}).When({kRunStarted}).Then(Run::kRunning);
  Given({{kRunStarted}}).When({kRunApproved}).Then(Code::kInvalidTransition);
}

TEST(DesignRule07, ARunThatHasNotStartedMayFailOrBeCancelled) {
  Given({{kRunQueued}}).When({kRunFailed}).Then(Run::kFailed);
  Given({{kRunQueued}}).When({kRunCancelled}).Then(Run::kCancelled);
  Given({{kRunApproved}}).When({kRunFailed}).Then(Run::kFailed);
  Given({{kRunApproved}}).When({kRunCancelled}).Then(Run::kCancelled);
}

TEST(DesignRule08, APausedRunBeginsNoStep) {
  const std::vector<Fact> paused = {
      {kRunStarted},          {kStepStarted, "failed"}, {kStepFailed, "failed"},
      {kStepStarted, "done"}, {kStepCompleted, "done"}, {kRunPaused}};
  Given(paused).When({kStepScheduled, "new"}).Then(Code::kRunPaused);
  Given(paused).When({kStepDelayed, "new"}).Then(Code::kRunPaused);
  Given(paused).When({kStepStarted, "new"}).Then(Code::kRunPaused);
  Given(paused).When(Fact(kStepStarted, "failed").Attempt(2)).Then(Code::kRunPaused);
  Given(paused).When(Fact(kStepStarted, "done").Attempt(2).Revisit()).Then(Code::kRunPaused);
  Given(paused).When({kStepSkipped, "new"}).Then(Is::kSkipped);
  auto resumed = Given(paused).When({kRunResumed}).Then(Run::kRunning);
  resumed.When({kStepScheduled, "new"}).Then(Is::kPending);
}

TEST(DesignRule08, WorkInFlightFinishesWhilePaused) {
  auto run = Given({{kRunStarted},
                    {kStepScheduled, "queued"},
                    {kStepStarted, "a"},
                    {kStepStarted, "b"},
                    {kWaitCreated, "w"},
                    {kHookCreated, "h"},
                    {kRunPaused}});
  EXPECT_EQ(run.run().steps_running, 2u) << "draining";
  run.When({kStepStarted, "queued"}).Then(Is::kRunning);
  run.When({kStepCompleted, "queued"}).Then(Is::kSuccess);
  run.When({kStepCompleted, "a"}).Then(Is::kSuccess);
  run.When(Fact(kStepStarted, "b").EngineAttempt(2)).Then(Is::kRunning);
  run.When({kStepFailed, "b"}).Then(Is::kFailed);
  EXPECT_EQ(run.run().steps_running, 0u) << "drained";
  run.When({kWaitCompleted, "w"}).Then(Is::kElapsed);
  run.When({kHookReceived, "h"}).Then(Is::kActive);
  EXPECT_EQ(run.run().status, Run::kPaused);
}

TEST(DesignRule08, LateCompletionsOfAnEndedRunAreApplied) {
  auto run = Given({{kRunStarted},
                    {kStepStarted, "a"},
                    {kStepStarted, "b"},
                    {kStepScheduled, "c"},
                    {kRunCancelled}});
  run.When({kStepCompleted, "a"}).Then(Is::kSuccess);
  run.When({kStepFailed, "b"}).Then(Is::kFailed);
  run.When({kStepCompleted, "c"}).Then(Code::kRunTerminal);
  run.When({kStepFailed, "a"}).Then(Code::kRunTerminal);
  EXPECT_EQ(run.run().status, Run::kCancelled);
  EXPECT_EQ(run.run().steps_running, 0u);
}

TEST(DesignRule05, LateEventsAreAcceptedAfterTheEndAndDoNotChangeIt) {
  auto run = Given({{kRunStarted},
                    {kStepScheduled, "a"},
                    {kStepStarted, "b"},
                    Fact(kStepFailed, "b").WillRetry(),
                    {kRunCancelled}});
  const Timestamp ended = run.run().completed_at;
  run.When(Fact(kStepCompleted, "a").Late()).Then(Is::kSuccess);
  run.When(Fact(kStepStarted, "b").Attempt(2).Late()).Then(Is::kRunning);
  run.When(Fact(kStepStarted, "new").Late()).Then(Code::kRunTerminal);
  run.When(Fact(kRunCancelled).Late()).Then(Code::kRunTerminal);
  EventWrite cancel = Order(kRunCancelled);
  cancel.facts.late = true;
  EXPECT_EQ(run.Resolved(cancel).logical_attempt, 8u) << "its position in the log";
  run.When(Fact(kRunCancelled).Attempt(8).Late()).Then(Run::kCancelled);
  run.When(Fact(kRunCompleted).Late()).Then(Code::kRunTerminal);
  EXPECT_EQ(run.run().completed_at, ended);
  Given({{kRunStarted}, {kRunCompleted}}).When(Fact(kRunCancelled).Late()).Then(Code::kRunTerminal);
}

TEST(DesignRule09, AFailedStepHoldsTheRunUntilItIsRetriedOrSkipped) {
  const std::vector<Fact> held = {{kRunStarted}, {kStepStarted, "s1"}, {kStepFailed, "s1"}};
  EXPECT_EQ(Given(held).run().status, Run::kRunning);
  Given(held).When({kStepStarted, "s1"}).Then(Code::kStepTerminal);
  Given(held).When(Fact(kStepScheduled, "s1").Attempt(2)).Then(Is::kPending);
  Given(held).When(Fact(kStepStarted, "s1").Attempt(2)).Then(Is::kRunning);
  Given(held).When(Fact(kStepSkipped, "s1").Attempt(2)).Then(Is::kSkipped);
  Given(held).When(Fact(kStepStarted, "s1").Attempt(3)).Then(Code::kInvalidTransition);
  Given(held).When({kRunFailed}).Then(Run::kFailed);
}

TEST(DesignRule14, ParkingLeavesTheRunRunning) {
  auto run = Given({{kRunStarted}, {kStepStarted, "s1"}});
  run.When(Fact(kHookCreated, "h1").Token("task-token").Parent("s1")).Then(Run::kRunning);
  EXPECT_EQ(run.run().hooks_active, 1u);
  EXPECT_EQ(run.entity({EntityKind::kStep, "s1"}).status, Is::kRunning);
}

TEST(DesignRule15, ErrorsAreCountedAsDistinctOpenCodes) {
  auto run = Given({{kRunStarted}});
  run.When({kErrorResolved, "E1"}).Then(Code::kErrorNotOpen);
  run.When({kErrorUnrecoverable, "E1"}).Then(Code::kErrorNotOpen);
  run.When({kErrorRecorded, "E1"}).Then(Is::kOpen);
  run.When({kErrorRecorded, "E1"}).Then(Is::kOpen);
  EXPECT_EQ(run.run().errors_open, 1u) << "a second emission changes nothing";
  run.When({kErrorRecorded, "E2"}).Then(Is::kOpen);
  EXPECT_EQ(run.run().errors_open, 2u);
  run.When({kErrorUnrecoverable, "E1"}).Then(Is::kUnrecoverable);
  EXPECT_EQ(run.run().errors_open, 2u);
  run.When({kErrorUnrecoverable, "E1"}).Then(Code::kErrorNotOpen);
  run.When({kErrorResolved, "E1"}).Then(Is::kClosed);
  EXPECT_EQ(run.run().errors_open, 1u);
  EXPECT_EQ(run.entity().completed_at, EmittedAt(6));
  run.When({kErrorResolved, "E1"}).Then(Code::kErrorNotOpen);
  run.When({kErrorRecorded, "E1"}).Then(Is::kOpen);
  EXPECT_EQ(run.run().errors_open, 2u) << "reopened";
  run.When({kRunFailed});
  run.When({kErrorResolved, "E1"}).Then(Is::kClosed);
  run.When({kErrorResolved, "E2"}).Then(Is::kClosed);
  EXPECT_EQ(run.run().errors_open, 0u) << "also after the run's end";
}

TEST(DesignRule16, TheCallersIdsAreKept) {
  EventWrite write = Order(kStepStarted, "extract.orders:eu-1");
  write.event_id = "3f0c6b1e-9f5e-4d2c-8a57-0d9a6c1f2b3e";
  write.instance_id = "extract.orders:eu-1[7]";
  const auto run = Given({{kRunStarted}});
  Event event = run.Resolved(write);
  EXPECT_EQ(event.event_id, write.event_id);
  EXPECT_EQ(event.entity_id, write.entity_id);
  EXPECT_EQ(event.instance_id, write.instance_id);
  write.event_id.clear();
  EXPECT_EQ(run.Resolved(write).event_id, "fresh-id");
}

TEST(DesignRule17, OrderIsBySequenceAndNotByTime) {
  auto run = Given({{kRunStarted}, Fact(kStepStarted, "s1").EmittedAt(EmittedAt(500))});
  run.When(Fact(kStepCompleted, "s1").EmittedAt(EmittedAt(100)).PersistedAt(PersistedAt(501)))
      .Then(Is::kSuccess);
  EXPECT_EQ(run.entity().completed_at, EmittedAt(100)) << "by the writer's clock";
  EXPECT_EQ(run.run().updated_at, PersistedAt(501)) << "by the append authority's clock";
}

TEST(DesignRule17, AnEventBeforeTheWatermarkIsIgnored) {
  RunFold fold;
  Event event;
  event.type = kRunStarted;
  event.seq = EventSeq(5);
  EXPECT_EQ(fold.Apply(event), RunFold::Applied::kApplied);
  event.type = kRunCompleted;
  EXPECT_EQ(fold.Apply(event), RunFold::Applied::kOutOfOrder);
  event.seq = EventSeq(4);
  EXPECT_EQ(fold.Apply(event), RunFold::Applied::kOutOfOrder);
  EXPECT_EQ(fold.run().status, Run::kRunning);
  EXPECT_FALSE(fold.run().inconsistent);
}

}  // namespace
}  // namespace everstep
