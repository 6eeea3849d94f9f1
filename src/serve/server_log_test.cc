#include "serve/server_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "testing/manual_clock.h"

namespace everstep {
namespace {

using testing::HasSubstr;
using testing::Not;

LogLine Slow() {
  return {LogLevel::kWarn, "request.slow", "took long", {{"status", "200"}, {"traceId", "0012"}}};
}

std::string ReadAll(int descriptor) {
  std::string text;
  std::array<char, 4'096> piece;
  while (true) {
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

TEST(ServerLogTest, AJsonLineHasItsFieldsAsMembers) {
  const std::string line = Format(Slow(), Timestamp{}, LogFormat::kJson);
  EXPECT_THAT(line, HasSubstr(R"("level":"warn","event":"request.slow","message":"took long")"));
  EXPECT_THAT(line, HasSubstr(R"("status":200,"traceId":"0012"})"));
  EXPECT_TRUE(line.ends_with("}\n"));
}

TEST(ServerLogTest, ATextEntryIsAlwaysOneLine) {
  LogLine line = Slow();
  line.fields.emplace_back("detail", "a\nb \x1b[31m");
  const std::string text = Format(line, Timestamp{}, LogFormat::kText);
  EXPECT_THAT(text,
              HasSubstr(" warn request.slow: took long status=200 traceId=0012 detail=\"a\\nb"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST(ServerLogTest, LinesBelowTheLevelAreLeftOut) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ManualClock clock;
  {
    StreamLog log({ends[1], LogFormat::kText, LogLevel::kWarn}, clock);
    log.Write({LogLevel::kInfo, "server.start", "started"});
    log.Write(Slow());
    log.Write({LogLevel::kError, "request.failed", "failed"});
  }
  ::close(ends[1]);
  const std::string text = ReadAll(ends[0]);
  EXPECT_THAT(text, Not(HasSubstr("server.start")));
  EXPECT_LT(text.find("request.slow"), text.find("request.failed"));
  ::close(ends[0]);
}

TEST(ServerLogTest, FlushReturnsWhenEveryLineIsWritten) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ManualClock clock;
  std::thread reader;
  {
    StreamLog log({ends[1], LogFormat::kText, LogLevel::kInfo}, clock);
    log.Write(Slow());
    EXPECT_TRUE(log.Flush(std::chrono::hours(1)));
    std::array<char, 16> first{};
    EXPECT_EQ(::read(ends[0], first.data(), first.size()), 16);
    // More than the pipe can hold.
    for (std::size_t i = 0; i < StreamLog::kQueuedMax; ++i) log.Write(Slow());
    EXPECT_FALSE(log.Flush(std::chrono::milliseconds(1)));
    reader = std::thread([&] { ReadAll(ends[0]); });
  }
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
}

TEST(ServerLogTest, AStalledReaderBlocksNobody) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ManualClock clock;
  std::string text;
  std::thread reader;
  {
    StreamLog log({ends[1], LogFormat::kText, LogLevel::kInfo}, clock);
    // More than the pipe and the queue together can hold.
    for (std::size_t i = 0; i < 3 * StreamLog::kQueuedMax; ++i) log.Write(Slow());
    reader = std::thread([&] { text = ReadAll(ends[0]); });
  }
  ::close(ends[1]);
  reader.join();
  EXPECT_THAT(text, HasSubstr("log.dropped"));
  ::close(ends[0]);
}

}  // namespace
}  // namespace everstep
