#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "event/dialect.h"
#include "event/idempotency_key.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const RunIdentity kRun{RunId("run-001"), {"acme", "marketing", "prod", "plan_abc", "1.2.0"}};

Event StepFailed() {
  Event event;
  event.type = EventType::kStepFailed;
  event.seq = EventSeq(12);
  event.event_id = "e1";
  event.entity_id = "model.orders";
  event.logical_attempt = 2;
  event.emitted_at = FromMicros(1'000'000);
  event.persisted_at = FromMicros(2'000'000);
  return event;
}

std::vector<std::string> Shown(Dialect dialect, const Event& event) {
  std::vector<std::string> out;
  RenderEvent(dialect, kRun, event, out);
  return out;
}

TEST(NativeView, ShowsEverythingThatTheAuthorityAdds) {
  EXPECT_THAT(
      Shown(Dialect::kNative, StepFailed()),
      ElementsAre(
          R"({"eventId":"e1","eventType":"StepFailed","runId":"run-001","runSeq":12,)"
          R"("stepId":"model.orders","tenantId":"acme","projectId":"marketing",)"
          R"("environmentId":"prod","planId":"plan_abc","planVersion":"1.2.0",)"
          R"("engineAttemptId":1,"logicalAttemptId":2,)"
          R"("idempotencyKey":"4f18c2cf80d85cdea73fac0533dd58b1eb5d3acc92b6c13d6b445c821122c1e4",)"
          R"("keyVersion":1,"emittedAt":"1970-01-01T00:00:01.000Z",)"
          R"("persistedAt":"1970-01-01T00:00:02.000Z"})"));
}

TEST(NativeView, AddsFactsThatAreMissingInThePayload) {
  Event event = StepFailed();
  event.facts.will_retry = true;
  event.facts.error_message = "boom";
  EXPECT_EQ(RawMember(Shown(Dialect::kNative, event).at(0), "payload"),
            R"({"errorMessage":"boom","willRetry":true})");
  event.payload = R"({ "error": "boom" })";
  EXPECT_EQ(RawMember(Shown(Dialect::kNative, event).at(0), "payload"),
            R"({ "error": "boom" ,"errorMessage":"boom","willRetry":true})");
  event.payload = "{ }";
  EXPECT_EQ(RawMember(Shown(Dialect::kNative, event).at(0), "payload"),
            R"({ "errorMessage":"boom","willRetry":true})");
  event.payload = R"({"errorMessage":"as written","willRetry":false})";
  EXPECT_EQ(RawMember(Shown(Dialect::kNative, event).at(0), "payload"), event.payload);
}

TEST(ContractView, OmitsEventsWithoutANameInTheContract) {
  Event event = StepFailed();
  EXPECT_EQ(Shown(Dialect::kContract, event), Shown(Dialect::kNative, event));
  event.type = EventType::kStepScheduled;
  EXPECT_THAT(Shown(Dialect::kContract, event), IsEmpty());
}

TEST(CloudEvents, WrapTheNativeView) {
  const std::string document = Shown(Dialect::kCloudEvents, StepFailed()).at(0);
  EXPECT_EQ(RawMember(document, "specversion"), "\"1.0\"");
  EXPECT_EQ(RawMember(document, "id"), "\"e1\"");
  EXPECT_EQ(RawMember(document, "source"), "\"/tenants/acme/runs/run-001\"");
  EXPECT_EQ(RawMember(document, "type"), "\"dev.everstep.StepFailed\"");
  EXPECT_EQ(RawMember(document, "subject"), "\"model.orders\"");
  EXPECT_EQ(RawMember(document, "time"), "\"1970-01-01T00:00:02.000Z\"");
  EXPECT_EQ(RawMember(document, "datacontenttype"), "\"application/json\"");
  EXPECT_EQ(RawMember(document, "runid"), "\"run-001\"");
  EXPECT_EQ(RawMember(document, "runseq"), "\"00000000000000000012\"");
  EXPECT_EQ(RawMember(document, "tenantid"), "\"acme\"");
  EXPECT_EQ(RawMember(document, "data"), Shown(Dialect::kNative, StepFailed()).at(0));
}

TEST(Views, SkipTypesOfLaterVersions) {
  Event event = StepFailed();
  event.type = static_cast<EventType>(200);
  for (const Dialect dialect : {Dialect::kNative, Dialect::kContract, Dialect::kDevkit,
                                Dialect::kNoetl, Dialect::kElephant, Dialect::kCloudEvents}) {
    EXPECT_THAT(Shown(dialect, event), IsEmpty());
  }
}

TEST(Dialects, AreFoundByTheirNames) {
  for (const Dialect dialect : WritableDialects()) {
    EXPECT_EQ(DialectNamed(Name(dialect)), dialect);
  }
  EXPECT_EQ(DialectNamed("cloudevents"), Dialect::kCloudEvents);
  EXPECT_EQ(DialectNamed("esperanto"), std::nullopt);
  EXPECT_EQ(WritableDialects().size(), 5u);
}

}  // namespace
}  // namespace everstep
