#include "queue/run_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "engine/append_authority.h"
#include "testing/manual_clock.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

class RunStreamsTest : public testing::Test {
 protected:
  StreamPage Read(std::uint64_t from, std::size_t limit = 100, std::size_t bytes = 1 << 20) {
    auto page = streams_->Read(name_, from, limit, bytes);
    EXPECT_TRUE(page) << ToString(page.error());
    return page ? *page : StreamPage();
  }
  std::uint64_t Commits() const { return committer_.write_us().count; }
  void Reopen() { streams_ = std::make_unique<RunStreams>(*store_, committer_, clock_); }

  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  ManualClock clock_;
  SeededRandom random_{1};
  Committer committer_{*store_, clock_, {}};
  std::unique_ptr<RunStreams> streams_ = std::make_unique<RunStreams>(*store_, committer_, clock_);
  const StreamName name_{"acme", "run-1", "out"};
};

TEST_F(RunStreamsTest, ChunksKeepTheirOrderOverARestart) {
  EXPECT_EQ(Read(0).info, (StreamExtent{0, false}));
  ASSERT_TRUE(streams_->Append(name_, {"a", "b"}));
  Reopen();
  ASSERT_TRUE(streams_->Append(name_, {"", "d"}));
  EXPECT_THAT(Read(0).chunks, ElementsAre("a", "b", "", "d"));
  EXPECT_THAT(Read(3).chunks, ElementsAre("d"));
  EXPECT_THAT(Read(9).chunks, IsEmpty());
  EXPECT_THAT(Read(0, 2).chunks, ElementsAre("a", "b"));
  EXPECT_THAT(Read(1, 100, 1).chunks, ElementsAre("b", ""));
  EXPECT_EQ(streams_->Extent(name_)->chunks, 4U);
}

TEST_F(RunStreamsTest, AppendsAfterTheCloseAreIgnored) {
  ASSERT_TRUE(streams_->Append(name_, {"a"}));
  ASSERT_TRUE(streams_->Close(name_));
  ASSERT_TRUE(streams_->Close(name_));
  ASSERT_TRUE(streams_->Append(name_, {"b"}));
  Reopen();
  ASSERT_TRUE(streams_->Append(name_, {"c"}));
  EXPECT_EQ(Read(0).info, (StreamExtent{1, true}));
}

TEST_F(RunStreamsTest, ARepeatedRequestIsAppendedOnce) {
  ASSERT_TRUE(streams_->Append(name_, {"a"}, "request-1"));
  ASSERT_TRUE(streams_->Append(name_, {"a"}, "request-1"));
  Reopen();
  ASSERT_TRUE(streams_->Append(name_, {"a"}, "request-1"));
  ASSERT_TRUE(streams_->Append(name_, {"a"}, "request-2"));
  EXPECT_THAT(Read(0).chunks, ElementsAre("a", "a"));
}

TEST_F(RunStreamsTest, TheStreamsOfARunAreListed) {
  ASSERT_TRUE(streams_->Append(name_, {"a"}));
  ASSERT_TRUE(streams_->Close({"acme", "run-1", "log"}));
  ASSERT_TRUE(streams_->Append({"acme", "run-10", "x"}, {"a"}));
  ASSERT_TRUE(streams_->Append({"other", "run-1", "y"}, {"a"}));
  EXPECT_THAT(*streams_->List("acme", "run-1", "", 100), ElementsAre("log", "out"));
  EXPECT_THAT(*streams_->List("acme", "run-1", "", 1), ElementsAre("log"));
  EXPECT_THAT(*streams_->List("acme", "run-1", "log", 1), ElementsAre("out"));
  EXPECT_THAT(*streams_->List("acme", "run-1", "out", 1), IsEmpty());
}

TEST_F(RunStreamsTest, WritesThatComeTogetherAreOneCommit) {
  const StreamName log{"acme", "run-1", "log"};
  const std::uint64_t before = Commits();
  const std::vector<Status> written = streams_->Write({{name_, {"a"}, "request-1"},
                                                       {log, {"x"}},
                                                       {{"acme", "run-1", ""}, {"nameless"}},
                                                       {name_, {"a"}, "request-1"},
                                                       {name_, {"b"}, "request-2"},
                                                       {log, {"y"}, {}, true},
                                                       {log, {"late"}}});
  EXPECT_EQ(Commits(), before + 1);
  for (std::size_t i = 0; i < written.size(); ++i) EXPECT_EQ(written[i].has_value(), i != 2) << i;
  EXPECT_THAT(Read(0).chunks, ElementsAre("a", "b"));
  EXPECT_EQ(*streams_->Extent(log), (StreamExtent{2, true}));
  Reopen();
  ASSERT_TRUE(streams_->Append(name_, {"again"}, "request-2"));
  EXPECT_EQ(Read(0).info.chunks, 2U);
}

TEST_F(RunStreamsTest, AWriteHasABoundedNumberOfChunks) {
  const std::vector<std::string> most(RunStreams::kChunksPerWriteMax, "c");
  std::vector<std::string> more = most;
  more.push_back("c");
  EXPECT_EQ(streams_->Append(name_, more).error().code, ErrorCode::kInvalidArgument);
  const std::uint64_t before = Commits();
  const auto written = streams_->Write({{name_, most}, {name_, {"a"}}, {name_, {"b"}}});
  for (const Status& status : written) EXPECT_TRUE(status);
  EXPECT_EQ(Commits(), before + 2) << "one commit writes no more than one write may have";
  EXPECT_THAT(Read(most.size()).chunks, ElementsAre("a", "b"));
}

TEST_F(RunStreamsTest, ALongStreamIsRemovedInParts) {
  ASSERT_TRUE(streams_->Append(name_, std::vector<std::string>(2'500, "c")));
  clock_.Advance(24h);
  const std::uint64_t before = Commits();
  ASSERT_TRUE(streams_->Sweep());
  EXPECT_EQ(Commits(), before + 4) << "three parts, and the note that it is gone";
  EXPECT_EQ(*streams_->Extent(name_), StreamExtent{});
  const DocumentQuery chunks{.kind = DocumentKind::kStreamChunk, .tenant_id = "acme"};
  EXPECT_THAT(*store_->Read()->ListDocuments(chunks), IsEmpty());
}

TEST_F(RunStreamsTest, InvalidNamesAreRejected) {
  EXPECT_EQ(streams_->Append({"acme", "run-1", ""}, {"a"}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(streams_->Append({"acme", std::string("r\0n", 3), "n"}, {"a"}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      streams_->Append(name_, {std::string(RunStreams::kChunkBytesMax + 1, 'x')}).error().code,
      ErrorCode::kInvalidArgument);
}

TEST_F(RunStreamsTest, AWaiterIsCalledForAChunkTheCloseOrATimeout) {
  int woken = 0;
  const auto wake = [&woken] { ++woken; };
  ASSERT_TRUE(streams_->WhenGrown(name_, 0, 1h, wake));
  ASSERT_TRUE(streams_->WhenGrown(name_, 1, 1h, wake));
  ASSERT_TRUE(streams_->WhenGrown({"acme", "run-2", "out"}, 0, 1h, wake));
  ASSERT_TRUE(streams_->Append(name_, {"a"}));
  EXPECT_EQ(woken, 1);
  ASSERT_TRUE(streams_->WhenGrown(name_, 0, 1h, wake));  // the chunk exists
  EXPECT_EQ(woken, 2);
  ASSERT_TRUE(streams_->Close(name_));
  EXPECT_EQ(woken, 3);
  std::promise<void> late;
  ASSERT_TRUE(streams_->WhenGrown({"acme", "run-2", "out"}, 0, 0ms, [&late] { late.set_value(); }));
  late.get_future().wait();
  EXPECT_EQ(woken, 3);
  streams_->EndWaits();
  EXPECT_EQ(woken, 4);
  EXPECT_FALSE(streams_->WhenGrown({"acme", "run-2", "out"}, 0, 1h, wake));
}

TEST_F(RunStreamsTest, WaitersAreCalledInTheOrderOfTheirChunksAndDeadlines) {
  std::vector<int> woken;
  const auto wait = [&](std::uint64_t from, std::chrono::milliseconds most) {
    return streams_->WhenGrown(name_, from, most,
                               [&woken, from] { woken.push_back(static_cast<int>(from)); });
  };
  for (const std::uint64_t from : {3U, 1U, 2U, 9U}) ASSERT_TRUE(wait(from, 1h));
  ASSERT_TRUE(streams_->Append(name_, {"0", "1", "2"}));
  EXPECT_THAT(woken, ElementsAre(1, 2));
  std::promise<void> late;
  ASSERT_TRUE(streams_->WhenGrown(name_, 7, 1ms, [&late] { late.set_value(); }));
  late.get_future().wait();
  ASSERT_TRUE(streams_->Close(name_));
  EXPECT_THAT(woken, ElementsAre(1, 2, 3, 9));
}

TEST_F(RunStreamsTest, ConcurrentWritersLoseNothing) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([this, i] {
      for (int n = 0; n < 50; ++n) {
        EXPECT_TRUE(streams_->Append(name_, {std::to_string(i) + "/" + std::to_string(n)}));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const StreamPage page = Read(0, 1000);
  ASSERT_EQ(page.chunks.size(), 200U);
  for (int i = 0; i < 4; ++i) {
    int next = 0;
    for (const std::string& chunk : page.chunks) {
      if (chunk.starts_with(std::to_string(i) + "/")) {
        EXPECT_EQ(chunk, std::to_string(i) + "/" + std::to_string(next++));
      }
    }
  }
}

TEST_F(RunStreamsTest, AStreamWithoutARunIsRemovedAfterADay) {
  const StreamName other{"acme", "health", "check"};
  ASSERT_TRUE(streams_->Append(other, {"a", "b"}));
  ASSERT_TRUE(streams_->Close(other));
  clock_.Advance(23h);
  ASSERT_TRUE(streams_->Append(name_, {"late"}));
  ASSERT_TRUE(streams_->Sweep());
  EXPECT_EQ(streams_->Extent(other)->chunks, 2U);
  clock_.Advance(1h);
  Reopen();
  ASSERT_TRUE(streams_->Sweep());
  EXPECT_EQ(*streams_->Extent(other), StreamExtent{});
  EXPECT_EQ(Read(0).chunks.size(), 1U);
  const auto chunks = store_->Read()->ListDocuments(
      {.kind = DocumentKind::kStreamChunk, .tenant_id = "acme", .prefix = "health"});
  EXPECT_THAT(*chunks, IsEmpty());
  ASSERT_TRUE(streams_->Append(other, {"new"}));
  EXPECT_EQ(streams_->Extent(other)->chunks, 1U);
}

TEST_F(RunStreamsTest, AStreamWhoseRunIsCreatedLaterIsKept) {
  ASSERT_TRUE(streams_->Append(name_, {"a"}));
  AppendAuthority authority(*store_, committer_, clock_, random_, {});
  EventWrite start;
  start.type = EventType::kRunStarted;
  start.run_id = RunId(name_.run_id);
  const AppendOrder order{start.run_id, {start}};
  const RunScope scope{"acme", "p", "e", "plan", "1"};
  ASSERT_TRUE(authority.Await(authority.Submit(std::span(&order, 1), scope))[0]);
  clock_.Advance(48h);
  ASSERT_TRUE(streams_->Sweep());
  EXPECT_EQ(streams_->Extent(name_)->chunks, 1U);
}

}  // namespace
}  // namespace everstep
