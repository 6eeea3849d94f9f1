#include "flow/duration.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace everstep {
namespace {

using std::chrono::milliseconds;

std::int64_t Parsed(std::string_view text) {
  const auto duration = ParseDuration(text);
  return duration ? duration->count() : -1;
}

TEST(Duration, UnitsAddUp) {
  EXPECT_EQ(Parsed("250ms"), 250);
  EXPECT_EQ(Parsed("5s"), 5'000);
  EXPECT_EQ(Parsed("1h30m"), 5'400'000);
  EXPECT_EQ(Parsed("1h 30m"), 5'400'000);
  EXPECT_EQ(Parsed("1.5h"), 5'400'000);
  EXPECT_EQ(Parsed("2w1d"), 15 * 86'400'000LL);
  EXPECT_EQ(Parsed("1m1ms"), 60'001);
  EXPECT_EQ(Parsed("0s"), 0);
}

TEST(Duration, AWholeNumberIsMilliseconds) {
  EXPECT_EQ(Parsed("0"), 0);
  EXPECT_EQ(Parsed("1500"), 1'500);
}

TEST(Duration, IsoDurationsOfFixedLengthAreRead) {
  EXPECT_EQ(Parsed("PT30S"), 30'000);
  EXPECT_EQ(Parsed("P1D"), 86'400'000);
  EXPECT_EQ(Parsed("P1DT12H"), 129'600'000);
  EXPECT_EQ(Parsed("P2W"), 14 * 86'400'000LL);
  EXPECT_EQ(Parsed("PT1H0.5S"), 3'600'500);
}

TEST(Duration, InvalidDurationsAreRejected) {
  for (const std::string_view text : {"",         " ",    "s",    "-5s", "5 s s",         "5x",
                                      "1s1h",     "1s1s", "1.s",  ".5s", "1.2345678901s", "1h30",
                                      "P",        "PT",   "P1DT", "P1M", "P1Y",           "PT1S1H",
                                      "PT0.5H1S", "5s ",  "5sec", "1e3s"}) {
    EXPECT_EQ(Parsed(text), -1) << text;
  }
}

TEST(Duration, NothingIsLongerThanAHundredYears) {
  EXPECT_EQ(Parsed("36525d"), kDurationMax.count());
  EXPECT_EQ(Parsed("36525d1ms"), -1);
  EXPECT_EQ(Parsed("99999999999999999999"), -1);
  EXPECT_EQ(Parsed("9999999999w"), -1);
  EXPECT_EQ(Parsed("3155760000001"), -1);
}

TEST(Duration, FormatShowsTwoUnits) {
  EXPECT_EQ(FormatDuration(milliseconds(0)), "0ms");
  EXPECT_EQ(FormatDuration(milliseconds(250)), "250ms");
  EXPECT_EQ(FormatDuration(milliseconds(1'500)), "1.5s");
  EXPECT_EQ(FormatDuration(milliseconds(1'050)), "1s");
  EXPECT_EQ(FormatDuration(milliseconds(12'300)), "12s");
  EXPECT_EQ(FormatDuration(milliseconds(60'000)), "1m");
  EXPECT_EQ(FormatDuration(milliseconds(200'000)), "3m 20s");
  EXPECT_EQ(FormatDuration(milliseconds(7'500'000)), "2h 5m");
  EXPECT_EQ(FormatDuration(milliseconds(356'400'000)), "4d 3h");
  EXPECT_EQ(FormatDuration(milliseconds(-250)), "-250ms");
}

RC_GTEST_PROP(Duration, FormattedTextParsesBackWithinItsLastUnit, ()) {
  const auto total = *rc::gen::inRange<std::int64_t>(0, kDurationMax.count());
  const auto again = ParseDuration(FormatDuration(milliseconds(total)));
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->count() <= total);
  RC_ASSERT(total - again->count() < 86'400'000);
}

}  // namespace
}  // namespace everstep
