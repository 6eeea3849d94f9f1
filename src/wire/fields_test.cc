#include "wire/fields.h"

#include <gtest/gtest.h>

#include "wire/engine_types.h"

namespace everstep {
namespace {

RunView SampleView() {
  RunView view;
  view.run_id = "r-1";
  view.status = "RUNNING";
  view.last_event_seq = 7;
  view.started_at = FromMicros(1'700'000'000'000'000);
  view.inputs = R"({"name":"Ada","n":1.5})";
  StepView step;
  step.step_id = "fetch";
  step.status = "RETRYING";
  step.attempts_max = 3;
  step.wakes_at = FromMicros(1'700'000'001'500'000);
  step.depends_on = {"a", "b"};
  view.steps = {step, step};
  return view;
}

TEST(WireFieldsTest, ReadsBackWhatItWrote) {
  const std::string text = ToWire(SampleView());
  const auto again = FromWire<RunView>(text, UnknownMembers::kRefuse);
  ASSERT_TRUE(again.has_value()) << ToString(again.error());
  EXPECT_EQ(ToWire(*again), text);
  EXPECT_EQ(again->steps[1].depends_on, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(again->steps[0].wakes_at, SampleView().steps[0].wakes_at);
  EXPECT_EQ(again->inputs, SampleView().inputs);
}

TEST(WireFieldsTest, EmptyMembersAreOmitted) {
  StartedRun run;
  run.run_id = "r";
  run.status = "RUNNING";
  EXPECT_EQ(ToWire(run), R"({"runId":"r","status":"RUNNING"})");
}

TEST(WireFieldsTest, EveryFaultIsReportedWithItsPointer) {
  const auto body = FromWire<StartBody>(
      R"({"plan":5,"prioritty":1,"planRef":{"uri":"file:x"},"priority":99999999999,
          "startAt":"soon"})",
      UnknownMembers::kRefuse);
  ASSERT_FALSE(body.has_value());
  EXPECT_EQ(body.error().code, ErrorCode::kSchemaValidationFailed);
  const std::vector<Fault> expected = {
      {"/plan", "must be text"},
      {"/planRef/sha256", "is required"},
      {"/priority", "must be a whole number from -2147483648 to 2147483647"},
      {"/startAt", "must be a time such as 2026-02-11T10:30:00Z"},
      {"/prioritty", "is not known; did you mean 'priority'?"}};
  EXPECT_EQ(body.error().faults, expected);
}

TEST(WireFieldsTest, UnknownMembersAreIgnoredOnRequest) {
  const auto run = FromWire<StartedRun>(R"({"runId":"r","status":"PENDING","later":{}})",
                                        UnknownMembers::kIgnore);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->status, "PENDING");
}

TEST(WireFieldsTest, RepeatedMembersAndWrongShapesAreFaults) {
  const auto repeated =
      FromWire<ReasonBody>(R"({"reason":"a","reason":"b"})", UnknownMembers::kRefuse);
  ASSERT_FALSE(repeated.has_value());
  EXPECT_EQ(repeated.error().code, ErrorCode::kInvalidJson);
  const auto list = FromWire<ReasonBody>("[]", UnknownMembers::kRefuse);
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().faults, (std::vector<Fault>{{"", "must be an object"}}));
}

TEST(WireFieldsTest, ASnapshotIsReadAsItIsWritten) {
  RunSnapshot snapshot;
  snapshot.run_id = "r";
  snapshot.tenant_id = "t";
  snapshot.status = "FAILED";
  snapshot.error = StepSnapshot::Failure{"BOOM", "it broke", true};
  snapshot.total_duration_ms = 12;
  StepSnapshot step;
  step.step_id = "a";
  step.status = "FAILED";
  step.artifacts = R"([{"uri":"artifact:x"}])";
  step.logical_attempt = 2;
  snapshot.steps.push_back(step);
  const auto again = FromWire<RunSnapshot>(ToJson(snapshot), UnknownMembers::kIgnore);
  ASSERT_TRUE(again.has_value()) << ToString(again.error());
  EXPECT_EQ(*again, snapshot);
}

TEST(WireFieldsTest, TheNumberOfFaultsIsBounded) {
  std::string text = R"({"steps":[1)";
  for (int i = 0; i < 1'000; ++i) text += ",1";
  const auto items = FromWire<RunView>(text + "]}", UnknownMembers::kRefuse);
  ASSERT_FALSE(items);
  EXPECT_LE(items.error().faults.size(), FieldReader::kFaultsMax + 8) << "plus missing members";
  text = R"({"x":1)";
  for (int i = 0; i < 1'000; ++i) text += ",\"x" + std::to_string(i) + "\":1";
  const auto members = FromWire<RunView>(text + "}", UnknownMembers::kRefuse);
  ASSERT_FALSE(members);
  EXPECT_LE(members.error().faults.size(), FieldReader::kFaultsMax + 8);
}

}  // namespace
}  // namespace everstep
