#include "machine/machine.h"

#include <gtest/gtest.h>

#include "testing/given_events.h"

namespace everstep {
namespace {

using enum EventType;
using Run = RunStatus;
using Is = EntityStatus;
using Code = ErrorCode;

const Timestamp kNoon = FromMicros(1'770'811'200'000'000);

// ---- run

TEST(RunLifecycle, BeginsQueuedApprovedOrStarted) {
  Given({}).When({kRunQueued}).Then(Run::kPending);
  Given({}).When({kRunApproved}).Then(Run::kApproved);
  Given({}).When({kRunStarted}).Then(Run::kRunning);
  Given({}).When({kRunCompleted}).Then(Code::kRunNotFound);
  Given({}).When({kStepScheduled, "s1"}).Then(Code::kRunNotFound);
}

TEST(RunLifecycle, IsQueuedOnce) {
  Given({{kRunQueued}}).When({kRunQueued}).Then(Code::kRunAlreadyExists);
  Given({{kRunStarted}}).When({kRunQueued}).Then(Code::kRunAlreadyExists);
  Given({{kRunStarted}, {kRunFailed}}).When({kRunQueued}).Then(Code::kRunTerminal);
}

TEST(RunLifecycle, StartsFromPendingOrApprovedAndOnlyOnce) {
  Given({{kRunQueued}}).When({kRunStarted}).Then(Run::kRunning);
  Given({{kRunQueued}, {kRunApproved}}).When({kRunStarted}).Then(Run::kRunning);
  Given({{kRunStarted}}).When({kRunStarted}).Then(Code::kInvalidTransition);
}

TEST(RunLifecycle, CompletesOnlyWhileRunning) {
  Given({{kRunStarted}}).When({kRunCompleted}).Then(Run::kCompleted);
  Given({{kRunQueued}}).When({kRunCompleted}).Then(Code::kRunNotStarted);
  Given({{kRunStarted}, {kRunPaused}}).When({kRunCompleted}).Then(Code::kRunPaused);
}

TEST(RunLifecycle, RemembersWhereAndWhenItStarted) {
  Fact started(kRunStarted);
  started.EngineAttempt(3).event().facts.engine_run_ref = "temporal:wf-1";
  const auto at_emission = Given({{kRunQueued}}).When(started).run();
  EXPECT_EQ(at_emission.engine_run_ref, "temporal:wf-1");
  EXPECT_EQ(at_emission.engine_attempt, 3u);
  EXPECT_EQ(at_emission.created_at, PersistedAt(1));
  EXPECT_EQ(at_emission.updated_at, PersistedAt(2));
  EXPECT_EQ(at_emission.started_at, EmittedAt(2));
  EXPECT_EQ(at_emission.completed_at, Timestamp{});

  started.event().facts.started_at = kNoon;
  EXPECT_EQ(Given({{kRunQueued}}).When(started).run().started_at, kNoon);
}

TEST(RunLifecycle, RemembersHowItEnded) {
  const auto failed = Given({{kRunStarted}})
                          .When(Fact(kRunFailed).Error("E42", "no disk"))
                          .Then(Run::kFailed)
                          .run();
  EXPECT_EQ(failed.error_code, "E42");
  EXPECT_EQ(failed.error_message, "no disk");
  EXPECT_EQ(failed.completed_at, EmittedAt(2));
  const auto completed = Given({{kRunStarted}}).When(Fact(kRunCompleted).Artifacts("[{}]")).run();
  EXPECT_EQ(completed.artifacts, "[{}]");
}

// ---- step

TEST(StepLifecycle, GoesFromScheduledOverStartedToSuccess) {
  auto run = Given({{kRunStarted}});
  run.When({kStepScheduled, "s1"}).Then(Is::kPending);
  run.When({kStepStarted, "s1"}).Then(Is::kRunning);
  run.When(Fact(kStepCompleted, "s1").Artifacts("[1]")).Then(Is::kSuccess);
  const EntityState step = run.entity();
  EXPECT_EQ(step.started_at, EmittedAt(3));
  EXPECT_EQ(step.completed_at, EmittedAt(4));
  EXPECT_EQ(step.artifacts, "[1]");
  EXPECT_EQ(step.first_seq, EventSeq(2));
  EXPECT_EQ(step.last_seq, EventSeq(4));
  EXPECT_EQ(step.occurrences, 3u);
  EXPECT_EQ(step.starts, 1u);
}

TEST(StepLifecycle, MayEndWithoutHavingStarted) {
  Given({{kRunStarted}, {kStepScheduled, "s1"}}).When({kStepCompleted, "s1"}).Then(Is::kSuccess);
  Given({{kRunStarted}, {kStepScheduled, "s1"}}).When({kStepFailed, "s1"}).Then(Is::kFailed);
  Given({{kRunStarted}}).When({kStepCompleted, "s1"}).Then(Code::kStepNotFound);
  Given({{kRunStarted}}).When({kStepFailed, "s1"}).Then(Code::kStepNotFound);
}

TEST(StepLifecycle, ARetryIsTheNextAttemptAndClearsTheFailure) {
  auto run =
      Given({{kRunStarted},
             {kStepStarted, "s1"},
             Fact(kStepFailed, "s1").WillRetry().Retryable().Error("E1", "timeout").DueAt(kNoon)});
  const EntityState failed = run.entity({EntityKind::kStep, "s1"});
  EXPECT_TRUE(failed.will_retry);
  EXPECT_TRUE(failed.retryable);
  EXPECT_EQ(failed.error_code, "E1");
  EXPECT_EQ(failed.due_at, kNoon);
  EXPECT_EQ(failed.completed_at, EmittedAt(3));

  run.When(Fact(kStepScheduled, "s1").Attempt(2)).Then(Is::kPending);
  EXPECT_EQ(run.entity().due_at, kNoon) << "it still must not start earlier";
  run.When(Fact(kStepStarted, "s1").Attempt(2)).Then(Is::kRunning);
  const EntityState again = run.entity();
  EXPECT_FALSE(again.will_retry);
  EXPECT_FALSE(again.retryable);
  EXPECT_EQ(again.error_code, "");
  EXPECT_EQ(again.error_message, "");
  EXPECT_EQ(again.completed_at, Timestamp{});
  EXPECT_EQ(again.due_at, Timestamp{});
  EXPECT_EQ(again.started_at, EmittedAt(2)) << "the first start stays";
  EXPECT_EQ(again.logical_attempt, 2u);
  EXPECT_EQ(again.starts, 2u);
}

TEST(StepLifecycle, AStartWithinTheAttemptIsAPhysicalRestart) {
  auto run = Given({{kRunStarted}, {kStepStarted, "s1"}});
  run.When(Fact(kStepStarted, "s1").EngineAttempt(2)).Then(Is::kRunning);
  EXPECT_EQ(run.entity().starts, 2u);
  EXPECT_EQ(run.entity().engine_attempt, 2u);
  EXPECT_EQ(run.entity().logical_attempt, 1u);
  run.When(Fact(kStepCompleted, "s1").EngineAttempt(1)).Then(Is::kSuccess);
  EXPECT_EQ(run.entity().engine_attempt, 2u) << "a late report does not decrease it";
}

TEST(StepLifecycle, ADelayKeepsItPendingUntilItsTime) {
  auto run = Given({{kRunStarted}}).When(Fact(kStepDelayed, "s1").DueAt(kNoon)).Then(Is::kPending);
  EXPECT_EQ(run.entity().due_at, kNoon);
  run.When(Fact(kStepDelayed, "s1").DueAt(kNoon + std::chrono::hours(1))).Then(Is::kPending);
  EXPECT_EQ(run.entity().due_at, kNoon + std::chrono::hours(1));
  run.When({kStepScheduled, "s1"}).Then(Code::kInvalidTransition);
  run.When({kStepStarted, "s1"}).Then(Is::kRunning);
  run.When({kStepDelayed, "s1"}).Then(Code::kInvalidTransition);
}

TEST(StepLifecycle, MayBeSkippedBeforeItRunsOrAfterAFailure) {
  Given({{kRunStarted}}).When({kStepSkipped, "s1"}).Then(Is::kSkipped);
  Given({{kRunQueued}, {kStepScheduled, "s1"}}).When({kStepSkipped, "s1"}).Then(Is::kSkipped);
  Given({{kRunStarted}, {kStepStarted, "s1"}})
      .When({kStepSkipped, "s1"})
      .Then(Code::kInvalidTransition);
}

TEST(StepLifecycle, ASuccessRunsAgainOnlyAsARevisit) {
  const std::vector<Fact> succeeded = {
      {kRunStarted}, {kStepStarted, "s1"}, Fact(kStepCompleted, "s1").Artifacts("[1]")};
  Given(succeeded).When(Fact(kStepStarted, "s1").Attempt(2)).Then(Code::kStepTerminal);
  Given(succeeded).When(Fact(kStepStarted, "s1").Revisit()).Then(Code::kStepTerminal);
  auto run =
      Given(succeeded).When(Fact(kStepStarted, "s1").Attempt(2).Revisit()).Then(Is::kRunning);
  EXPECT_EQ(run.entity().artifacts, "");
  EXPECT_EQ(run.run().steps_succeeded, 0u);
  EXPECT_EQ(run.run().steps_running, 1u);
}

TEST(StepLifecycle, NeedsAStartedRunToRunButNotToBeScheduled) {
  Given({{kRunQueued}}).When({kStepScheduled, "s1"}).Then(Is::kPending);
  Given({{kRunApproved}}).When({kStepDelayed, "s1"}).Then(Is::kPending);
  Given({{kRunQueued}}).When({kStepStarted, "s1"}).Then(Code::kRunNotStarted);
  Given({{kRunQueued}}).When({kStepCompleted, "s1"}).Then(Code::kRunNotStarted);
  Given({{kRunApproved}}).When({kStepFailed, "s1"}).Then(Code::kRunNotStarted);
}

TEST(StepLifecycle, CountsAreThoseOfTheCurrentStatuses) {
  auto run = Given({{kRunStarted},
                    {kStepScheduled, "a"},
                    {kStepStarted, "b"},
                    {kStepStarted, "c"},
                    {kStepCompleted, "c"},
                    {kStepStarted, "d"},
                    Fact(kStepFailed, "d").WillRetry(),
                    {kStepSkipped, "e"}});
  const auto counts = [&run] {
    const RunState& s = run.run();
    return std::vector<std::uint64_t>{s.steps_total, s.steps_running, s.steps_succeeded,
                                      s.steps_failed, s.steps_skipped};
  };
  EXPECT_EQ(counts(), (std::vector<std::uint64_t>{5, 1, 1, 1, 1}));
  run.When(Fact(kStepStarted, "d").Attempt(2));
  EXPECT_EQ(counts(), (std::vector<std::uint64_t>{5, 2, 1, 0, 1}));
  run.When(Fact(kStepCompleted, "d").Attempt(2));
  EXPECT_EQ(counts(), (std::vector<std::uint64_t>{5, 1, 2, 0, 1}));
}

// ---- hook

TEST(HookLifecycle, TakesManyDeliveriesUntilItIsDisposed) {
  auto run = Given({{kRunStarted}});
  run.When(Fact(kHookCreated, "h1").Token("tok").Parent("s1")).Then(Is::kActive);
  EXPECT_EQ(run.entity().token, "tok");
  EXPECT_EQ(run.entity().parent_id, "s1");
  EXPECT_EQ(run.run().hooks_active, 1u);
  run.When({kHookReceived, "h1"}).Then(Is::kActive);
  run.When({kHookReceived, "h1"}).Then(Is::kActive);
  run.When({kHookDisposed, "h1"}).Then(Is::kDisposed);
  EXPECT_EQ(run.run().hooks_active, 0u);
  EXPECT_EQ(run.entity().occurrences, 4u);
  run.When({kHookReceived, "h1"}).Then(Code::kHookTerminal);
  run.When({kHookCreated, "h1"}).Then(Code::kHookTerminal);
}

TEST(HookLifecycle, ATakenTokenMakesAConflictThatIsFinal) {
  auto run =
      Given({{kRunStarted}}).When(Fact(kHookConflict, "h1").Token("t")).Then(Is::kConflicted);
  EXPECT_EQ(run.run().hooks_active, 0u);
  run.When({kHookReceived, "h1"}).Then(Code::kHookTerminal);
  run.When({kHookDisposed, "h1"}).Then(Code::kHookTerminal);
}

TEST(HookLifecycle, IsCreatedOnceAndBeforeItIsUsed) {
  Given({{kRunQueued}}).When({kHookCreated, "h1"}).Then(Is::kActive);
  Given({{kRunStarted}, {kHookCreated, "h1"}})
      .When({kHookCreated, "h1"})
      .Then(Code::kInvalidTransition);
  Given({{kRunStarted}}).When({kHookReceived, "h1"}).Then(Code::kHookNotFound);
  Given({{kRunStarted}}).When({kHookDisposed, "h1"}).Then(Code::kHookNotFound);
}

TEST(HookLifecycle, EndsWithItsRun) {
  auto run =
      Given({{kRunStarted}, {kHookCreated, "h1"}, {kHookCreated, "h2"}, {kHookDisposed, "h2"}})
          .When({kRunCancelled});
  const EntityState released = run.entity({EntityKind::kHook, "h1"});
  EXPECT_EQ(released.status, Is::kDisposed);
  EXPECT_EQ(released.completed_at, run.run().completed_at);
  EXPECT_EQ(run.entity({EntityKind::kHook, "h2"}).completed_at, EmittedAt(4)) << "unchanged";
  EXPECT_EQ(run.run().hooks_active, 0u);
}

// ---- wait

TEST(WaitLifecycle, ElapsesExactlyOnce) {
  auto run = Given({{kRunStarted}}).When(Fact(kWaitCreated, "w1").DueAt(kNoon)).Then(Is::kWaiting);
  EXPECT_EQ(run.entity().due_at, kNoon);
  EXPECT_EQ(run.run().waits_open, 1u);
  run.When({kWaitCreated, "w1"}).Then(Code::kInvalidTransition);
  run.When({kWaitCompleted, "w1"}).Then(Is::kElapsed);
  EXPECT_EQ(run.run().waits_open, 0u);
  run.When({kWaitCompleted, "w1"}).Then(Code::kWaitTerminal);
  run.When({kWaitCreated, "w1"}).Then(Code::kWaitTerminal);
  run.When({kWaitCompleted, "w2"}).Then(Code::kWaitNotFound);
}

TEST(WaitLifecycle, IsCancelledByTheEndOfItsRun) {
  auto run = Given({{kRunStarted}, {kWaitCreated, "w1"}}).When({kRunCompleted});
  EXPECT_EQ(run.entity({EntityKind::kWait, "w1"}).status, Is::kCancelled);
  EXPECT_EQ(run.entity({EntityKind::kWait, "w1"}).completed_at, run.run().completed_at);
  EXPECT_EQ(run.run().waits_open, 0u);
  run.When({kWaitCompleted, "w1"}).Then(Code::kRunTerminal);
}

// ---- signal

TEST(SignalLifecycle, IsDecidedOnce) {
  Given({{kRunQueued}}).When({kSignalAccepted, "g1"}).Then(Is::kAccepted);
  auto run = Given({{kRunStarted}}).When({kSignalRejected, "g1"}).Then(Is::kRejected);
  EXPECT_EQ(run.entity().completed_at, EmittedAt(2));
  run.When({kSignalAccepted, "g1"}).Then(Code::kSignalDuplicate);
  run.When({kSignalRejected, "g1"}).Then(Code::kSignalDuplicate);
}

TEST(SignalLifecycle, OnAnEndedRunOnlyRefusalsAndEscalationsAreRecorded) {
  auto run = Given({{kRunStarted}, {kRunCompleted}});
  run.When({kSignalAccepted, "g1"}).Then(Code::kRunTerminal);
  run.When(Fact(kSignalAccepted, "g2").Escalation()).Then(Is::kAccepted);
  run.When({kSignalRejected, "g3"}).Then(Is::kRejected);
  run.When({kSignalRejected, "g3"}).Then(Code::kSignalDuplicate);
}

// ---- child

TEST(ChildLifecycle, StartsOnceAndFinishesOnce) {
  auto run = Given({{kRunStarted}});
  run.When({kChildFinished, "c1"}).Then(Code::kChildNotFound);
  run.When({kChildStarted, "c1"}).Then(Is::kRunning);
  run.When({kChildStarted, "c1"}).Then(Code::kInvalidTransition);
  run.When({kChildFinished, "c1"}).Then(Is::kClosed);
  EXPECT_EQ(run.entity().started_at, EmittedAt(2));
  EXPECT_EQ(run.entity().completed_at, EmittedAt(3));
  run.When({kChildFinished, "c1"}).Then(Code::kChildTerminal);
  run.When({kChildStarted, "c1"}).Then(Code::kChildTerminal);
}

// ---- bookkeeping

TEST(Bookkeeping, IsOpenUntilEveryStartHasFinished) {
  auto run = Given({{kRunStarted}, {kLoopIterationStarted, "i"}});
  run.When({kLoopIterationStarted, "i"}).Then(Is::kOpen);
  EXPECT_EQ(run.entity().starts, 2u);
  run.When({kLoopIterationFinished, "i"}).Then(Is::kOpen);
  EXPECT_EQ(run.entity().completed_at, Timestamp{});
  run.When({kLoopIterationFinished, "i"}).Then(Is::kClosed);
  EXPECT_EQ(run.entity().starts, 0u);
  EXPECT_EQ(run.entity().started_at, EmittedAt(2));
  EXPECT_EQ(run.entity().completed_at, EmittedAt(5));
  run.When({kLoopIterationStarted, "i"}).Then(Is::kOpen);
  EXPECT_EQ(run.entity().completed_at, Timestamp{}) << "open again";
}

TEST(Bookkeeping, AFinishWithoutAStartIsRecorded) {
  Given({{kRunStarted}}).When({kToolProcessed, "t"}).Then(Is::kClosed);
  Given({{kRunStarted}}).When({kNextEvaluated, "n"}).Then(Is::kClosed);
  Given({{kRunStarted}, {kRunPaused}}).When({kContextUpdated, "v"}).Then(Is::kClosed);
}

TEST(Bookkeeping, NeedsAStartedRun) {
  Given({{kRunQueued}}).When({kToolStarted, "t"}).Then(Code::kRunNotStarted);
  Given({{kRunApproved}}).When({kContextUpdated, "v"}).Then(Code::kRunNotStarted);
}

TEST(Bookkeeping, AfterTheRunsEndOnlyOpenEntitiesMayFinish) {
  auto run = Given({{kRunStarted}, {kToolStarted, "t"}, {kChildStarted, "c"}, {kRunFailed}});
  run.When({kToolProcessed, "other"}).Then(Code::kRunTerminal);
  run.When({kToolStarted, "t"}).Then(Code::kRunTerminal);
  run.When({kToolProcessed, "t"}).Then(Is::kClosed);
  run.When({kToolProcessed, "t"}).Then(Code::kRunTerminal);
  run.When({kChildFinished, "c"}).Then(Is::kClosed);
  run.When({kChildFinished, "c"}).Then(Code::kRunTerminal);
}

// ---- all

TEST(Machine, EventsOfTheRunConcernNoEntity) {
  EXPECT_EQ(EntityOf(kRunPaused, "ignored"), std::nullopt);
  EXPECT_EQ(EntityOf(kStepStarted, "s1"), (EntityKey{EntityKind::kStep, "s1"}));
  EXPECT_EQ(EntityOf(kErrorRecorded, "E1"), (EntityKey{EntityKind::kError, "E1"}));
  EXPECT_EQ(EntityOf(static_cast<EventType>(200), "x"), std::nullopt);
}

TEST(Machine, KeepsTheHeadOfEachTypesChain) {
  const auto run = Given({{kRunStarted}, {kStepStarted, "a"}, {kStepStarted, "b"}}).run();
  EXPECT_EQ(run.last_of_type[static_cast<std::size_t>(kStepStarted)], EventSeq(3));
  EXPECT_EQ(run.last_of_type[static_cast<std::size_t>(kRunStarted)], EventSeq(1));
  EXPECT_EQ(run.last_of_type[static_cast<std::size_t>(kStepFailed)], EventSeq());
}

TEST(Machine, AnUnknownEventTypePassesAndChangesOnlyTheWatermark) {
  for (const int number : {0, kEventTypeCount + 1, 255}) {
    auto run = Given({{kRunStarted}, {kRunCompleted}});
    RunState before = run.run();
    run.When({static_cast<EventType>(number), "x"}).Then(Run::kCompleted);
    before.last_seq = EventSeq(3);
    before.updated_at = PersistedAt(3);
    EXPECT_EQ(run.run(), before);
  }
}

TEST(Machine, RejectionsSayWhatIsWrongAndWhatIsExpected) {
  auto run = Given({{kRunStarted}, {kStepStarted, "s1"}, Fact(kStepFailed, "s1")});
  EXPECT_EQ(
      run.When({kStepStarted, "s1"}).message(),
      "StepStarted of 's1' (attempt 1): the step is FAILED at attempt 1; this attempt has ended, "
      "a retry must use the next one.");
  EXPECT_EQ(run.When({kRunResumed}).message(),
            "RunResumed (attempt 1): the run is RUNNING; it must be PAUSED.");
  EXPECT_EQ(run.When({kHookReceived, "h9"}).message(),
            "HookReceived of 'h9' (attempt 1): the hook does not exist; HookCreated must come "
            "first.");
  run.When({kRunCompleted});
  EXPECT_EQ(
      run.When({kStepScheduled, "s2"}).message(),
      "StepScheduled of 's2' (attempt 1): the run is COMPLETED and the entity is ABSENT; after the "
      "end of a run only work in flight may finish.");
}

}  // namespace
}  // namespace everstep
