#include "machine/run_fold.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "testing/arbitrary_event.h"

namespace everstep {
namespace {

using enum EventType;
using Applied = RunFold::Applied;

Event At(std::uint64_t seq, EventType type, std::string entity_id = {}) {
  Event event;
  event.type = type;
  event.seq = EventSeq(seq);
  event.entity_id = std::move(entity_id);
  event.emitted_at = FromMicros(static_cast<std::int64_t>(seq) * 1000);
  event.persisted_at = FromMicros(static_cast<std::int64_t>(seq) * 1000 + 1);
  return event;
}

// A log with a few entities, in which most events are valid.
std::vector<Event> AnyLog() {
  const auto types = *rc::gen::container<std::vector<EventType>>(AnyEventType());
  std::vector<Event> log = {At(1, kRunStarted)};
  for (const EventType type : types) {
    Event event = At(log.size() + 1, type, *rc::gen::element<std::string>("a", "b"));
    event.logical_attempt = *rc::gen::inRange(1u, 4u);
    event.facts.will_retry = *rc::gen::arbitrary<bool>();
    event.facts.revisit = *rc::gen::arbitrary<bool>();
    log.push_back(event);
  }
  return log;
}

TEST(RunFold, HoldsTheRunAndItsEntitiesInOrder) {
  RunFold fold({"acme", "p", "e", "plan", "1"}, KeyVersion::kV2);
  EXPECT_EQ(fold.Apply(At(1, kRunStarted)), Applied::kApplied);
  EXPECT_EQ(fold.Apply(At(2, kWaitCreated, "w")), Applied::kApplied);
  EXPECT_EQ(fold.Apply(At(3, kStepStarted, "b")), Applied::kApplied);
  EXPECT_EQ(fold.Apply(At(4, kStepStarted, "a")), Applied::kApplied);
  EXPECT_EQ(fold.run().scope.tenant_id, "acme");
  EXPECT_EQ(fold.run().key_version, KeyVersion::kV2);
  EXPECT_EQ(fold.run().steps_running, 2u);
  std::vector<std::string> ids;
  for (const auto& [key, state] : fold.entities()) ids.push_back(key.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "b", "w"}));
}

TEST(RunFold, EntitiesAreIdentifiedByKindAndId) {
  RunFold fold;
  fold.Apply(At(1, kRunStarted));
  fold.Apply(At(2, kStepStarted, "x"));
  EXPECT_EQ(fold.Apply(At(3, kToolStarted, "x")), Applied::kApplied);
  EXPECT_EQ(fold.entities().size(), 2u);
}

TEST(RunFold, AnUnknownTypeAdvancesTheWatermarkOnly) {
  RunFold fold;
  fold.Apply(At(1, kRunStarted));
  RunState expected = fold.run();
  EXPECT_EQ(fold.Apply(At(2, static_cast<EventType>(99), "x")), Applied::kUnknownType);
  expected.last_seq = EventSeq(2);
  expected.updated_at = At(2, kRunStarted).persisted_at;
  EXPECT_EQ(fold.run(), expected);
  EXPECT_TRUE(fold.entities().empty());
}

TEST(RunFold, AnInvalidEventIsIgnoredAndMarksTheRun) {
  RunFold fold;
  fold.Apply(At(1, kRunStarted));
  RunState expected = fold.run();
  EXPECT_EQ(fold.Apply(At(2, kStepCompleted, "never-seen")), Applied::kInvalid);
  expected.last_seq = EventSeq(2);
  expected.updated_at = At(2, kRunStarted).persisted_at;
  expected.inconsistent = true;
  EXPECT_EQ(fold.run(), expected);
  EXPECT_TRUE(fold.entities().empty()) << "an invalid event creates no entity";
  EXPECT_EQ(fold.Apply(At(3, kRunCompleted)), Applied::kApplied) << "later events are applied";
}

TEST(RunFold, AnEventAtOrBeforeTheWatermarkIsIgnored) {
  RunFold fold;
  fold.Apply(At(3, kRunStarted));
  const RunState before = fold.run();
  EXPECT_EQ(fold.Apply(At(3, kRunCompleted)), Applied::kOutOfOrder);
  EXPECT_EQ(fold.Apply(At(1, static_cast<EventType>(99))), Applied::kOutOfOrder);
  EXPECT_EQ(fold.run(), before);
}

TEST(RunFold, AcceptsGaps) {
  RunFold fold;
  fold.Apply(At(1, kRunStarted));
  EXPECT_EQ(fold.Apply(At(9, kRunCompleted)), Applied::kApplied);
}

TEST(RunFold, TheEndOfTheRunReleasesHooksAndWaits) {
  for (const EventType end : {kRunCompleted, kRunFailed, kRunCancelled}) {
    RunFold fold;
    fold.Apply(At(1, kRunStarted));
    fold.Apply(At(2, kHookCreated, "h1"));
    fold.Apply(At(3, kHookCreated, "h2"));
    fold.Apply(At(4, kWaitCreated, "w1"));
    fold.Apply(At(5, kWaitCreated, "w2"));
    fold.Apply(At(6, kWaitCompleted, "w2"));
    fold.Apply(At(7, kStepStarted, "s1"));
    EXPECT_EQ(fold.Apply(At(8, end)), Applied::kApplied);
    std::map<std::string, EntityStatus> statuses;
    for (const auto& [key, state] : fold.entities()) statuses[key.id] = state.status;
    EXPECT_EQ(statuses, (std::map<std::string, EntityStatus>{{"h1", EntityStatus::kDisposed},
                                                             {"h2", EntityStatus::kDisposed},
                                                             {"s1", EntityStatus::kRunning},
                                                             {"w1", EntityStatus::kCancelled},
                                                             {"w2", EntityStatus::kElapsed}}));
    EXPECT_EQ(fold.run().hooks_active, 0u);
    EXPECT_EQ(fold.run().waits_open, 0u);
  }
}

RC_GTEST_PROP(RunFold, ContinuingFromASnapshotGivesTheSameState, ()) {
  const std::vector<Event> log = AnyLog();
  RunFold whole;
  RunFold resumed;
  const auto stop = *rc::gen::inRange<std::size_t>(0, log.size());
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (i == stop) resumed = RunFold(resumed.run(), resumed.entities());
    RC_ASSERT(whole.Apply(log[i]) == resumed.Apply(log[i]));
  }
  RC_ASSERT(whole.run() == resumed.run());
  RC_ASSERT(whole.entities() == resumed.entities());
}

RC_GTEST_PROP(RunFold, ReplayingTheLogChangesNothing, ()) {
  const std::vector<Event> log = AnyLog();
  RunFold fold;
  for (const Event& event : log) fold.Apply(event);
  const RunState run = fold.run();
  const RunFold::Entities entities = fold.entities();
  for (const Event& event : log) RC_ASSERT(fold.Apply(event) == Applied::kOutOfOrder);
  RC_ASSERT(fold.run() == run);
  RC_ASSERT(fold.entities() == entities);
}

RC_GTEST_PROP(RunFold, MaintainedCountsAreCorrect, ()) {
  RunFold fold;
  for (const Event& event : AnyLog()) {
    fold.Apply(event);
    std::map<std::pair<EntityKind, EntityStatus>, std::uint64_t> counted;
    std::uint64_t steps = 0;
    for (const auto& [key, state] : fold.entities()) {
      ++counted[{key.kind, state.status}];
      if (key.kind == EntityKind::kStep) ++steps;
    }
    const RunState& run = fold.run();
    RC_ASSERT(run.steps_total == steps);
    RC_ASSERT(run.steps_running == (counted[{EntityKind::kStep, EntityStatus::kRunning}]));
    RC_ASSERT(run.steps_succeeded == (counted[{EntityKind::kStep, EntityStatus::kSuccess}]));
    RC_ASSERT(run.steps_failed == (counted[{EntityKind::kStep, EntityStatus::kFailed}]));
    RC_ASSERT(run.steps_skipped == (counted[{EntityKind::kStep, EntityStatus::kSkipped}]));
    RC_ASSERT(run.hooks_active == (counted[{EntityKind::kHook, EntityStatus::kActive}]));
    RC_ASSERT(run.waits_open == (counted[{EntityKind::kWait, EntityStatus::kWaiting}]));
    RC_ASSERT(run.errors_open == (counted[{EntityKind::kError, EntityStatus::kOpen}]) +
                                     (counted[{EntityKind::kError, EntityStatus::kUnrecoverable}]));
  }
}

}  // namespace
}  // namespace everstep
