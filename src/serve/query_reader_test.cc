#include "serve/query_reader.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

constexpr std::string_view kStates[] = {"RUNNING", "FAILED", "COMPLETED"};

std::string FaultsOf(QueryReader& reader) {
  const Status read = reader.Finish();
  if (read) return "";
  std::string text(Name(read.error().code));
  for (const Fault& fault : read.error().faults) {
    text += "\n" + fault.pointer + " " + fault.message;
  }
  return text;
}

TEST(QueryReaderTest, ReadsParametersOfEveryKind) {
  QueryReader reader(
      "plan=a%20b+c&limit=50&tail=true&wait=30s&from=2026-02-11T10:30:00Z&format=FAILED&"
      "status=RUNNING,FAILED&");
  EXPECT_EQ(reader.Text("plan"), "a b c");
  EXPECT_EQ(reader.Integer("limit", 1, 100), 50);
  EXPECT_EQ(reader.Flag("tail"), true);
  EXPECT_EQ(reader.Duration("wait", std::chrono::minutes(1)), std::chrono::seconds(30));
  EXPECT_EQ(reader.Time("from"), ParseTimestamp("2026-02-11T10:30:00Z"));
  EXPECT_EQ(reader.Word("format", kStates), 1U);
  EXPECT_EQ(reader.Words("status", kStates), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(reader.Text("cursor"), std::nullopt);
  EXPECT_EQ(FaultsOf(reader), "");
}

TEST(QueryReaderTest, AnOffsetMayBeSentUnescaped) {
  QueryReader reader("a=2026-02-11T10:30:00+01:00&b=2026-02-11T10:30:00%2B01:00");
  const auto wanted = ParseTimestamp("2026-02-11T09:30:00Z");
  EXPECT_EQ(reader.Time("a"), wanted);
  EXPECT_EQ(reader.Time("b"), wanted);
}

TEST(QueryReaderTest, AllFaultsAreReportedAtOnce) {
  QueryReader reader("limit=ten&limt=3&wait=2h&at=noon&cursor=%zz&status=DONE&x=1&x=2&yes=1");
  reader.Integer("limit", 1, 100);
  reader.Duration("wait", std::chrono::minutes(1));
  reader.Time("at");
  reader.Text("cursor");
  reader.Words("status", kStates);
  reader.Text("x");
  reader.Flag("yes");
  EXPECT_EQ(FaultsOf(reader),
            "INVALID_ARGUMENT\n"
            "?cursor must be percent-encoded UTF-8 without control characters\n"
            "?x is given twice\n"
            "?limit must be a whole number from 1 to 100\n"
            "?wait must be at most 1m\n"
            "?at must be a time of RFC 3339 such as \"2026-02-11T10:30:00Z\"\n"
            "?status must be one of RUNNING, FAILED, COMPLETED\n"
            "?yes must be true or false\n"
            "?limt unknown parameter 'limt'; did you mean 'limit'?");
}

TEST(QueryReaderTest, NumbersAreWholeAndInRange) {
  for (const std::string value : {"", "0", "101", "1.0", "+5", "5x", "99999999999999999999"}) {
    QueryReader reader("limit=" + value);
    EXPECT_EQ(reader.Integer("limit", 1, 100), std::nullopt) << value;
    EXPECT_FALSE(reader.Finish()) << value;
  }
}

TEST(QueryReaderTest, ManyParametersAreRefused) {
  std::string query;
  for (int i = 0; i < 1'000; ++i) query += "&p" + std::to_string(i);
  QueryReader reader(query);
  const Status read = reader.Finish();
  ASSERT_FALSE(read);
  EXPECT_LE(read.error().faults.size(), 65U);
}

TEST(QueryReaderTest, AnEmptyQueryIsFine) {
  QueryReader reader("");
  EXPECT_EQ(reader.Text("a"), std::nullopt);
  EXPECT_TRUE(reader.Finish());
}

}  // namespace
}  // namespace everstep
