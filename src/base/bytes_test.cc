#include "base/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace everstep {
namespace {

std::string VarintOf(std::uint64_t value) {
  std::string bytes;
  ByteWriter(bytes).Varint(value);
  return bytes;
}

std::string BigEndianOf(std::uint64_t value) {
  std::string bytes;
  ByteWriter(bytes).U64(value);
  return bytes;
}

RC_GTEST_PROP(BytesTest, EverythingReadsBackInOrder,
              (std::uint8_t small, std::uint64_t number, std::int64_t signed_number,
               std::uint32_t word, const std::string& text, const std::string& raw)) {
  const int shift = *rc::gen::inRange(0, 64);
  std::string bytes;
  ByteWriter writer(bytes);
  writer.U8(small);
  writer.Varint(number >> shift);
  writer.SignedVarint(signed_number >> shift);
  writer.U32(word);
  writer.U64(number);
  writer.String(text);
  writer.Raw(raw);
  ByteReader reader(bytes);
  RC_ASSERT(reader.U8() == small);
  RC_ASSERT(reader.Varint() == number >> shift);
  RC_ASSERT(reader.SignedVarint() == signed_number >> shift);
  RC_ASSERT(reader.U32() == word);
  RC_ASSERT(reader.U64() == number);
  RC_ASSERT(reader.String() == text);
  RC_ASSERT(reader.rest() == raw);
  RC_ASSERT(reader.Raw(raw.size()) == raw);
  RC_ASSERT(reader.ok());
  RC_ASSERT(reader.AtEnd());
}

RC_GTEST_PROP(BytesTest, BigEndianBytesSortLikeTheNumbers, (std::uint64_t a, std::uint64_t b)) {
  RC_ASSERT((a < b) == (BigEndianOf(a) < BigEndianOf(b)));
}

TEST(BytesTest, VarintsTakeSevenBitsPerByte) {
  EXPECT_EQ(VarintOf(0), std::string(1, '\0'));
  EXPECT_EQ(VarintOf(127), "\x7f");
  EXPECT_EQ(VarintOf(128), "\x80\x01");
  EXPECT_EQ(VarintOf(300), "\xac\x02");
  EXPECT_EQ(VarintOf(std::numeric_limits<std::uint64_t>::max()).size(), 10U);
}

TEST(BytesTest, SmallNegativeNumbersStayShort) {
  std::string bytes;
  ByteWriter(bytes).SignedVarint(-1);
  EXPECT_EQ(bytes, "\x01");
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max(), std::int64_t{0}}) {
    bytes.clear();
    ByteWriter(bytes).SignedVarint(value);
    EXPECT_EQ(ByteReader(bytes).SignedVarint(), value);
  }
}

TEST(BytesTest, AVarintThatHoldsMoreThan64BitsIsRefused) {
  for (const std::string& bytes : {std::string(9, '\xff') + "\x02", std::string(9, '\xff') + "\x7f",
                                   std::string(10, '\xff') + "\x01", std::string(20, '\x80')}) {
    ByteReader reader(bytes);
    EXPECT_EQ(reader.Varint(), 0U);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(BytesTest, AfterAShortReadEveryReadIsEmpty) {
  ByteReader reader(std::string_view("\x01\x02\x03", 3));
  EXPECT_EQ(reader.U32(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.U8(), 0U);
  EXPECT_EQ(reader.Varint(), 0U);
  EXPECT_EQ(reader.String(), "");
  EXPECT_FALSE(reader.ok());
}

TEST(BytesTest, ALengthBeyondTheInputIsRefused) {
  std::string bytes = VarintOf(std::numeric_limits<std::uint64_t>::max()) + "abc";
  ByteReader reader(bytes);
  EXPECT_EQ(reader.String(), "");
  EXPECT_FALSE(reader.ok());
}

RC_GTEST_PROP(BytesTest, NoInputIsReadBeyondItsEnd,
              (const std::string& bytes, const std::vector<std::uint8_t>& reads)) {
  ByteReader reader(bytes);
  for (const std::uint8_t read : reads) {
    switch (read % 6) {
      case 0:
        reader.U8();
        break;
      case 1:
        reader.Varint();
        break;
      case 2:
        reader.SignedVarint();
        break;
      case 3:
        reader.U32();
        break;
      case 4:
        reader.U64();
        break;
      default:
        reader.String();
        break;
    }
    RC_ASSERT(reader.rest().size() <= bytes.size());
  }
}

}  // namespace
}  // namespace everstep
