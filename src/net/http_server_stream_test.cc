#include <thread>

#include "net/http_server.h"
#include "testing/server_fixture.h"

namespace everstep {
namespace {

using Answer = SocketClient::Answer;
using std::chrono::milliseconds;

class HttpServerStreamThreaded : public ServerTest {
 protected:
  // Connects and sends a request; returns the stream of the answer.
  std::shared_ptr<ReplyStream> Follow(TestHandler& handler, SocketClient& client,
                                      std::string_view request) {
    client.Send(request);
    auto calls = handler.WaitForCalls(1);
    return calls.front().Stream({200, {{"Content-Type", "text/event-stream"}}, ""});
  }
};

TEST_F(HttpServerStreamThreaded, PiecesArriveAsTheyAreWritten) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  const auto stream = Follow(handler, client, GetText("/"));
  for (std::string line = client.ReadLine(); !line.empty(); line = client.ReadLine()) {
    EXPECT_EQ(line.find("Content-Length"), std::string::npos);
  }
  EXPECT_TRUE(stream->Write("one"));
  EXPECT_EQ(client.ReadLine(), "3");
  EXPECT_EQ(client.ReadLine(), "one");
  EXPECT_TRUE(stream->Write("second"));
  EXPECT_EQ(client.ReadLine(), "6");
  EXPECT_EQ(client.ReadLine(), "second");
  EXPECT_EQ(server_->Metrics().streams_open, 1u);
  EXPECT_TRUE(Eventually([&] { return stream->queued() == 0; }));
  stream->End();
  EXPECT_FALSE(stream->Write("more"));
  EXPECT_EQ(client.ReadLine(), "0");
  client.ReadLine();
  // The connection is free again.
  client.Send(GetText("/next"));
  handler.WaitForCalls(1).front().Reply(TextResponse("next"));
  EXPECT_EQ(client.ReadAnswer().body, "next");
  EXPECT_EQ(server_->Metrics().streams_open, 0u);
}

TEST_F(HttpServerStreamThreaded, AStreamFollowsTheAnswersBeforeIt) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(GetText("/1") + GetText("/2") + GetText("/3"));
  auto calls = handler.WaitForCalls(3);
  calls[2].Reply(TextResponse("third"));
  const auto stream = calls[1].Stream(TextResponse(""));
  EXPECT_TRUE(stream->Write("sec"));
  calls[0].Reply(TextResponse("first"));
  EXPECT_TRUE(stream->Write("ond"));
  stream->End();
  EXPECT_EQ(client.ReadAnswer().body, "first");
  EXPECT_EQ(client.ReadAnswer().body, "second");
  EXPECT_EQ(client.ReadAnswer().body, "third");
}

TEST_F(HttpServerStreamThreaded, OldClientsGetAnUnchunkedStream) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  const auto stream = Follow(handler, client, "GET / HTTP/1.0\r\n\r\n");
  stream->Write("plain");
  stream->End();
  EXPECT_EQ(client.ReadAnswer().body, "plain");
}

TEST_F(HttpServerStreamThreaded, HeadRequestsGetNoStream) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  const auto stream = Follow(handler, client, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer(true).status, 200);
  EXPECT_TRUE(Eventually([&] { return stream->closed(); }));
  EXPECT_FALSE(stream->Write("x"));
}

TEST_F(HttpServerStreamThreaded, ASlowReaderIsCutOff) {
  TestHandler handler;
  Serve(handler, {.stream_bytes_max = 100'000});
  SocketClient client = Connect(4'096);
  const auto stream = Follow(handler, client, GetText("/"));
  const std::string piece(10'000, 'x');
  int written = 0;
  while (written < 10'000 && stream->Write(piece)) ++written;
  EXPECT_LT(written, 10'000);
  EXPECT_TRUE(stream->closed());
  EXPECT_FALSE(client.ReadAnswer().whole);
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().streams_cut_off == 1; }));
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; }));
  EXPECT_EQ(server_->Metrics().buffered_bytes, 0u);
}

TEST_F(HttpServerStreamThreaded, AWriterThatWaitsForRoomWritesAnyAmount) {
  constexpr int kPieces = 300;
  TestHandler handler;
  Serve(handler, {.stream_bytes_max = 100'000});
  SocketClient client = Connect();
  client.Send(GetText("/"));
  auto calls = handler.WaitForCalls(1);
  const auto stream = calls.front().Stream(TextResponse(""));
  std::atomic<int> written = 0;
  stream->OnChange([&, weak = std::weak_ptr(stream)] {
    const auto open = weak.lock();
    if (open == nullptr || open->closed()) return;
    if (written == kPieces) return open->End();
    ++written;
    EXPECT_TRUE(open->Write(std::string(90'000, 'p')));
  });
  stream->Write("first");
  const Answer answer = client.ReadAnswer();
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body.size(), 5u + kPieces * 90'000u);
}

TEST_F(HttpServerStreamThreaded, TheWriterLearnsOnceThatTheClientHasGone) {
  TestHandler handler;
  Serve(handler);
  for (const bool before : {true, false}) {
    SocketClient client = Connect();
    const auto stream = Follow(handler, client, GetText("/"));
    std::atomic<int> closings = 0;
    if (before) stream->OnChange([&] { closings += stream->closed() ? 1 : 0; });
    client.Reset();
    EXPECT_TRUE(Eventually([&] { return stream->closed(); }));
    if (!before) stream->OnChange([&] { closings += stream->closed() ? 1 : 0; });
    EXPECT_TRUE(Eventually([&] { return closings == 1; }));
    EXPECT_FALSE(stream->Write("x"));
    EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; }));
    EXPECT_EQ(closings, 1);
  }
}

TEST_F(HttpServerStreamThreaded, AStreamEndsWhenTheClientEndsItsSide) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  const auto stream = Follow(handler, client, GetText("/", "Connection: close\r\n"));
  stream->Write("x");
  EXPECT_FALSE(client.ReadLine().empty());
  client.EndSending();
  EXPECT_TRUE(Eventually([&] { return stream->closed(); }));
}

TEST_F(HttpServerStreamThreaded, AStreamThatIsDroppedIsBrokenOff) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  auto stream = Follow(handler, client, GetText("/"));
  EXPECT_TRUE(stream->Write("half"));
  EXPECT_TRUE(Eventually([&] { return stream->queued() == 0; }));
  stream.reset();
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.body, "half");
  EXPECT_FALSE(answer.whole);
}

TEST_F(HttpServerStreamThreaded, ManyWritersAndStreamsAtOnce) {
  constexpr std::size_t kStreams = 100;
  constexpr std::size_t kWrites = 50;
  TestHandler handler;
  Serve(handler, {.io_threads = 2});
  std::vector<SocketClient> clients;
  for (std::size_t i = 0; i < kStreams; ++i) {
    clients.push_back(Connect());
    clients.back().Send(GetText("/"));
  }
  auto calls = handler.WaitForCalls(kStreams);
  std::vector<std::shared_ptr<ReplyStream>> streams;
  for (HttpCall& call : calls) streams.push_back(call.Stream(TextResponse("")));
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&] {
      for (std::size_t i = 0; i < kWrites; ++i) {
        for (const auto& stream : streams) EXPECT_TRUE(stream->Write("0123456789"));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (const auto& stream : streams) stream->End();
  for (SocketClient& client : clients) {
    const Answer answer = client.ReadAnswer();
    EXPECT_TRUE(answer.whole);
    EXPECT_EQ(answer.body.size(), 2 * kWrites * 10);
  }
}

}  // namespace
}  // namespace everstep
