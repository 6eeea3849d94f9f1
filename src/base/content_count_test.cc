#include "base/content_count.h"

#include <gtest/gtest.h>

#include <string>

#include "base/cbor.h"

namespace everstep {
namespace {

std::string Repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

std::size_t ItemsOf(const CborItem& item) {
  std::size_t items = 1;
  for (const CborItem& child : item.items) items += ItemsOf(child);
  return items;
}

TEST(ContentCountTest, CountsEveryValueOfJson) {
  EXPECT_EQ(CountValues(ContentKind::kJson, "7"), 1U);
  EXPECT_GE(CountValues(ContentKind::kJson, "[1,2,[],{}]"), 5U);
  EXPECT_GE(CountValues(ContentKind::kJson, R"({"a":{"b":[null]}})"), 4U);
  EXPECT_GE(CountValues(ContentKind::kJson, "[" + Repeated("[],", 1'000)), 1'001U);
}

TEST(ContentCountTest, CharactersInsideAJsonTextAreNotCounted) {
  EXPECT_EQ(CountValues(ContentKind::kJson, R"("a,b:[{\",,,\\")"), 1U);
  EXPECT_EQ(CountValues(ContentKind::kJson, "\"never closed,,,,"), 1U);
  EXPECT_EQ(CountValues(ContentKind::kJson, "\"ends in a mark\\"), 1U);
}

TEST(ContentCountTest, CountsEveryItemOfCbor) {
  std::string bytes;
  CborWriter cbor(bytes);
  cbor.BeginMap();
  cbor.Member("calls", "a text");
  cbor.Key("list");
  cbor.ArrayOf(300);
  for (int i = 0; i < 300; ++i) cbor.Int(i * 1'000);
  cbor.Key("bytes");
  cbor.Bytes(std::string(1'000, '\xf6'));
  cbor.End();
  const auto parsed = ParseCbor(bytes);
  ASSERT_TRUE(parsed);
  const std::size_t counted = CountValues(ContentKind::kCbor, bytes);
  EXPECT_GE(counted, ItemsOf(*parsed));
  EXPECT_LE(counted, ItemsOf(*parsed) + 1) << "the break byte of the map counts as a head";
}

TEST(ContentCountTest, AForgedLengthIsNotFollowed) {
  EXPECT_EQ(CountValues(ContentKind::kCbor, std::string("\x7b\xff\xff\xff\xff\xff\xff\xff\xff", 9)),
            1U);
  EXPECT_EQ(CountValues(ContentKind::kCbor, "\x5b"), 1U);
  EXPECT_EQ(CountValues(ContentKind::kCbor, ""), 0U);
}

TEST(ContentCountTest, CountsTheValuesOfYaml) {
  EXPECT_GE(CountValues(ContentKind::kYaml, "a: 1\nb: [1, 2]\n"), 5U);
  EXPECT_GE(CountValues(ContentKind::kYaml, "- - - x"), 4U);
  EXPECT_GE(CountValues(ContentKind::kYaml, "? a\n? b"), 3U) << "members without a value";
}

}  // namespace
}  // namespace everstep
