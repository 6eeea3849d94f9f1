#include "base/cbor.h"

#include <gtest/gtest.h>

#include "base/content_count.h"

namespace everstep {
namespace {

std::string Hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

TEST(Cbor, ReadsTheExamplesOfTheStandard) {
  EXPECT_EQ(ParseCbor(Hex("1bffffffffffffffff"))->integer, UINT64_MAX);
  EXPECT_EQ(ParseCbor(Hex("3903e7"))->AsNumber(), -1000);
  EXPECT_EQ(ParseCbor(Hex("f93e00"))->AsNumber(), 1.5);
  EXPECT_EQ(ParseCbor(Hex("fa47c35000"))->AsNumber(), 100000.0);
  EXPECT_EQ(ParseCbor(Hex("fb3ff199999999999a"))->AsNumber(), 1.1);
  EXPECT_EQ(ParseCbor(Hex("f7"))->kind, CborItem::Kind::kNull);
  EXPECT_TRUE(ParseCbor(Hex("a1616ef5"))->Flag("n"));
  EXPECT_EQ(ParseCbor(Hex("c11a514b67b0"))->AsTime(), FromMicros(1'363'896'240'000'000));
  EXPECT_EQ(ParseCbor(Hex("9f01820203ff"))->items.size(), 2);
  const std::string bytes = Hex("4401020304");
  EXPECT_EQ(ParseCbor(bytes)->text, Hex("01020304"));
}

TEST(Cbor, RefusesAnythingButOneWholeItem) {
  for (const char* hex :
       {"", "18", "0000", "a10102", "a2616101616102", "61ff", "5affffffff", "c0", "9f00",
        "bf6161ff", "7f6161ff", "9bffffffffffffffff", "f8ff", "c1f97e00"}) {
    const std::string bytes = Hex(hex);
    const auto item = ParseCbor(bytes);
    ASSERT_FALSE(item) << hex;
    EXPECT_EQ(item.error().code, ErrorCode::kInvalidArgument) << hex;
  }
  EXPECT_FALSE(ParseCbor(std::string(100, '\x81') + '\0'));
}

TEST(Cbor, WritesWhatItReads) {
  std::string out;
  CborWriter cbor(out);
  cbor.ArrayOf(7);
  cbor.Int(-500);
  cbor.Uint(70'000);
  cbor.Double(2.5);
  cbor.Text("pump");
  cbor.Bytes(std::string_view("\0\xff", 2));
  cbor.Time(FromMicros(1'700'000'000'123'000));
  cbor.Null();
  const auto item = ParseCbor(out);
  ASSERT_TRUE(item) << ToString(item.error());
  EXPECT_EQ(item->items[0].AsNumber(), -500);
  EXPECT_EQ(item->items[1].integer, 70'000);
  EXPECT_EQ(item->items[2].number, 2.5);
  EXPECT_EQ(item->items[3].text, "pump");
  EXPECT_EQ(item->items[4].text, std::string_view("\0\xff", 2));
  EXPECT_EQ(item->items[5].AsTime(), FromMicros(1'700'000'000'123'000));
  EXPECT_EQ(item->items[6].kind, CborItem::Kind::kNull);
}

TEST(CborTest, ItemsAreBounded) {
  std::string list("\x9f");
  list.append(kContentValuesMax - 1, '\xf6');
  EXPECT_TRUE(ParseCbor(list + '\xff'));
  const auto many = ParseCbor(list + "\xf6\xff");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message, "invalid CBOR: more than 1,000,000 items");
  // A declared length that is too large is refused before memory is allocated for it.
  std::string declared("\x9a\x00\x1e\x84\x80", 5);
  declared.append(2'000'000, '\xf6');
  EXPECT_FALSE(ParseCbor(declared));
}

}  // namespace
}  // namespace everstep
