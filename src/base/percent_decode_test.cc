#include "base/percent_decode.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace everstep {
namespace {

std::optional<std::string> Segment(std::string_view text) {
  return PercentDecode(text, PlusMeans::kPlus);
}

TEST(PercentDecodeTest, DecodesEachEscapeOnce) {
  EXPECT_EQ(Segment("run%3A7"), "run:7");
  EXPECT_EQ(Segment("a%2Fb"), "a/b");
  EXPECT_EQ(Segment("%252F"), "%2F");
  EXPECT_EQ(Segment("caf%C3%a9"), "café");
  EXPECT_EQ(Segment(""), "");
}

TEST(PercentDecodeTest, APlusIsASpaceInQueriesOnly) {
  EXPECT_EQ(Segment("a+b"), "a+b");
  EXPECT_EQ(PercentDecode("a+b%2B", PlusMeans::kSpace), "a b+");
}

TEST(PercentDecodeTest, RefusesMalformedEscapesAndInvalidText) {
  for (const std::string_view text :
       {"%", "%4", "a%zz", "%-1", "%00", "%0a", "%7F", "%ff", "%c3", "%ed%a0%80"}) {
    EXPECT_EQ(Segment(text), std::nullopt) << text;
  }
}

TEST(PercentDecodeTest, DecodesWhatTheEncoderWrites) {
  for (const std::string text : {"a b/c?d=e&f%+", "ü☃𝄞", "-._~"}) {
    EXPECT_EQ(Segment(PercentEncode(text)), text);
  }
}

}  // namespace
}  // namespace everstep
