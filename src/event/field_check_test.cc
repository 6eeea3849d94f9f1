#include "event/field_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace everstep {
namespace {

using namespace field;  // NOLINT(google-build-using-namespace): the rule constructors
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::string_view kColours[] = {"red", "green"};
constexpr FieldRule kPartFields[] = {Required(Name("part")), Integer("count", 0, 9)};
constexpr ObjectRule kPart{kPartFields};
constexpr Refusal kRefusals[] = {{"runSeq", "is assigned"}};
constexpr FieldRule kFields[] = {
    Required(Identifier("id", Slot::kRunId)),
    Name("name"),
    Text("text", 3),
    Word("colour", kColours),
    Integer("attempt", 1, 10, Slot::kLogicalAttempt),
    Number("ratio"),
    Boolean("flag"),
    Time("at", Slot::kEmittedAt),
    Sha256Hex("digest"),
    Uuid("uuid"),
    Record("record"),
    Object("object", kPart),
    Objects("list", kPart),
    Texts("texts"),
    Any("any"),
    Token("token"),
};
constexpr ObjectRule kRule{kFields, false, kRefusals};

struct Outcome {
  std::vector<std::string> faults;
  std::vector<std::string> repeated;
  std::string messages;
};

Outcome Check(std::string_view json) {
  static const FieldCheck check(kRule);
  simdjson::dom::parser parser;
  simdjson::dom::object document;
  EXPECT_FALSE(parser.parse(json.data(), json.size()).get(document)) << json;
  Findings findings;
  check.Run(document, findings);
  Outcome outcome;
  for (const Fault& fault : findings.faults) {
    outcome.faults.push_back(fault.pointer);
    outcome.messages += fault.message + "\n";
  }
  for (const Fault& fault : findings.repeated) outcome.repeated.push_back(fault.pointer);
  return outcome;
}

std::vector<std::string> FaultsWith(const std::string& member) {
  return Check(R"({"id":"r1",)" + member + "}").faults;
}

TEST(FieldCheck, AcceptsValidDocuments) {
  EXPECT_THAT(Check(R"({"id":"r1"})").faults, IsEmpty());
  EXPECT_THAT(FaultsWith(R"("name":"é","text":"€€€","colour":"red","attempt":10,"ratio":-1e9,
      "flag":false,"at":"2024-02-29T00:00:00Z","record":{"x":[1]},"object":{"part":"p"},
      "list":[{"part":"p","more":1}],"texts":["a"],"any":null)"),
              IsEmpty());
}

TEST(FieldCheck, FindsEveryFaultAtOnceWithAPointer) {
  const Outcome outcome = Check(R"({"colour":"blue","attempt":0,"object":{"count":10},
      "list":[{"part":"p"},7,{"part":"|"}],"texts":["a",1],"what/ever~":1})");
  EXPECT_THAT(outcome.faults,
              UnorderedElementsAre("/id", "/colour", "/attempt", "/object/part", "/object/count",
                                   "/list/1", "/list/2/part", "/texts/1", "/what~1ever~0"));
}

TEST(FieldCheck, MessagesStateWhatIsExpected) {
  EXPECT_THAT(Check(R"({"id":"r","colour":"blue"})").messages,
              HasSubstr(R"(one of "red", "green")"));
  EXPECT_THAT(Check(R"({"id":"r","attempt":11})").messages, HasSubstr("an integer from 1 to 10"));
  EXPECT_THAT(Check(R"({})").messages, HasSubstr("is required: an identifier"));
  EXPECT_THAT(Check(R"({"id":"r","idd":1})").messages, HasSubstr("the members are id, name"));
  EXPECT_THAT(Check(R"({"id":"r","runSeq":1})").messages, HasSubstr("is assigned"));
}

TEST(FieldCheck, AcceptsTheIntegersOfJsonSchema) {
  for (const char* good : {"1", "1.0", "1e0", "10"}) {
    EXPECT_THAT(FaultsWith(std::string("\"attempt\":") + good), IsEmpty()) << good;
  }
  for (const char* bad :
       {"0", "1.5", "11", "-1", "1e300", "18446744073709551615", "true", "\"1\""}) {
    EXPECT_THAT(FaultsWith(std::string("\"attempt\":") + bad), ElementsAre("/attempt")) << bad;
  }
}

TEST(FieldCheck, CountsCharactersAndNotBytes) {
  EXPECT_THAT(FaultsWith(R"("text":"😀😀😀")"), IsEmpty());
  EXPECT_THAT(FaultsWith(R"("text":"aaaa")"), ElementsAre("/text"));
}

TEST(FieldCheck, TokensMayBeLongerThanNames) {
  EXPECT_THAT(FaultsWith("\"token\":\"" + std::string(2048, 't') + "\""), IsEmpty());
  EXPECT_THAT(FaultsWith("\"token\":\"" + std::string(2049, 't') + "\""), ElementsAre("/token"));
  EXPECT_THAT(FaultsWith("\"token\":\"" + std::string(700, 't') + "|\""), ElementsAre("/token"));
  EXPECT_THAT(FaultsWith("\"name\":\"" + std::string(257, 't') + "\""), ElementsAre("/name"));
}

TEST(FieldCheck, RejectsDaysThatDoNotExist) {
  EXPECT_THAT(FaultsWith(R"("at":"2026-02-30T00:00:00Z")"), ElementsAre("/at"));
  EXPECT_THAT(FaultsWith(R"("at":"2100-02-29T00:00:00Z")"), ElementsAre("/at"));
}

TEST(FieldCheck, FindsRepeatedMembersAtAnyDepth) {
  EXPECT_THAT(Check(R"({"id":"a","id":"b"})").repeated, ElementsAre("/id"));
  EXPECT_THAT(Check(R"({"id":"a","any":{"x":{"y":1,"y":2}}})").repeated, ElementsAre("/any/x/y"));
  EXPECT_THAT(Check(R"({"id":"a","record":{"l":[{"k":1,"\u006b":2}]}})").repeated,
              ElementsAre("/record/l/0/k"));
  EXPECT_THAT(Check(R"({"id":"a","object":{"part":"p","x":1,"x":1}})").repeated,
              ElementsAre("/object/x"));
  EXPECT_THAT(Check(R"({"id":"a","any":{"a":{"x":1},"b":{"x":1}}})").repeated, IsEmpty());
}

TEST(FieldCheck, FindsARepeatAmongManyMembers) {
  std::string many = R"({"id":"a","any":{)";
  for (int i = 0; i < 40; ++i) many += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_THAT(Check(many + R"("k7":2}})").repeated, ElementsAre("/any/k7"));
  EXPECT_THAT(Check(many + R"("z":2}})").repeated, IsEmpty());
}

TEST(FieldCheck, BoundsTheNumberOfFaults) {
  std::string many = R"({"id":"a")";
  for (int i = 0; i < 1000; ++i) many += ",\"k" + std::to_string(i) + "\":1";
  EXPECT_EQ(Check(many + "}").faults.size(), kFaultsMax);
}

TEST(FieldCheck, ReturnsTheValuesWithASlot) {
  const FieldCheck check(kRule);
  simdjson::dom::parser parser;
  const std::string json = R"({"at":"1970-01-01T00:00:01Z","id":"r","attempt":3.0,"name":"n"})";
  Findings findings;
  check.Run(parser.parse(json), findings);
  ASSERT_EQ(findings.found.size(), 3u);
  EXPECT_EQ(findings.found[0].number, 1'000'000);
  EXPECT_EQ(findings.found[1].rule->slot, Slot::kRunId);
  EXPECT_EQ(findings.found[2].number, 3);
}

}  // namespace
}  // namespace everstep
