#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "machine/state.h"
#include "testing/arbitrary_event.h"

namespace everstep {
namespace {

// Parameters of the tests for both kinds of row.
struct RunRow {
  using State = RunState;
  static void Encode(const State& state, std::string& out) { EncodeRunState(state, out); }
  static Result<State> Decode(std::string_view bytes) { return DecodeRunState(bytes); }
};
struct EntityRow {
  using State = EntityState;
  static void Encode(const State& state, std::string& out) { EncodeEntityState(state, out); }
  static Result<State> Decode(std::string_view bytes) { return DecodeEntityState(bytes); }
};

template <typename Row>
std::string Encoded(const typename Row::State& state) {
  std::string bytes;
  Row::Encode(state, bytes);
  return bytes;
}

template <typename Row>
bool IsRefused(std::string_view bytes) {
  const auto state = Row::Decode(bytes);
  return !state && state.error().code == ErrorCode::kStoreCorrupt;
}

// `body` with its checksum appended.
std::string Sealed(std::string body) {
  const std::uint32_t crc = Crc32c(body);
  ByteWriter(body).U32(crc);
  return body;
}

std::string Unsealed(const std::string& row) { return row.substr(0, row.size() - 4); }

RunState AnyRun() {
  RunState run;
  run.scope = {*AnyText(), *AnyText(), *AnyText(), *AnyText(), *AnyText()};
  run.key_version = *rc::gen::element(KeyVersion::kV1, KeyVersion::kV2);
  run.status = static_cast<RunStatus>(*rc::gen::inRange(0, 8));
  run.inconsistent = *rc::gen::arbitrary<bool>();
  run.pause_epoch = *AnyNumber<std::uint32_t>();
  run.engine_attempt = *AnyNumber<std::uint32_t>();
  run.last_seq = *AnyEventSeq();
  for (Timestamp* time : {&run.created_at, &run.updated_at, &run.started_at, &run.completed_at}) {
    *time = *AnyTimestamp();
  }
  for (std::string* text :
       {&run.engine_run_ref, &run.error_code, &run.error_message, &run.artifacts}) {
    *text = *AnyText();
  }
  for (std::uint64_t* count :
       {&run.steps_total, &run.steps_running, &run.steps_succeeded, &run.steps_failed,
        &run.steps_skipped, &run.hooks_active, &run.waits_open, &run.errors_open}) {
    *count = *AnyNumber<std::uint64_t>();
  }
  for (std::size_t type = 1; type < run.last_of_type.size(); ++type) {
    run.last_of_type[type] = *AnyEventSeq();
  }
  return run;
}

EntityState AnyEntity() {
  EntityState entity;
  entity.status = static_cast<EntityStatus>(*rc::gen::inRange(0, 17));
  entity.will_retry = *rc::gen::arbitrary<bool>();
  entity.retryable = *rc::gen::arbitrary<bool>();
  for (std::uint32_t* number : {&entity.logical_attempt, &entity.engine_attempt, &entity.starts}) {
    *number = *AnyNumber<std::uint32_t>();
  }
  entity.occurrences = *AnyNumber<std::uint64_t>();
  entity.first_seq = *AnyEventSeq();
  entity.last_seq = *AnyEventSeq();
  for (Timestamp* time : {&entity.started_at, &entity.completed_at, &entity.due_at}) {
    *time = *AnyTimestamp();
  }
  for (std::string* text : {&entity.token, &entity.error_code, &entity.error_message,
                            &entity.artifacts, &entity.parent_id}) {
    *text = *AnyText();
  }
  return entity;
}

// The states encoded in tests/golden/state_record_v1.txt.
RunState FullRun() {
  RunState run;
  run.scope = {"acme", "billing", "prod", "invoice", "1.4.0"};
  run.key_version = KeyVersion::kV2;
  run.status = RunStatus::kFailed;
  run.inconsistent = true;
  run.pause_epoch = 2;
  run.engine_attempt = 3;
  run.last_seq = EventSeq(1'000'000);
  run.created_at = FromMicros(1'770'811'200'000'000);
  run.updated_at = FromMicros(1'770'811'260'000'001);
  run.started_at = FromMicros(1'770'811'199'000'000);
  run.completed_at = FromMicros(1'770'811'260'000'000);
  run.engine_run_ref = "temporal:wf-1";
  run.error_code = "E42";
  run.error_message = "no disk";
  run.artifacts = "[{}]";
  run.steps_total = 300;
  run.steps_running = 1;
  run.steps_succeeded = 290;
  run.steps_failed = 8;
  run.steps_skipped = 1;
  run.hooks_active = 4;
  run.waits_open = 5;
  run.errors_open = 6;
  run.last_of_type[static_cast<std::size_t>(EventType::kRunQueued)] = EventSeq(1);
  run.last_of_type[static_cast<std::size_t>(EventType::kRunFailed)] = EventSeq(1'000'000);
  run.last_of_type[static_cast<std::size_t>(EventType::kChildFinished)] = EventSeq(999'000);
  return run;
}

RunState SmallRun() {
  RunState run;
  run.scope = {"default", "default", "default", "plan", "1"};
  run.status = RunStatus::kPending;
  run.last_seq = EventSeq(1);
  run.created_at = FromMicros(1'770'811'200'000'000);
  run.updated_at = run.created_at;
  run.last_of_type[static_cast<std::size_t>(EventType::kRunQueued)] = EventSeq(1);
  return run;
}

EntityState FullEntity() {
  EntityState entity;
  entity.status = EntityStatus::kUnrecoverable;
  entity.will_retry = true;
  entity.retryable = true;
  entity.logical_attempt = 2;
  entity.engine_attempt = 300;
  entity.starts = 5;
  entity.occurrences = 9;
  entity.first_seq = EventSeq(7);
  entity.last_seq = EventSeq(1'000);
  entity.started_at = FromMicros(1'770'811'200'000'000);
  entity.completed_at = FromMicros(1'770'811'201'500'000);
  entity.due_at = FromMicros(1'770'811'199'000'000);
  entity.token = "tok";
  entity.error_code = "E1";
  entity.error_message = "timeout";
  entity.artifacts = "[1]";
  entity.parent_id = "loop";
  return entity;
}

EntityState SmallEntity() {
  EntityState entity;
  entity.status = EntityStatus::kPending;
  entity.logical_attempt = 1;
  entity.engine_attempt = 1;
  entity.occurrences = 1;
  entity.first_seq = EventSeq(2);
  entity.last_seq = EventSeq(2);
  return entity;
}

std::string ToHexText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    hex.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return hex;
}

TEST(StateNames, AreThoseOfTheContract) {
  EXPECT_EQ(Name(RunStatus::kApproved), "APPROVED");
  EXPECT_EQ(Name(EntityStatus::kElapsed), "ELAPSED");
  EXPECT_EQ(Name(EntityStatus::kUnrecoverable), "UNRECOVERABLE");
  for (int number = 1; number < 8; ++number) {
    const auto status = static_cast<RunStatus>(number);
    EXPECT_EQ(RunStatusNamed(Name(status)), status);
  }
  EXPECT_EQ(RunStatusNamed("ABSENT"), std::nullopt);
  EXPECT_EQ(RunStatusNamed("running"), std::nullopt);
}

RC_GTEST_PROP(StateRecord, EveryRunReadsBack, ()) {
  const RunState run = AnyRun();
  const auto decoded = DecodeRunState(Encoded<RunRow>(run));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == run);
}

RC_GTEST_PROP(StateRecord, EveryEntityReadsBack, ()) {
  const EntityState entity = AnyEntity();
  const auto decoded = DecodeEntityState(Encoded<EntityRow>(entity));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == entity);
}

RC_GTEST_PROP(StateRecord, AnyBytesAreDecodedOrRefused, ()) {
  const std::string bytes = *AnyText();
  RC_ASSERT(IsRefused<RunRow>(bytes));
  RC_ASSERT(IsRefused<EntityRow>(bytes));
  // With a valid checksum and version the fields themselves are decoded.
  const std::string sealed = Sealed("\x01" + bytes);
  if (const auto run = DecodeRunState(sealed)) RC_ASSERT(DecodeRunState(Encoded<RunRow>(*run)));
  if (const auto entity = DecodeEntityState(sealed)) {
    RC_ASSERT(DecodeEntityState(Encoded<EntityRow>(*entity)));
  }
}

RC_GTEST_PROP(StateRecord, ADamagedFieldWithAValidChecksumIsHandled, ()) {
  std::string run = Unsealed(Encoded<RunRow>(FullRun()));
  std::string entity = Unsealed(Encoded<EntityRow>(FullEntity()));
  const auto damage = [](std::string& body) {
    body[*rc::gen::inRange<std::size_t>(0, body.size())] = *rc::gen::arbitrary<char>();
    body = Sealed(body);
  };
  damage(run);
  damage(entity);
  const auto decoded_run = DecodeRunState(run);
  const auto decoded_entity = DecodeEntityState(entity);
  RC_TAG(decoded_run.has_value(), decoded_entity.has_value());
}

template <typename Row>
class StateRecordOf : public ::testing::Test {
 public:
  static std::string FullBytes() {
    if constexpr (std::is_same_v<Row, RunRow>) {
      return Encoded<Row>(FullRun());
    } else {
      return Encoded<Row>(FullEntity());
    }
  }
};
using Rows = ::testing::Types<RunRow, EntityRow>;
TYPED_TEST_SUITE(StateRecordOf, Rows);

TYPED_TEST(StateRecordOf, RefusesEveryTruncation) {
  const std::string bytes = this->FullBytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(IsRefused<TypeParam>(bytes.substr(0, size))) << size;
    const std::string body = Unsealed(bytes).substr(0, std::min(size, bytes.size() - 5));
    EXPECT_TRUE(IsRefused<TypeParam>(Sealed(body))) << size << ", with a valid checksum";
  }
}

TYPED_TEST(StateRecordOf, RefusesEveryFlippedBit) {
  const std::string bytes = this->FullBytes();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(IsRefused<TypeParam>(flipped)) << bit;
  }
}

TYPED_TEST(StateRecordOf, RefusesWhatItWouldNotWrite) {
  const std::string body = Unsealed(this->FullBytes());
  EXPECT_FALSE(IsRefused<TypeParam>(Sealed(body)));
  EXPECT_TRUE(IsRefused<TypeParam>(Sealed(body + '\0'))) << "trailing byte";
  std::string newer = body;
  newer[0] = 2;
  EXPECT_TRUE(IsRefused<TypeParam>(Sealed(newer))) << "another version";
  std::string status = body;
  status[1] = 0x3f;
  EXPECT_TRUE(IsRefused<TypeParam>(Sealed(status))) << "a status that does not exist";
}

TYPED_TEST(StateRecordOf, EncodingAppendsToTheOutput) {
  std::string out = "before";
  TypeParam::Encode({}, out);
  EXPECT_EQ(out, "before" + Encoded<TypeParam>({}));
}

TEST(StateRecord, AnUnusedFieldIsAbsentAndNotZero) {
  // version, PENDING, presence bit of started_at, 1/1 attempts, 0 starts, 1 event, seq 2..2, time
  // 0.
  const std::string zero_time("\x01\x01\x01\x01\x01\x00\x01\x02\x00\x00", 10);
  EXPECT_TRUE(IsRefused<EntityRow>(Sealed(zero_time)));
  const std::string no_time("\x01\x01\x00\x01\x01\x00\x01\x02\x00", 9);
  const auto entity = DecodeEntityState(Sealed(no_time));
  ASSERT_TRUE(entity);
  EXPECT_EQ(*entity, SmallEntity());
}

TEST(StateRecord, AnAttemptTooLargeForItsFieldIsRefused) {
  std::string body("\x01\x01\x00", 3);
  ByteWriter writer(body);
  writer.Varint(std::uint64_t{1} << 32);
  for (const unsigned value : {1u, 0u, 1u, 2u, 0u}) writer.Varint(value);
  EXPECT_TRUE(IsRefused<EntityRow>(Sealed(body)));
}

TEST(StateRecord, ExtremeTimesReadBack) {
  EntityState entity = SmallEntity();
  entity.started_at = FromMicros(std::numeric_limits<std::int64_t>::max());
  entity.completed_at = FromMicros(std::numeric_limits<std::int64_t>::min());
  entity.due_at = FromMicros(-1);
  const auto decoded = DecodeEntityState(Encoded<EntityRow>(entity));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, entity);
}

TEST(StateRecord, TheSizeOfARunRowIsBounded) {
  RunState run = FullRun();
  const std::size_t before = Encoded<RunRow>(run).size();
  run.last_seq = EventSeq(999'999'999);
  for (EventSeq& head : run.last_of_type) head = EventSeq(999'999'000);
  run.last_of_type[0] = EventSeq();
  EXPECT_LT(Encoded<RunRow>(run).size(), before + 128);
}

TEST(StateRecord, SmallStatesAreSmall) {
  EXPECT_LE(Encoded<EntityRow>(SmallEntity()).size(), 16u);
  EXPECT_LE(Encoded<RunRow>(SmallRun()).size(), 64u);
}

TEST(StateRecord, TheStoredFormatIsUnchanged) {
  const std::map<std::string, std::string> now = {
      {"run-full", ToHexText(Encoded<RunRow>(FullRun()))},
      {"run-small", ToHexText(Encoded<RunRow>(SmallRun()))},
      {"entity-full", ToHexText(Encoded<EntityRow>(FullEntity()))},
      {"entity-small", ToHexText(Encoded<EntityRow>(SmallEntity()))},
  };
  std::ifstream file(EVERSTEP_SOURCE_DIR "/tests/golden/state_record_v1.txt");
  std::map<std::string, std::string> golden;
  for (std::string name, hex; file >> name >> hex;) golden[name] = hex;
  EXPECT_EQ(golden, now);
}

}  // namespace
}  // namespace everstep
