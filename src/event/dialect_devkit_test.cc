#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "event/catalogue.h"
#include "event/dialect.h"

namespace everstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

EventWrite Written(const std::string& json) {
  auto order = ParseEvent(Dialect::kDevkit, json);
  EXPECT_TRUE(order) << ToString(order.error());
  return order->events.at(0);
}

const RunIdentity kRun{RunId("wrun_1"), {"t", "p", "e", "workflow//./a//fn", "dpl_1"}};

std::vector<std::string> Shown(const Event& event) {
  std::vector<std::string> out;
  RenderEvent(Dialect::kDevkit, kRun, event, out);
  return out;
}

std::string Type(const std::string& json) { return std::string(*RawMember(json, "eventType")); }

TEST(DevkitDialect, TakesThePlanFromTheDeployment) {
  const EventWrite write = Written(R"({"runId":"wrun_1","eventType":"run_created","eventData":
      {"deploymentId":"dpl_1","workflowName":"workflow//./a//fn","input":[1]}})");
  EXPECT_EQ(write.type, EventType::kRunQueued);
  EXPECT_EQ(write.scope.plan_version, "dpl_1");
  EXPECT_EQ(write.scope.plan_id, "workflow//./a//fn");
  EXPECT_EQ(write.logical_attempt, 0u);
  EXPECT_EQ(write.engine_attempt, 0u);
}

TEST(DevkitDialect, DistinguishesRetriedFromFinalFailures) {
  const EventWrite retrying = Written(R"({"runId":"r","eventType":"step_retrying",
      "correlationId":"step_1","eventData":{"error":"boom","retryAfter":"2026-02-11T10:30:00Z"}})");
  EXPECT_EQ(retrying.type, EventType::kStepFailed);
  EXPECT_TRUE(retrying.facts.will_retry);
  EXPECT_EQ(retrying.facts.error_message, "boom");
  EXPECT_EQ(FormatTimestamp(retrying.facts.due_at), "2026-02-11T10:30:00.000Z");
  const EventWrite failed = Written(R"({"runId":"r","eventType":"step_failed",
      "correlationId":"step_1","eventData":{"error":{"message":"boom","stack":"at x"}}})");
  EXPECT_FALSE(failed.facts.will_retry);
  EXPECT_EQ(failed.facts.error_message, "boom");
}

TEST(DevkitDialect, UsesCreatedAtIfOccurredAtIsMissing) {
  EXPECT_EQ(
      FormatTimestamp(
          Written(R"({"runId":"r","eventType":"run_started","createdAt":"2026-01-01T00:00:00Z"})")
              .emitted_at),
      "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatTimestamp(Written(R"({"runId":"r","eventType":"run_started",
      "createdAt":"2026-01-01T00:00:00Z","occurredAt":"2026-02-02T00:00:00Z"})")
                                .emitted_at),
            "2026-02-02T00:00:00.000Z");
}

TEST(DevkitDialect, RefusesToWriteAConflict) {
  const auto order = ParseEvent(Dialect::kDevkit, R"({"runId":"r","eventType":"hook_conflict",
      "correlationId":"h","eventData":{"token":"t"}})");
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().code, ErrorCode::kEventTypeUnknown);
  EXPECT_THAT(order.error().message, HasSubstr("recorded by Everstep"));
}

TEST(DevkitDialect, RequiresACorrelationIdExceptForTheRun) {
  EXPECT_EQ(ParseEvent(Dialect::kDevkit, R"({"runId":"r","eventType":"step_started"})")
                .error()
                .faults.at(0)
                .pointer,
            "/correlationId");
  EXPECT_EQ(
      ParseEvent(Dialect::kDevkit, R"({"runId":"r","eventType":"run_started","correlationId":"x"})")
          .error()
          .faults.at(0)
          .pointer,
      "/correlationId");
}

TEST(DevkitDialect, ShowsFactsWrittenInAnotherDialect) {
  Event event;
  event.type = EventType::kStepFailed;
  event.entity_id = "s";
  event.payload = R"({"errorCode":"E1","errorMessage":"boom"})";
  event.facts.error_code = "E1";
  event.facts.error_message = "boom";
  ASSERT_EQ(Shown(event).size(), 1u);
  EXPECT_EQ(Type(Shown(event)[0]), "\"step_failed\"");
  EXPECT_EQ(RawMember(Shown(event)[0], "eventData"),
            R"({"errorCode":"E1","errorMessage":"boom","error":{"code":"E1","message":"boom"}})");
  event.facts.will_retry = true;
  event.facts.due_at = FromMicros(1'000'000);
  EXPECT_EQ(Type(Shown(event)[0]), "\"step_retrying\"");
  EXPECT_THAT(Shown(event)[0], HasSubstr(R"("retryAfter":"1970-01-01T00:00:01.000Z")"));
}

TEST(DevkitDialect, ShowsTheDeploymentOfARunQueuedInAnotherDialect) {
  Event event;
  event.type = EventType::kRunQueued;
  EXPECT_EQ(RawMember(Shown(event).at(0), "eventData"),
            R"({"deploymentId":"dpl_1","workflowName":"workflow//./a//fn"})");
}

TEST(DevkitDialect, RenderPayloadAgreesWithRenderEvent) {
  Event event;
  event.entity_id = "s";
  event.payload = R"({"x":1})";
  event.facts.error_message = "boom";
  event.facts.token = "t";
  for (const EventSpec& spec : Catalogue()) {
    event.type = spec.type;
    for (const bool will_retry : {false, true}) {
      event.facts.will_retry = will_retry;
      const auto alone = RenderPayload(Dialect::kDevkit, kRun, event);
      const std::vector<std::string> whole = Shown(event);
      ASSERT_EQ(alone.has_value(), !whole.empty()) << spec.name;
      if (!alone) continue;
      EXPECT_EQ(JsonQuote(alone->name), Type(whole[0]));
      EXPECT_EQ(alone->payload, RawMember(whole[0], "eventData"));
    }
  }
}

TEST(DevkitDialect, ShowsConflictsAndOmitsEventsWithoutAName) {
  Event event;
  event.type = EventType::kHookConflict;
  event.entity_id = "h";
  event.facts.token = "t";
  EXPECT_EQ(RawMember(Shown(event).at(0), "eventData"), R"({"token":"t"})");
  for (const EventType type : {EventType::kRunPaused, EventType::kStepSkipped,
                               EventType::kToolStarted, EventType::kSignalAccepted}) {
    event.type = type;
    EXPECT_THAT(Shown(event), IsEmpty());
  }
}

}  // namespace
}  // namespace everstep
