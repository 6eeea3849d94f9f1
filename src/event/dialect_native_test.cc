#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "event/catalogue.h"
#include "event/dialect.h"
#include "event/idempotency_key.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string kStepCompleted = R"({
  "eventId": "0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8b", "eventType": "StepCompleted",
  "runId": "0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a", "stepId": "model.orders",
  "tenantId": "acme", "projectId": "marketing", "environmentId": "prod",
  "planId": "plan_abc", "planVersion": "2", "engineAttemptId": 3, "logicalAttemptId": 2,
  "idempotencyKey": "7f4b974658a54fb2aee9ecb9cefebd2eec27f3fd01f0f8c0d031dfc4a5b96e3c",
  "keyVersion": 2, "emittedAt": "2026-02-11T10:30:00.000Z", "emittedBy": "worker",
  "payload": { "result" : {"rows": 1.50}, "durationMs": 12,
               "artifacts": [{"uri": "s3://a", "kind": "log-bundle"}] } })";

// Contract seed 001, A.1, without the members that the append authority assigns.
const std::string kFlatRunStarted = R"({
  "eventType": "RunStarted", "eventId": "01234567-89ab-cdef-0123-456789abcdef",
  "runId": "run_2026-02-11_abc123", "emittedAt": "2026-02-11T10:30:00.000Z", "emittedBy": "engine",
  "status": "RUNNING", "engineRunRef": "temporal://default/run/f47ac10b", "engineType": "temporal",
  "planRef": {"uri": "s3://dvt-plans/prod/plan_xyz_v1.2.json",
    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "schemaVersion": "v1.2", "planId": "plan_xyz", "planVersion": "1.2"},
  "context": {"tenantId": "tenant_acme", "projectId": "proj_marketing", "environmentId": "prod",
    "triggeredBy": "user_jane", "triggerSource": "manual"},
  "startedAt": "2026-02-11T10:30:01.000Z"})";

EventWrite Written(Dialect dialect, const std::string& json) {
  auto order = ParseEvent(dialect, json);
  EXPECT_TRUE(order) << ToString(order.error());
  EXPECT_EQ(order->events.size(), 1u);
  EXPECT_EQ(order->run_id, order->events.at(0).run_id);
  return order->events.at(0);
}

std::vector<std::string> Faults(Dialect dialect, const std::string& json) {
  const auto order = ParseEvent(dialect, json);
  std::vector<std::string> pointers;
  EXPECT_FALSE(order) << json;
  if (order) return pointers;
  for (const Fault& fault : order.error().faults) pointers.push_back(fault.pointer);
  return pointers;
}

ErrorCode CodeOf(Dialect dialect, const std::string& json) {
  const auto order = ParseEvent(dialect, json);
  EXPECT_FALSE(order) << json;
  return order ? ErrorCode::kIndeterminate : order.error().code;
}

std::string Replace(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(NativeDialect, ParsingOverwritesAReusedOrder) {
  const std::string bare = R"({"eventType": "StepStarted", "runId": "r", "stepId": "s"})";
  const EventWrite expected = Written(Dialect::kNative, bare);
  AppendOrder order;
  for (const std::string& before : {kStepCompleted, kFlatRunStarted}) {
    ASSERT_TRUE(ParseEvent(Dialect::kContract, before, order));
    ASSERT_NE(order.events.at(0), expected);
    ASSERT_TRUE(ParseEvent(Dialect::kNative, bare, order));
    EXPECT_EQ(order.run_id.value(), "r");
    EXPECT_EQ(order.events, std::vector{expected});
  }
}

TEST(ContractDialect, ReadsEveryMemberOfTheEnvelope) {
  const EventWrite write = Written(Dialect::kContract, kStepCompleted);
  EXPECT_EQ(write.type, EventType::kStepCompleted);
  EXPECT_EQ(write.run_id.value(), "0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a");
  EXPECT_EQ(write.event_id, "0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8b");
  EXPECT_EQ(write.entity_id, "model.orders");
  EXPECT_EQ(write.scope, (RunScope{"acme", "marketing", "prod", "plan_abc", "2"}));
  EXPECT_EQ(write.engine_attempt, 3u);
  EXPECT_EQ(write.logical_attempt, 2u);
  EXPECT_EQ(write.key_version, KeyVersion::kV2);
  EXPECT_EQ(ToHex(write.key.value()),
            "7f4b974658a54fb2aee9ecb9cefebd2eec27f3fd01f0f8c0d031dfc4a5b96e3c");
  EXPECT_EQ(FormatTimestamp(write.emitted_at), "2026-02-11T10:30:00.000Z");
  EXPECT_EQ(write.emitted_by, "worker");
  EXPECT_EQ(write.facts.artifacts, R"([{"uri":"s3://a","kind":"log-bundle"}])");
}

TEST(ContractDialect, KeepsThePayloadAsItWasSent) {
  const EventWrite write = Written(Dialect::kContract, kStepCompleted);
  EXPECT_EQ(write.payload, RawMember(kStepCompleted, "payload"));
  const EventWrite escaped =
      Written(Dialect::kContract, Replace(kStepCompleted, "\"payload\"", "\"pay\\u006coad\""));
  EXPECT_EQ(escaped.payload, write.payload);
}

TEST(ContractDialect, RequiresTheMembersThatTheContractRequires) {
  EXPECT_THAT(
      Faults(Dialect::kContract, R"({"eventType":"StepStarted","runId":"r"})"),
      UnorderedElementsAre("/stepId", "/tenantId", "/projectId", "/environmentId", "/planId",
                           "/planVersion", "/engineAttemptId", "/logicalAttemptId", "/emittedAt"));
}

TEST(NativeDialect, DoesNotRequireMembersThatTheAuthorityFillsIn) {
  const EventWrite write =
      Written(Dialect::kNative, R"({"eventType":"StepStarted","runId":"r","stepId":"s"})");
  EXPECT_EQ(write.logical_attempt, 0u);
  EXPECT_EQ(write.engine_attempt, 0u);
  EXPECT_EQ(write.emitted_at, Timestamp{});
  EXPECT_TRUE(write.scope.tenant_id.empty());
}

TEST(ContractDialect, RefusesMembersThatTheAuthorityAssigns) {
  const auto order = ParseEvent(
      Dialect::kNative,
      R"({"eventType":"RunPaused","runId":"r","runSeq":4,"persistedAt":"2026-02-11T10:30:00Z"})");
  ASSERT_FALSE(order);
  ASSERT_EQ(order.error().faults.size(), 2u);
  for (const Fault& fault : order.error().faults) {
    EXPECT_THAT(fault.message, HasSubstr("assigned by the append authority"));
  }
}

TEST(ContractDialect, AllowsAStepIdInStepEventsOnly) {
  EXPECT_THAT(Faults(Dialect::kNative, R"({"eventType":"RunPaused","runId":"r","stepId":"s"})"),
              ElementsAre("/stepId"));
  EXPECT_THAT(Faults(Dialect::kNative, R"({"eventType":"StepSkipped","runId":"r"})"),
              ElementsAre("/stepId"));
  EXPECT_THAT(Faults(Dialect::kNative, R"({"eventType":"ToolStarted","runId":"r"})"),
              ElementsAre("/correlationId"));
}

TEST(ContractDialect, ReadsTheFlatFormOfRunStarted) {
  const EventWrite write = Written(Dialect::kContract, kFlatRunStarted);
  EXPECT_EQ(write.scope, (RunScope{"tenant_acme", "proj_marketing", "prod", "plan_xyz", "1.2"}));
  EXPECT_EQ(write.logical_attempt, 1u);
  EXPECT_EQ(write.engine_attempt, 1u);
  EXPECT_EQ(write.facts.engine_run_ref, "temporal://default/run/f47ac10b");
  EXPECT_EQ(FormatTimestamp(write.facts.started_at), "2026-02-11T10:30:01.000Z");
  for (const char* lifted :
       {"status", "engineRunRef", "engineType", "planRef", "context", "startedAt"}) {
    EXPECT_EQ(RawMember(write.payload, lifted), RawMember(kFlatRunStarted, lifted));
  }
}

TEST(ContractDialect, RefusesAFlatFormThatContradictsItself) {
  EXPECT_THAT(Faults(Dialect::kContract,
                     Replace(kFlatRunStarted, "{", R"({"tenantId":"other","planId":"other",)")),
              UnorderedElementsAre("/context/tenantId", "/planRef/planId"));
  EXPECT_THAT(Faults(Dialect::kContract, Replace(kFlatRunStarted, "{", R"({"payload":{},)")),
              ElementsAre("/payload"));
}

TEST(ContractDialect, AcceptsOnlyTheEventsOfTheContract) {
  const std::string hook =
      R"({"eventType":"HookReceived","runId":"r","correlationId":"h","payload":{}})";
  EXPECT_EQ(CodeOf(Dialect::kContract, hook), ErrorCode::kEventTypeUnknown);
  EXPECT_EQ(Written(Dialect::kNative, hook).entity_id, "h");
}

TEST(NativeDialect, AcceptsEveryEventExceptThoseThatOnlyEverstepRecords) {
  int writable = 0;
  for (const EventSpec& spec : Catalogue()) {
    const auto order = ParseEvent(Dialect::kNative,
                                  R"({"runId":"r","eventType":")" + std::string(spec.name) + "\"}");
    const bool known = order || order.error().code != ErrorCode::kEventTypeUnknown;
    EXPECT_EQ(known, !spec.recorded_only) << spec.name;
    writable += known;
  }
  EXPECT_EQ(writable, 40);
}

TEST(NativeDialect, ReadsTheFactsOfAFailure) {
  const EventWrite write =
      Written(Dialect::kNative,
              R"({"eventType":"StepFailed","runId":"r","stepId":"s","payload":{"error":{"code":"E2",
          "message":"second"},"errorCode":"E1","willRetry":true,"retryable":true,
          "dueAt":"2026-02-11T10:31:00Z"}})");
  EXPECT_EQ(write.facts.error_code, "E1");
  EXPECT_EQ(write.facts.error_message, "second");
  EXPECT_TRUE(write.facts.will_retry);
  EXPECT_TRUE(write.facts.retryable);
  EXPECT_EQ(FormatTimestamp(write.facts.due_at), "2026-02-11T10:31:00.000Z");
}

TEST(NativeDialect, TakesTheSignalsIdFromThePayload) {
  const std::string signal = R"({"eventType":"SignalAccepted","runId":"r",)"
                             R"("payload":{"signalId":"s1","signalType":"PAUSE"}})";
  EXPECT_EQ(Written(Dialect::kNative, signal).entity_id, "s1");
  EXPECT_FALSE(Written(Dialect::kNative, signal).facts.escalation);
  EXPECT_TRUE(
      Written(Dialect::kNative, Replace(signal, "PAUSE", "ESCALATE_ALERT")).facts.escalation);
  EXPECT_THAT(Faults(Dialect::kNative, Replace(signal, "{", R"({"correlationId":"s2",)")),
              ElementsAre("/correlationId"));
  EXPECT_THAT(Faults(Dialect::kNative, Replace(signal, "PAUSE", "PAWS")),
              ElementsAre("/payload/signalType"));
}

TEST(ParseEvent, DistinguishesInvalidJsonFromInvalidEvents) {
  EXPECT_EQ(CodeOf(Dialect::kNative, "{"), ErrorCode::kInvalidJson);
  EXPECT_EQ(CodeOf(Dialect::kNative, ""), ErrorCode::kInvalidJson);
  EXPECT_EQ(CodeOf(Dialect::kNative, "[]"), ErrorCode::kSchemaValidationFailed);
  EXPECT_EQ(CodeOf(Dialect::kNative, "{}"), ErrorCode::kSchemaValidationFailed);
  EXPECT_EQ(CodeOf(Dialect::kNative, R"({"eventType":7})"), ErrorCode::kSchemaValidationFailed);
  EXPECT_EQ(CodeOf(Dialect::kNative, R"({"eventType":"onRunStarted"})"),
            ErrorCode::kEventTypeUnknown);
  EXPECT_EQ(CodeOf(Dialect::kNative, R"({"eventType":"HookConflict"})"),
            ErrorCode::kEventTypeUnknown);
  EXPECT_EQ(CodeOf(Dialect::kCloudEvents, "{}"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Dialect::kNative, std::string(kEventBytesMax + 1, ' ')),
            ErrorCode::kEventTooLarge);
}

TEST(ParseEvent, RefusesRepeatedMembersWhereverTheyAre) {
  EXPECT_EQ(CodeOf(Dialect::kNative, R"({"eventType":"RunPaused","runId":"r","runId":"q"})"),
            ErrorCode::kInvalidJson);
  EXPECT_THAT(Faults(Dialect::kNative,
                     R"({"eventType":"RunPaused","runId":"r","payload":{"a":{"b":1,"b":2}}})"),
              ElementsAre("/payload/a/b"));
}

TEST(ParseEvent, BoundsTheDepthOfNesting) {
  const auto nested = [](std::size_t depth) {
    return R"({"eventType":"RunPaused","runId":"r","payload":{"a":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}}";
  };
  EXPECT_TRUE(ParseEvent(Dialect::kNative, nested(200)));
  EXPECT_EQ(CodeOf(Dialect::kNative, nested(300)), ErrorCode::kInvalidJson);
}

}  // namespace
}  // namespace everstep
