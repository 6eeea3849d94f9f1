#include "event/idempotency_key.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "event/catalogue.h"

namespace everstep {
namespace {

constexpr const char* kVectors = EVERSTEP_SOURCE_DIR "/tests/vectors/contract-vectors.json";

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '|') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

// The vectors of the contract, published as data.
class ContractVectorsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(parser_.load(kVectors).get(vectors_), simdjson::SUCCESS); }

  simdjson::dom::array Section(std::string_view name) { return vectors_[name].get_array().value(); }

  static std::string Text(simdjson::dom::element vector, std::string_view key) {
    return std::string(vector[key].get_string().value());
  }

  // The key of the event described by the parts of a preimage, computed in both ways.
  static std::string KeyOf(const std::vector<std::string>& parts) {
    const KeyVersion version = parts.size() == 5 ? KeyVersion::kV1 : KeyVersion::kV2;
    const std::string plan_id = parts.size() == 6 ? parts[4] : "";
    const auto attempt = static_cast<std::uint32_t>(std::stoul(parts[2]));
    const Sha256Digest from_fields =
        IdempotencyKey(version, {parts[0], parts[1], attempt, parts[3], plan_id, parts.back()});

    Event event;
    event.type = EventTypeNamed(parts[3]).value();
    if (parts[1] != "RUN") event.entity_id = parts[1];
    event.logical_attempt = attempt;
    event.engine_attempt = 9;
    const RunScope scope{"t", "p", "e", plan_id, parts.back()};
    EXPECT_EQ(IdempotencyKey(version, RunId(parts[0]), scope, event), from_fields);
    return ToHex(from_fields);
  }

  simdjson::dom::parser parser_;
  simdjson::dom::element vectors_;
};

TEST_F(ContractVectorsTest, PublishedKeysOfBothVersionsMatch) {
  int count = 0;
  for (const std::string_view section : {"found_idempotency_v1", "found_idempotency_v2"}) {
    for (const auto vector : Section(section)) {
      const std::vector<std::string> parts = Split(Text(vector, "preimage"));
      EXPECT_EQ(parts.size(), Text(vector, "formula") == "v1" ? 5U : 6U);
      EXPECT_EQ(parts[0], Text(vector, "runId"));
      EXPECT_EQ(parts[1], Text(vector, "stepIdNormalized"));
      EXPECT_EQ(parts[2], std::to_string(vector["logicalAttemptId"].get_uint64().value()));
      EXPECT_EQ(parts[3], Text(vector, "eventType"));
      EXPECT_EQ(parts.back(), Text(vector, "planVersion"));
      EXPECT_EQ(KeyOf(parts), Text(vector, "sha256")) << Text(vector, "name");
      ++count;
    }
  }
  EXPECT_EQ(count, 10);
}

TEST_F(ContractVectorsTest, KeysOfTheGoldenStreamMatch) {
  std::uint64_t seq = 0;
  for (const auto vector : Section("executed_golden_stream_v2")) {
    EXPECT_EQ(vector["runSeq"].get_uint64().value(), ++seq);
    EXPECT_EQ(KeyOf(Split(Text(vector, "preimage"))), Text(vector, "sha256")) << seq;
  }
  EXPECT_EQ(seq, 7U);
}

TEST_F(ContractVectorsTest, DerivedKeysMatch) {
  int count = 0;
  for (const auto vector : Section("derived")) {
    const std::string name = Text(vector, "name");
    const std::vector<std::string> parts = Split(Text(vector, "preimage"));
    ++count;
    if (name == "run-queue sample") {
      const RunScope scope{parts[0], parts[1], parts[2], parts[3], parts[4]};
      EXPECT_EQ(ToHex(RunRequestKey(scope, parts[5])), Text(vector, "sha256"));
    } else if (name == "seed-A1-run literal 3-field") {
      // An example in the contract's appendix omits the instance and the attempt, contrary to the
      // contract's own formula. The vector documents that mistake; no key is computed that way.
      EXPECT_EQ(ToHex(Sha256(Text(vector, "preimage"))), Text(vector, "sha256"));
      EXPECT_EQ(parts.size(), 3U);
    } else {
      EXPECT_EQ(KeyOf(parts), Text(vector, "sha256")) << name;
    }
  }
  EXPECT_EQ(count, 4);
}

TEST_F(ContractVectorsTest, CanonicalSnapshotsAreFixedPointsWithThePublishedHash) {
  int count = 0;
  for (const auto vector : Section("found_snapshot_hashes_jcs")) {
    const std::string canonical = Text(vector, "canonical");
    const Result<std::string> again = CanonicalJson(canonical);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(*again, canonical);
    EXPECT_EQ(ToHex(Sha256(canonical)), Text(vector, "sha256")) << Text(vector, "name");
    ++count;
  }
  EXPECT_EQ(count, 3);
}

TEST_F(ContractVectorsTest, SamplesThatAreNoVectorsMatchTheirNotes) {
  const simdjson::dom::array samples = Section("not_vectors");
  EXPECT_EQ(Text(samples.at(0).value(), "value"), ToHex(Sha256("Hello World\n")));
  EXPECT_EQ(Text(samples.at(1).value(), "value"), ToHex(Sha256("")));
}

TEST(IdempotencyKeyTest, DependsOnExactlyTheFieldsOfItsVersion) {
  const KeyFields base{"run", "step", 1, "StepStarted", "plan", "1.0"};
  std::vector<KeyFields> variants(6, base);
  variants[0].run_id = "run2";
  variants[1].instance = "step2";
  variants[2].logical_attempt = 11;
  variants[3].event_type = "StepFailed";
  variants[4].plan_version = "1.1";
  variants[5].plan_id = "plan2";
  std::set<Sha256Digest> v1{IdempotencyKey(KeyVersion::kV1, base)};
  std::set<Sha256Digest> v2{IdempotencyKey(KeyVersion::kV2, base)};
  for (const KeyFields& fields : variants) {
    v1.insert(IdempotencyKey(KeyVersion::kV1, fields));
    v2.insert(IdempotencyKey(KeyVersion::kV2, fields));
  }
  EXPECT_EQ(v1.size(), 6U);  // planId is not a field of v1
  EXPECT_EQ(v2.size(), 7U);
}

TEST(IdempotencyKeyTest, AnInstanceReplacesItsEntity) {
  const RunScope scope{"t", "p", "e", "plan", "1.0"};
  Event event;
  event.type = EventType::kToolStarted;
  event.entity_id = "http";
  event.instance_id = "http/evnt_1";
  EXPECT_EQ(IdempotencyKey(KeyVersion::kV1, RunId("r"), scope, event),
            Sha256("r|http/evnt_1|1|ToolStarted|1.0"));
  event.instance_id.clear();
  EXPECT_EQ(IdempotencyKey(KeyVersion::kV2, RunId("r"), scope, event),
            Sha256("r|http|1|ToolStarted|plan|1.0"));
}

TEST(IdempotencyKeyTest, EventsOfTheRunAreKeyedAsRunWhateverTheirIds) {
  const RunScope scope{"t", "p", "e", "plan", "1.0"};
  Event event;
  event.type = EventType::kRunPaused;
  event.logical_attempt = 4'294'967'295;
  event.entity_id = "something";
  event.instance_id = "else";
  EXPECT_EQ(IdempotencyKey(KeyVersion::kV1, RunId("r"), scope, event),
            Sha256("r|RUN|4294967295|RunPaused|1.0"));
}

}  // namespace
}  // namespace everstep
