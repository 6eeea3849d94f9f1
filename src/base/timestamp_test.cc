#include "base/timestamp.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace everstep {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The text as this build writes it, or "refused".
std::string Rewritten(std::string_view text) {
  const auto time = ParseTimestamp(text);
  return time ? FormatTimestamp(*time) : "refused";
}

TEST(TimestampTest, ReadsAndWritesMilliseconds) {
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.000Z"), "2026-02-11T10:30:00.000Z");
  EXPECT_EQ(Micros(*ParseTimestamp("2026-02-12T00:00:00.001Z")), 1'770'854'400'001'000);
}

TEST(TimestampTest, TheEpochIsZero) {
  EXPECT_EQ(Micros(*ParseTimestamp("1970-01-01T00:00:00.000Z")), 0);
  EXPECT_EQ(FormatTimestamp(Timestamp()), "1970-01-01T00:00:00.000Z");
}

TEST(TimestampTest, AMillisecondAfterALeapDayIsMarch) {
  const auto last = ParseTimestamp("2024-02-29T23:59:59.999Z");
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(FormatTimestamp(*last + milliseconds(1)), "2024-03-01T00:00:00.000Z");
}

TEST(TimestampTest, AnyFractionUpToNineDigitsIsCutToMicroseconds) {
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00Z"), "2026-02-11T10:30:00.000Z");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.5Z"), "2026-02-11T10:30:00.500Z");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.0001Z"), "2026-02-11T10:30:00.000100Z");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.123456Z"), "2026-02-11T10:30:00.123456Z");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.123456789Z"), "2026-02-11T10:30:00.123456Z");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.999999999Z"), "2026-02-11T10:30:00.999999Z");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.1234567890Z"), "refused");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.Z"), "refused");
}

TEST(TimestampTest, OffsetsAreConvertedToUtc) {
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00+02:00"), "2026-02-11T08:30:00.000Z");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00.25-05:30"), "2026-02-11T16:00:00.250Z");
  EXPECT_EQ(Rewritten("2026-01-01T00:30:00+01:00"), "2025-12-31T23:30:00.000Z");
  EXPECT_EQ(Rewritten("2024-02-28T23:30:00-01:00"), "2024-02-29T00:30:00.000Z");
  EXPECT_EQ(Rewritten("2026-02-11T10:30:00-00:00"), "2026-02-11T10:30:00.000Z");
}

TEST(TimestampTest, RefusesDatesAndTimesThatDoNotExist) {
  for (const std::string_view text :
       {"2024-02-30T00:00:00.000Z", "2023-02-29T00:00:00.000Z", "1900-02-29T00:00:00.000Z",
        "2024-00-01T00:00:00.000Z", "2024-13-01T00:00:00.000Z", "2024-01-00T00:00:00.000Z",
        "2024-04-31T00:00:00.000Z", "2024-01-01T24:00:00.000Z", "2024-01-01T00:60:00.000Z",
        "2024-01-01T00:00:60.000Z", "2016-12-31T23:59:60Z", "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00+00:60"}) {
    EXPECT_EQ(Rewritten(text), "refused") << text;
  }
  EXPECT_EQ(Rewritten("2000-02-29T00:00:00Z"), "2000-02-29T00:00:00.000Z");
}

TEST(TimestampTest, RefusesOtherForms) {
  for (const std::string_view text : {"",
                                      "2024",
                                      "2024-01-01",
                                      "2024-01-01T00:00:00",
                                      "2024-01-01T00:00Z",
                                      "2024-01-01 00:00:00Z",
                                      "2024-01-01t00:00:00z",
                                      "2024-1-01T00:00:00Z",
                                      "+024-01-01T00:00:00Z",
                                      "20240101T000000Z",
                                      "2024-01-01T00:00:00,5Z",
                                      "2024-01-01T00:00:00Z ",
                                      " 2024-01-01T00:00:00Z",
                                      "2024-01-01T00:00:00ZZ",
                                      "2024-01-01T00:00:00+0100",
                                      "2024-01-01T00:00:00+01",
                                      "2024-01-01T00:00:00+01:00Z",
                                      "2024-01-01T00:00:00.-1Z",
                                      "-2024-01-01T00:00:00Z",
                                      "12024-01-01T00:00:00Z"}) {
    EXPECT_EQ(Rewritten(text), "refused") << text;
  }
}

TEST(TimestampTest, RefusesOffsetsThatLeaveTheFourDigitYears) {
  EXPECT_EQ(Rewritten("0000-01-01T00:00:00Z"), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(Rewritten("9999-12-31T23:59:59.999999Z"), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(Rewritten("0000-01-01T00:00:00+00:01"), "refused");
  EXPECT_EQ(Rewritten("9999-12-31T23:59:59-00:01"), "refused");
}

TEST(TimestampTest, FormatsTimesBeforeTheEpoch) {
  EXPECT_EQ(FormatTimestamp(Timestamp(microseconds(-1))), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTimestamp(Timestamp::max()), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTimestamp(Timestamp::min()), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatTimestamp(Timestamp(milliseconds(-1))), "1969-12-31T23:59:59.999Z");
}

RC_GTEST_PROP(TimestampTest, EveryTimeOfTheFourDigitYearsReadsBack, ()) {
  const auto micros = *rc::gen::inRange<std::int64_t>(-62'167'219'200'000'000,   // 0000-01-01
                                                      253'402'300'800'000'000);  // 10000-01-01
  const std::string text = FormatTimestamp(FromMicros(micros));
  RC_ASSERT(ParseTimestamp(text) == FromMicros(micros));
}

RC_GTEST_PROP(TimestampTest, AnyTextIsParsedOrRefused, (const std::string& noise)) {
  std::string text = "2026-02-11T10:30:00.123456+01:00";
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text.replace(at, *rc::gen::inRange<std::size_t>(0, 4), noise);
  if (const auto time = ParseTimestamp(text))
    RC_ASSERT(ParseTimestamp(FormatTimestamp(*time)) == time);
}

}  // namespace
}  // namespace everstep
