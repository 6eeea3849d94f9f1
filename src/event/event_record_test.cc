#include "event/event_record.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "testing/arbitrary_event.h"

namespace everstep {
namespace {

std::string Encoded(const Event& event) {
  std::string bytes;
  EncodeEventRecord(event, bytes);
  return bytes;
}

bool IsRefused(std::string_view bytes) {
  const Result<Event> event = DecodeEventRecord(bytes);
  return !event && event.error().code == ErrorCode::kStoreCorrupt;
}

// `body` with its checksum appended.
std::string Sealed(std::string body) {
  const std::uint32_t crc = Crc32c(body);
  ByteWriter(body).U32(crc);
  return body;
}

std::string ToHexText(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    hex.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return hex;
}

std::string FromHexText(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

Event StepCompleted() {
  Event event;
  event.type = EventType::kStepCompleted;
  event.seq = EventSeq(4);
  event.event_id = "evnt_01HZZZZZZZZZZZZZZZZZZZZZZZ";
  event.entity_id = "model.orders";
  event.emitted_at = *ParseTimestamp("2026-02-12T00:00:00.003Z");
  event.persisted_at = *ParseTimestamp("2026-02-12T00:00:00.004Z");
  event.emitted_by = "activity-worker";
  event.payload = R"({"rows":42})";
  event.previous_of_entity = EventSeq(3);
  event.previous_of_type = EventSeq(1);
  return event;
}

Event Everything() {
  Event event = StepCompleted();
  event.type = EventType::kStepFailed;
  event.version = 3;
  event.seq = EventSeq(1'000'000);
  event.instance_id = "model.orders#2";
  event.parent_id = "workflow:main";
  event.logical_attempt = 2;
  event.engine_attempt = 7;
  event.attributes = R"({"county":"Lee"})";
  event.previous_of_entity = EventSeq(999'998);
  event.previous_of_type = EventSeq(17);
  event.facts.will_retry = true;
  event.facts.retryable = true;
  event.facts.revisit = true;
  event.facts.escalation = true;
  event.facts.due_at = *ParseTimestamp("2026-02-12T00:00:30.000001Z");
  event.facts.started_at = *ParseTimestamp("2026-02-11T23:59:59.999999Z");
  event.facts.token = "tok/ü";
  event.facts.error_code = "30001";
  event.facts.error_message = "schema says no";
  event.facts.engine_run_ref = R"({"provider":"mock"})";
  event.facts.artifacts = R"([{"uri":"s3://a/b"}])";
  return event;
}

Event Extremes() {
  Event event;
  event.type = static_cast<EventType>(255);
  event.version = 255;
  event.seq = EventSeq(std::numeric_limits<std::uint64_t>::max());
  event.logical_attempt = std::numeric_limits<std::uint32_t>::max();
  event.engine_attempt = 0;
  event.emitted_at = FromMicros(std::numeric_limits<std::int64_t>::min());
  event.persisted_at = FromMicros(std::numeric_limits<std::int64_t>::max());
  event.previous_of_entity = EventSeq(1);
  event.previous_of_type = EventSeq(std::numeric_limits<std::uint64_t>::max());
  event.payload = std::string("\0|\xff", 3);
  return event;
}

// The events encoded in tests/golden/event_record_v1.txt.
std::vector<std::pair<std::string, Event>> GoldenEvents() {
  Event first;
  first.type = EventType::kRunQueued;
  first.seq = EventSeq(1);
  first.event_id = "0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a";
  first.emitted_at = first.persisted_at = *ParseTimestamp("2026-02-12T00:00:00.001Z");
  Event wait = first;
  wait.type = EventType::kWaitCreated;
  wait.seq = EventSeq(300);
  wait.entity_id = "wait_1";
  wait.facts.due_at = *ParseTimestamp("2026-03-12T00:00:00Z");
  Event hook = first;
  hook.type = EventType::kHookCreated;
  hook.seq = EventSeq(127);
  hook.entity_id = "hook_1";
  hook.facts.token = "approval:42";
  return {{"default", Event{}},    {"run_queued", first},  {"step_completed", StepCompleted()},
          {"wait_created", wait},  {"hook_created", hook}, {"everything", Everything()},
          {"extremes", Extremes()}};
}

RC_GTEST_PROP(EventRecordTest, KeepsEveryEvent, (const Event& event)) {
  const Result<Event> decoded = DecodeEventRecord(Encoded(event));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == event);
}

RC_GTEST_PROP(EventRecordTest, EncodingAppendsToTheOutput,
              (const Event& event, const std::string& before)) {
  std::string bytes = before;
  EncodeEventRecord(event, bytes);
  RC_ASSERT(bytes == before + Encoded(event));
}

RC_GTEST_PROP(EventRecordTest, RefusesAnyBytesThatItDidNotWrite, (const std::string& bytes)) {
  RC_ASSERT(IsRefused(bytes));
}

// With a valid checksum the fields themselves are decoded. Any event that is accepted must survive
// another round trip.
RC_GTEST_PROP(EventRecordTest, SurvivesAnyBytesUnderAValidChecksum, (std::string body)) {
  body.insert(0, 1, '\x01');
  if (const Result<Event> event = DecodeEventRecord(Sealed(body))) {
    const Result<Event> again = DecodeEventRecord(Encoded(*event));
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == *event);
  }
}

RC_GTEST_PROP(EventRecordTest, SurvivesAnyDamageUnderAValidChecksum, (const Event& event)) {
  std::string body = Encoded(event);
  body.resize(body.size() - 4);
  const auto at = *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(body.size(), 60));
  body[at] = *rc::gen::arbitrary<char>();
  if (const Result<Event> damaged = DecodeEventRecord(Sealed(body))) {
    const Result<Event> again = DecodeEventRecord(Encoded(*damaged));
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == *damaged);
  }
}

TEST(EventRecordTest, RefusesEveryTruncation) {
  const std::string bytes = Encoded(Everything());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(IsRefused(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_TRUE(IsRefused(bytes + '\0'));
}

TEST(EventRecordTest, RefusesEveryFlippedBit) {
  const std::string bytes = Encoded(Everything());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(IsRefused(flipped)) << bit;
  }
}

TEST(EventRecordTest, RefusesAnUnknownFormat) {
  std::string body = Encoded(StepCompleted());
  body.resize(body.size() - 4);
  EXPECT_FALSE(IsRefused(Sealed(body)));
  body[0] = 2;
  EXPECT_TRUE(IsRefused(Sealed(body)));
}

TEST(EventRecordTest, RefusesUnknownFlagsAndOversizedAttempts) {
  const auto record = [](std::uint64_t flags, std::uint64_t attempt) {
    std::string body;
    ByteWriter writer(body);
    writer.Raw("\x01\x03\x01");
    writer.Varint(flags);
    writer.Varint(1);
    writer.SignedVarint(0);
    if ((flags & 1U << 7) != 0) writer.Varint(attempt);
    writer.Varint(0);
    return Sealed(body);
  };
  EXPECT_FALSE(IsRefused(record(0, 0)));
  EXPECT_FALSE(IsRefused(record(1U << 22, 0)));
  EXPECT_TRUE(IsRefused(record(1U << 23, 0)));
  EXPECT_FALSE(IsRefused(record(1U << 7, 0xffff'ffff)));
  EXPECT_TRUE(IsRefused(record(1U << 7, 0x1'0000'0000)));
}

TEST(EventRecordTest, ATypeOfALaterVersionDecodes) {
  Event event = StepCompleted();
  event.type = static_cast<EventType>(200);
  const Result<Event> decoded = DecodeEventRecord(Encoded(event));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, event);
}

TEST(EventRecordTest, TheOverheadOfATypicalEventIsSmall) {
  const Event event = StepCompleted();
  const std::size_t texts = event.event_id.size() + event.entity_id.size() +
                            event.emitted_by.size() + event.payload.size();
  EXPECT_LE(Encoded(event).size(), texts + 26);
}

TEST(EventRecordTest, TheStoredFormatIsUnchanged) {
  std::ifstream file(EVERSTEP_SOURCE_DIR "/tests/golden/event_record_v1.txt");
  ASSERT_TRUE(file.is_open());
  std::map<std::string, std::string> golden;
  std::string name;
  std::string hex;
  while (file >> name >> hex) golden[name] = hex;
  const auto events = GoldenEvents();
  EXPECT_EQ(golden.size(), events.size());
  for (const auto& [event_name, event] : events) {
    EXPECT_EQ(golden[event_name], ToHexText(Encoded(event))) << event_name;
    const Result<Event> decoded = DecodeEventRecord(FromHexText(golden[event_name]));
    ASSERT_TRUE(decoded.has_value()) << event_name;
    EXPECT_EQ(*decoded, event);
  }
}

}  // namespace
}  // namespace everstep
