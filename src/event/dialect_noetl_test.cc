#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "event/dialect.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Document(std::string_view type, std::string_view more = "") {
  return R"({"event_id":"e1","timestamp":"2026-01-17T23:11:22Z","execution_id":"x1",)"
         R"("event_type":")" +
         std::string(type) + "\"" + std::string(more) + "}";
}

EventWrite Written(const std::string& json) {
  auto order = ParseEvent(Dialect::kNoetl, json);
  EXPECT_TRUE(order) << ToString(order.error());
  return order->events.at(0);
}

// The given member of each document that the dialect renders for the event.
std::vector<std::string> Shown(EventType type, std::string_view member = "event_type",
                               const std::string& attributes = "") {
  Event event;
  event.type = type;
  event.event_id = "e1";
  event.seq = EventSeq(7);
  event.attributes = attributes;
  std::vector<std::string> documents;
  RenderEvent(Dialect::kNoetl, {RunId("x1"), {}}, event, documents);
  std::vector<std::string> values;
  for (const std::string& document : documents) {
    values.emplace_back(RawMember(document, member).value_or("none"));
  }
  return values;
}

TEST(NoetlDialect, ReadsTheExampleOfAToolCall) {
  const EventWrite write = Written(R"({"event_id": "01JH", "event_type": "tool.processed",
      "event_alias": "ToolProcessed", "timestamp": "2026-01-17T23:11:22Z",
      "execution_id": "exec_01JH", "entity_type": "tool", "entity_id": "http.fetch_weather",
      "parent_id": "step:fetch_and_evaluate:run:7", "status": "success", "duration_ms": 312,
      "iteration": 3, "payload": {"inputs": {"city": "Seattle"}, "output": {"temp_f": 51}}})");
  EXPECT_EQ(write.type, EventType::kToolProcessed);
  EXPECT_EQ(write.entity_id, "http.fetch_weather");
  EXPECT_EQ(write.instance_id, "http.fetch_weather/01JH");
  EXPECT_EQ(write.parent_id, "step:fetch_and_evaluate:run:7");
  EXPECT_EQ(FormatTimestamp(write.emitted_at), "2026-01-17T23:11:22.000Z");
  EXPECT_EQ(
      write.attributes,
      R"({"event_alias":"ToolProcessed","status":"success","duration_ms":312,"iteration":3})");
}

TEST(NoetlDialect, TheStatusDeterminesTheEventType) {
  const auto type = [](std::string_view name, std::string_view status) {
    return Written(Document(name, R"(,"entity_id":"s","status":")" + std::string(status) + "\""))
        .type;
  };
  EXPECT_EQ(type("step.finished", "success"), EventType::kStepCompleted);
  EXPECT_EQ(type("step.finished", "error"), EventType::kStepFailed);
  EXPECT_EQ(type("step.finished", "skipped"), EventType::kStepSkipped);
  EXPECT_EQ(type("workflow.finished", "success"), EventType::kRunCompleted);
  EXPECT_EQ(type("playbook.processed", "error"), EventType::kRunFailed);
  EXPECT_EQ(type("playbook.processed", "skipped"), EventType::kRunCancelled);
  EXPECT_EQ(type("playbook.paused", "paused"), EventType::kRunPaused);
  EXPECT_EQ(type("playbook.paused", "in_progress"), EventType::kRunResumed);
  EXPECT_EQ(Written(Document("playbook.paused")).type, EventType::kRunPaused);
}

TEST(NoetlDialect, AMissingStatusIsAFault) {
  const auto order = ParseEvent(Dialect::kNoetl, Document("workflow.finished"));
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().faults.at(0).pointer, "/status");
}

TEST(NoetlDialect, NormalisesTheLegacyNames) {
  const auto legacy = [](std::string_view name) {
    return Written(Document(name, R"(,"entity_id":"t")"));
  };
  EXPECT_EQ(legacy("task_start").type, EventType::kToolStarted);
  EXPECT_EQ(legacy("task_complete").type, EventType::kToolProcessed);
  EXPECT_EQ(RawMember(legacy("task_complete").attributes, "status"), "\"success\"");
  EXPECT_EQ(legacy("task_error").type, EventType::kToolProcessed);
  EXPECT_EQ(RawMember(legacy("task_error").attributes, "status"), "\"error\"");
  EXPECT_THAT(Shown(EventType::kToolProcessed, "event_type", legacy("task_error").attributes),
              ElementsAre("\"tool.processed\""));
}

TEST(NoetlDialect, EachRunOfAStepIsASeparateEntity) {
  const EventWrite plain = Written(Document("step.started", R"(,"entity_id":"fetch")"));
  EXPECT_EQ(plain.entity_id, "fetch");
  EXPECT_EQ(plain.instance_id, "");
  const EventWrite run =
      Written(Document("step.started", R"(,"entity_id":"fetch","step_run_id":"fetch:run:7")"));
  EXPECT_EQ(run.entity_id, "fetch:run:7");
  EXPECT_EQ(RawMember(run.attributes, "entity_id"), "\"fetch\"");
}

TEST(NoetlDialect, ReadsErrorsAndAttempts) {
  const EventWrite write =
      Written(Document("step.finished", R"(,"entity_id":"s","status":"error","attempt":2,)"
                                        R"("payload":{"error":{"code":"E","message":"m"}})"));
  EXPECT_EQ(write.facts.error_code, "E");
  EXPECT_EQ(write.facts.error_message, "m");
  EXPECT_EQ(write.logical_attempt, 2u);
}

TEST(NoetlDialect, ShowsTheRunAsAPlaybookAndAWorkflow) {
  EXPECT_THAT(Shown(EventType::kRunStarted),
              ElementsAre("\"playbook.started\"", "\"workflow.started\""));
  EXPECT_THAT(Shown(EventType::kRunFailed),
              ElementsAre("\"workflow.finished\"", "\"playbook.processed\""));
  EXPECT_THAT(Shown(EventType::kRunFailed, "status"), ElementsAre("\"error\"", "\"error\""));
  EXPECT_THAT(Shown(EventType::kRunResumed, "status"), ElementsAre("\"in_progress\""));
}

TEST(NoetlDialect, TheWrittenDocumentKeepsTheEventIdAndTheOtherGetsADerivedOne) {
  EXPECT_THAT(Shown(EventType::kRunStarted, "event_id"), ElementsAre("\"e1\"", "\"e1.workflow\""));
  const EventWrite write = Written(Document("workflow.started", R"(,"event_alias":"W")"));
  EXPECT_THAT(Shown(EventType::kRunStarted, "event_id", write.attributes),
              ElementsAre("\"e1.playbook\"", "\"e1\""));
  EXPECT_THAT(Shown(EventType::kRunStarted, "event_alias", write.attributes),
              ElementsAre("\"PlaybookStarted\"", "\"W\""));
}

TEST(NoetlDialect, ShowsTheWritersSequenceOrElseTheRuns) {
  EXPECT_THAT(Shown(EventType::kRunPaused, "seq"), ElementsAre("7"));
  EXPECT_THAT(Shown(EventType::kRunPaused, "seq", R"({"seq":3})"), ElementsAre("3"));
  EXPECT_THAT(Shown(EventType::kRunPaused, "seq", R"({"seq":"of another kind"})"),
              ElementsAre("7"));
}

TEST(NoetlDialect, OmitsEventsWithoutAName) {
  EXPECT_THAT(Shown(EventType::kStepStarted), IsEmpty());
  EXPECT_THAT(Shown(EventType::kHookCreated), IsEmpty());
}

}  // namespace
}  // namespace everstep
