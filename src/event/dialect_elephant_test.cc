#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "event/dialect.h"

namespace everstep {
namespace {

using testing::IsEmpty;

const std::string kParked = R"({"version":"0","id":"d1","detail-type":"WorkflowEvent",
  "source":"elephant.workflow","account":"123","time":"2026-02-11T10:30:00Z","region":"us-east-1",
  "resources":[],"detail":{"executionId":"exec-1","county":"Cook","dataGroupLabel":"Seed",
  "status":"FAILED","phase":"SVL","step":"SVL","taskToken":"token-abc","errors":[
  {"code":"30a1","details":{"error_path":"$.x"}},{"code":"30a1"},{"code":"31001"}]}})";

std::string Bare(std::string_view status, std::string_view more = "") {
  return R"({"executionId":"exec-1","county":"Cook","phase":"Transform",)"
         R"("step":"Transform","status":")" +
         std::string(status) + "\"" + std::string(more) + "}";
}

std::string Settled(std::string_view type, std::string_view detail) {
  return R"({"source":"elephant.workflow","detail-type":")" + std::string(type) + R"(","detail":)" +
         std::string(detail) + "}";
}

std::vector<EventWrite> Written(const std::string& json) {
  auto order = ParseEvent(Dialect::kElephant, json);
  EXPECT_TRUE(order) << ToString(order.error());
  return order->events;
}

Event Placed(const EventWrite& write) {
  Event event;
  event.type = write.type;
  event.seq = EventSeq(1);
  event.event_id = write.event_id;
  event.entity_id = write.entity_id;
  event.parent_id = write.parent_id;
  event.emitted_at = write.emitted_at;
  event.facts = write.facts;
  event.payload = write.payload;
  event.attributes = write.attributes;
  return event;
}

std::vector<std::string> Shown(const Event& event) {
  std::vector<std::string> out;
  RenderEvent(Dialect::kElephant, {RunId("exec-1"), {}}, event, out);
  return out;
}

TEST(ElephantDialect, ReadsTheProgressOfAStep) {
  EXPECT_EQ(Written(Bare("SCHEDULED"))[0].type, EventType::kStepScheduled);
  EXPECT_EQ(Written(Bare("IN_PROGRESS"))[0].type, EventType::kStepStarted);
  const std::vector<EventWrite> events = Written(Bare("SUCCEEDED"));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::kStepCompleted);
  EXPECT_EQ(events[0].entity_id, "Transform");
  EXPECT_EQ(events[0].scope, RunScope{}) << "the run keeps its scope";
  EXPECT_TRUE(events[0].starts_run);
  EXPECT_TRUE(events[0].revisit);
  EXPECT_EQ(events[0].attributes, R"({"county":"Cook","phase":"Transform"})");
}

TEST(ElephantDialect, ReadsAParkedStepAsAHookAndItsErrors) {
  const std::vector<EventWrite> events = Written(kParked);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].type, EventType::kHookCreated);
  EXPECT_EQ(events[0].entity_id, "SVL/" + ToHex(Sha256("token-abc")).substr(0, 16));
  EXPECT_EQ(events[0].parent_id, "SVL");
  EXPECT_EQ(events[0].facts.token, "token-abc");
  EXPECT_EQ(events[0].event_id, "d1");
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(events[i].type, EventType::kErrorRecorded);
    EXPECT_EQ(events[i].event_id, "d1." + std::to_string(i));
    EXPECT_EQ(events[i].parent_id, "SVL");
    EXPECT_TRUE(events[i].facts.token.empty());
    EXPECT_TRUE(events[i].starts_run);
  }
  EXPECT_EQ(events[1].entity_id, "30a1");
  EXPECT_EQ(events[1].payload, R"({"details":{"error_path":"$.x"}})");
  EXPECT_EQ(events[3].entity_id, "31001");
}

TEST(ElephantDialect, ReadsAFailureWithoutATokenAsAStepFailure) {
  const std::vector<EventWrite> events = Written(Bare("FAILED", R"(,"errors":[{"code":"20001"}])"));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, EventType::kStepFailed);
  EXPECT_EQ(events[0].facts.error_code, "20001");
  EXPECT_EQ(events[1].type, EventType::kErrorRecorded);
  EXPECT_EQ(events[1].event_id, "");
}

TEST(ElephantDialect, KeepsATokenThatIsNotForAHook) {
  const EventWrite write = Written(Bare("SCHEDULED", R"(,"taskToken":"t")"))[0];
  EXPECT_EQ(write.type, EventType::kStepScheduled);
  EXPECT_TRUE(write.facts.token.empty());
  EXPECT_EQ(RawMember(write.attributes, "taskToken"), "\"t\"");
}

TEST(ElephantDialect, SettlesOneCodeOrAllOfARun) {
  const auto one =
      Written(Settled("ElephantErrorResolved", R"({"executionId":"exec-1","errorCode":"20Cook"})"));
  EXPECT_EQ(one.at(0).type, EventType::kErrorResolved);
  EXPECT_EQ(one.at(0).entity_id, "20Cook");
  EXPECT_FALSE(one.at(0).starts_run);
  const auto all = Written(Settled("ElephantErrorFailedToResolve", R"({"executionId":"exec-1"})"));
  EXPECT_EQ(all.at(0).type, EventType::kErrorUnrecoverable);
  EXPECT_EQ(all.at(0).entity_id, "*");
}

TEST(ElephantDialect, RequiresTheRunOfAnErrorCode) {
  const auto order =
      ParseEvent(Dialect::kElephant, Settled("ElephantErrorResolved", R"({"errorCode":"20Cook"})"));
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().faults.at(0).pointer, "/detail/executionId");
  EXPECT_THAT(order.error().faults.at(0).message,
              testing::HasSubstr("The run that has the errors"));
}

TEST(ElephantDialect, RefusesForeignSourcesAndTypes) {
  std::string foreign = kParked;
  foreign.replace(foreign.find("elephant.workflow"), 17, "aws.states");
  EXPECT_EQ(ParseEvent(Dialect::kElephant, foreign).error().faults.at(0).pointer, "/source");
  EXPECT_EQ(ParseEvent(Dialect::kElephant, Settled("Nonsense", "{}")).error().code,
            ErrorCode::kEventTypeUnknown);
  EXPECT_EQ(ParseEvent(Dialect::kElephant, R"({"source":"x"})").error().faults.at(0).pointer,
            "/detail-type");
}

TEST(ElephantDialect, ShowsAParkedStepOnceWithAllItsErrors) {
  const std::vector<EventWrite> events = Written(kParked);
  const std::vector<std::string> documents = Shown(Placed(events[0]));
  ASSERT_EQ(documents.size(), 1u);
  EXPECT_EQ(CanonicalJson(*RawMember(documents[0], "detail")).value(),
            CanonicalJson(*RawMember(kParked, "detail")).value());
  EXPECT_THAT(Shown(Placed(events[1])), IsEmpty());
}

TEST(ElephantDialect, ShowsEventsWrittenInAnotherDialect) {
  Event event;
  event.type = EventType::kHookCreated;
  event.event_id = "e";
  event.entity_id = "hook_1";
  event.parent_id = "approve";
  event.facts.token = "t";
  event.payload = R"({"token":"t","metadata":1})";
  EXPECT_EQ(RawMember(Shown(event).at(0), "detail"),
            R"({"executionId":"exec-1","county":"unknown","status":"FAILED","phase":"approve",)"
            R"("step":"approve","taskToken":"t"})");
  event = {};
  event.type = EventType::kErrorRecorded;
  event.entity_id = "E7";
  event.payload = R"({"details":{"a":1},"message":"m"})";
  event.parent_id = "load";
  EXPECT_EQ(RawMember(*RawMember(Shown(event).at(0), "detail"), "errors"),
            R"([{"code":"E7","details":{"a":1}}])");
}

TEST(ElephantDialect, OmitsRunEventsAndRetriedFailures) {
  Event event;
  event.type = EventType::kRunStarted;
  EXPECT_THAT(Shown(event), IsEmpty());
  event.type = EventType::kStepFailed;
  event.entity_id = "s";
  EXPECT_EQ(Shown(event).size(), 1u);
  event.facts.will_retry = true;
  EXPECT_THAT(Shown(event), IsEmpty());
}

}  // namespace
}  // namespace everstep
