#include "engine/projector.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace everstep {
namespace {

using enum EventType;

const RunIdentity kRun{
    RunId("run-1"), {"t1", "p1", "dev", "hello-world", "1.0.0"}, KeyVersion::kV2};

Event At(std::uint64_t seq, EventType type, std::string entity = "") {
  Event event;
  event.type = type;
  event.seq = EventSeq(seq);
  event.event_id = "e" + std::to_string(seq);
  event.entity_id = std::move(entity);
  event.emitted_at = *ParseTimestamp("2026-02-12T00:00:00.000Z") + std::chrono::milliseconds(seq);
  event.persisted_at = event.emitted_at;
  return event;
}

std::vector<Event> HelloWorld() {
  return {At(1, kRunQueued),           At(2, kRunStarted),        At(3, kStepStarted, "s1"),
          At(4, kStepCompleted, "s1"), At(5, kStepStarted, "s2"), At(6, kStepCompleted, "s2"),
          At(7, kRunCompleted)};
}

TEST(Projector, TheGoldenStreamHasTheContractsSnapshotHash) {
  const RunSnapshot snapshot = ProjectRun(kRun, HelloWorld()).Snapshot();
  EXPECT_EQ(SnapshotHash(snapshot),
            "7aecaa5ccc160b4e34ffbe5aee9b8d351fb1e549605f1cd0e6fe1a120730e072");
}

TEST(Projector, TheHashDependsOnEventTimes) {
  std::vector<Event> events = HelloWorld();
  events.erase(events.begin());
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].seq = EventSeq(i + 1);
    events[i].emitted_at -= std::chrono::milliseconds(1);
  }
  EXPECT_EQ(SnapshotHash(ProjectRun(kRun, events).Snapshot()),
            "a15315ec9d197acf56af5fd07ee373243259e8e882ff38c08faf09ea3e6092b1");
}

TEST(Projector, TheSemanticHashIgnoresTimesAndAttempts) {
  std::vector<Event> events = HelloWorld();
  const RunSnapshot smooth = ProjectRun(kRun, events).Snapshot();
  Event failed = At(4, kStepFailed, "s1");
  failed.facts.will_retry = true;
  Event retried = At(5, kStepStarted, "s1");
  retried.logical_attempt = 2;
  Event done = At(6, kStepCompleted, "s1");
  done.logical_attempt = 2;
  const std::vector<Event> bumpy = {At(1, kRunQueued),
                                    At(2, kRunStarted),
                                    At(3, kStepStarted, "s1"),
                                    failed,
                                    retried,
                                    done,
                                    At(7, kStepStarted, "s2"),
                                    At(8, kStepCompleted, "s2"),
                                    At(9, kRunCompleted)};
  const RunSnapshot rough = ProjectRun(kRun, bumpy).Snapshot();
  EXPECT_NE(SnapshotHash(smooth), SnapshotHash(rough));
  EXPECT_EQ(SemanticHash(smooth), SemanticHash(rough));
}

TEST(Projector, RebuiltEqualsIncremental) {
  const auto events = HelloWorld();
  Projection step_by_step(kRun);
  for (const Event& event : events) {
    step_by_step = IncrementalProject(step_by_step, std::span(&event, 1));
  }
  EXPECT_EQ(step_by_step.Snapshot(), ProjectRun(kRun, events).Snapshot());
}

TEST(Projector, ProjectingDoesNotModifyTheOldProjection) {
  const auto events = HelloWorld();
  const Projection before = ProjectRun(kRun, std::span(events).first(3));
  const RunSnapshot snapshot = before.Snapshot();
  const Projection after = IncrementalProject(before, std::span(events).subspan(3));
  EXPECT_EQ(before.Snapshot(), snapshot);
  EXPECT_EQ(after.watermark(), EventSeq(7));
}

TEST(Projector, ReprocessingIsHarmless) {
  const auto events = HelloWorld();
  const Projection once = ProjectRun(kRun, events);
  EXPECT_EQ(IncrementalProject(once, events).Snapshot(), once.Snapshot());
}

TEST(Projector, AGapMakesItStaleUntilAResyncMovesTheWatermark) {
  const auto events = HelloWorld();
  const Projection at_three = ProjectRun(kRun, std::span(events).first(3));
  const Projection stale = IncrementalProject(at_three, std::span(events).subspan(4));
  EXPECT_TRUE(stale.stale());
  EXPECT_EQ(stale.watermark(), EventSeq(3));
  ASSERT_EQ(stale.alerts().size(), 1U);
  EXPECT_EQ(stale.alerts()[0].code, "PROJECTOR_NON_CONTIGUOUS_FETCH_DETECTED");
  EXPECT_TRUE(IncrementalProject(stale, std::span(events).subspan(3)).stale())
      << "only Resync ends staleness";

  const Projection not_yet = Resync(stale, Projection(kRun), std::span(events).first(3));
  EXPECT_TRUE(not_yet.stale()) << "the watermark has not moved";
  const Projection full = Resync(stale, Projection(kRun), events);
  EXPECT_FALSE(full.stale());
  const Projection from_snapshot = Resync(stale, at_three, std::span(events).subspan(3));
  EXPECT_FALSE(from_snapshot.stale());
  EXPECT_EQ(full.Snapshot(), from_snapshot.Snapshot());
}

TEST(Projector, DetectsGaps) {
  EXPECT_FALSE(DetectNonContiguous(EventSeq(10), EventSeq(11)));
  EXPECT_TRUE(DetectNonContiguous(EventSeq(10), EventSeq(12)));
}

TEST(Projector, AnUnknownTypeAdvancesTheWatermarkOnly) {
  auto events = HelloWorld();
  events.resize(3);
  const Projection before = ProjectRun(kRun, events);
  const Event unknown = At(4, static_cast<EventType>(200), "x");
  const Projection after = IncrementalProject(before, std::span(&unknown, 1));
  EXPECT_EQ(after.watermark(), EventSeq(4));
  EXPECT_TRUE(after.alerts().empty());
  RunSnapshot expected = before.Snapshot();
  expected.last_event_seq = 4;
  EXPECT_EQ(after.Snapshot(), expected);
}

TEST(Projector, AnInvalidStoredEventIsIgnoredMarkedAndAlerted) {
  auto events = HelloWorld();
  events.push_back(At(8, kRunPaused));
  const Projection projection = ProjectRun(kRun, events);
  EXPECT_EQ(projection.Snapshot().status, "COMPLETED");
  EXPECT_TRUE(projection.Snapshot().inconsistent);
  ASSERT_EQ(projection.alerts().size(), 1U);
  EXPECT_EQ(projection.alerts()[0].code, "INVALID_TRANSITION");
  EXPECT_EQ(projection.watermark(), EventSeq(8));
}

TEST(Projector, APausedRunWithStepsInFlightIsDraining) {
  std::vector<Event> events = {At(1, kRunStarted), At(2, kStepStarted, "s1"), At(3, kRunPaused)};
  const RunSnapshot draining = ProjectRun(kRun, events).Snapshot();
  EXPECT_EQ(draining.status, "PAUSED");
  EXPECT_EQ(draining.substatus, "DRAINING");
  EXPECT_EQ(draining.message, "Workflow paused. Waiting for 1 in-flight task to complete.");
  events.push_back(At(4, kStepCompleted, "s1"));
  EXPECT_EQ(ProjectRun(kRun, events).Snapshot().substatus, "");
}

TEST(Projector, LagIsHighAfterFiveSeconds) {
  const Timestamp now = *ParseTimestamp("2026-02-12T00:01:00Z");
  const auto lag = [&](std::uint64_t seen, std::chrono::milliseconds age) {
    return LagOf("run-1", EventSeq(seen), EventSeq(7), now - age, now);
  };
  EXPECT_EQ(lag(7, std::chrono::hours(1)).events, 0U) << "nothing is missing";
  const auto normal = lag(5, std::chrono::milliseconds(800));
  EXPECT_EQ(normal.events, 2U);
  EXPECT_EQ(normal.time, std::chrono::milliseconds(800));
  EXPECT_FALSE(normal.alert.has_value());
  const auto high = lag(5, std::chrono::milliseconds(5001));
  ASSERT_TRUE(high.alert.has_value());
  EXPECT_EQ(high.alert->code, "PROJECTOR_LAG_HIGH");
  EXPECT_EQ(high.alert->run_id, "run-1");
}

TEST(Projector, SnapshotJsonUsesTheContractsFieldNames) {
  Event failed = At(3, kStepFailed, "s1");
  failed.facts.error_code = "TIMEOUT";
  failed.facts.error_message = "took \"too\" long";
  failed.facts.retryable = true;
  const std::vector<Event> events = {At(1, kRunStarted), At(2, kStepStarted, "s1"), failed};
  const std::string json = ToJson(ProjectRun(kRun, events).Snapshot());
  EXPECT_NE(
      json.find(R"("error":{"code":"TIMEOUT","message":"took \"too\" long","retryable":true})"),
      std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("lastEventSeq":3)"), std::string::npos);
}

}  // namespace
}  // namespace everstep
