// Streamed bodies: the fixture's handler takes those of /upload piece by piece.

#include <thread>

#include "net/content_coding.h"
#include "net/http_server.h"
#include "testing/server_fixture.h"

namespace everstep {
namespace {

using Answer = SocketClient::Answer;
using State = RequestBody::State;
using std::chrono::milliseconds;
using HttpServerUploadThreaded = ServerTest;

constexpr std::size_t kWindow = 64 << 10;
// What one connection may hold: a window that was taken, one that waits, and what was received
// before it was known that there is no room.
constexpr std::size_t kHeldMax = 4 * kWindow;

// Takes a body when the test says so.
class Taker {
 public:
  explicit Taker(const HttpCall& call) : body_(call.body()) {
    body_->OnChange([news = news_] {
      const std::lock_guard lock(news->mutex);
      ++news->notified;
      news->changed.notify_all();
    });
  }

  // Waits until there is something to take.
  RequestBody::Piece Next() {
    while (true) {
      RequestBody::Piece piece = body_->Take();
      if (!piece.bytes.empty() || piece.state != State::kComing) return piece;
      std::unique_lock lock(news_->mutex);
      if (!news_->changed.wait_for(lock, std::chrono::seconds(10),
                                   [this] { return news_->notified > seen_; })) {
        ADD_FAILURE() << "nothing has arrived";
        return {};
      }
      seen_ = news_->notified;
    }
  }
  // Waits until everything has arrived, in pieces of at most `piece_bytes_max`.
  std::string All(State& state, std::size_t piece_bytes_max = kWindow) {
    std::string body;
    while (true) {
      RequestBody::Piece piece = Next();
      EXPECT_LE(piece.bytes.size(), piece_bytes_max);
      body += piece.bytes;
      state = piece.state;
      if (piece.bytes.empty() || state != State::kComing) return body;
    }
  }
  std::string Whole() {
    State state = State::kComing;
    std::string body = All(state);
    EXPECT_EQ(state, State::kWhole);
    return body;
  }
  // Takes and discards, until nothing arrives any more.
  State End() {
    State state = State::kComing;
    All(state);
    return state;
  }
  int notified() const {
    const std::lock_guard lock(news_->mutex);
    return news_->notified;
  }

 private:
  struct News {
    std::mutex mutex;
    std::condition_variable changed;
    int notified = 0;
  };
  const std::shared_ptr<RequestBody> body_;
  const std::shared_ptr<News> news_ = std::make_shared<News>();
  int seen_ = 0;
};

std::string HeadText(const std::string& headers) {
  return "POST /upload HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}

std::string SomeText(std::size_t size) {
  std::string text;
  while (text.size() < size) text += std::to_string(text.size() * 7'919) + "\n";
  text.resize(size);
  return text;
}

TEST_F(HttpServerUploadThreaded, TheHandlerGetsTheRequestBeforeItsBody) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(HeadText("Content-Length: 6\r\n"));
  auto calls = handler.WaitForCalls(1);
  ASSERT_NE(calls[0].body(), nullptr);
  EXPECT_EQ(calls[0].request().path, "/upload");
  EXPECT_EQ(calls[0].request().body, "");
  EXPECT_EQ(server_->Metrics().requests_in_flight, 0u) << "its body has not come";
  Taker taker(calls[0]);
  client.Send("abc");
  RequestBody::Piece piece = taker.Next();
  EXPECT_EQ(piece.bytes, "abc");
  EXPECT_EQ(piece.state, State::kComing);
  client.Send("def" + GetText("/next"));
  piece = taker.Next();
  EXPECT_EQ(piece.bytes, "def");
  if (piece.state == State::kComing) piece = taker.Next();
  EXPECT_EQ(piece.state, State::kWhole);
  // The next request after the body is answered in its turn.
  auto next = handler.WaitForCalls(1);
  EXPECT_EQ(next[0].body(), nullptr);
  next[0].Reply(TextResponse("second"));
  calls[0].Reply(TextResponse("first"));
  EXPECT_EQ(client.ReadAnswer().body, "first");
  EXPECT_EQ(client.ReadAnswer().body, "second");
  EXPECT_EQ(server_->Metrics().requests_in_flight, 0u);
}

TEST_F(HttpServerUploadThreaded, OneConnectionServesManyUploads) {
  TestHandler handler;
  Serve(handler, {.upload_bytes_max = kWindow});
  SocketClient client = Connect();
  const std::string body = SomeText(3 * kWindow + 17);
  for (int i = 0; i < 3; ++i) {
    client.Send(PostText("/upload", body));
    auto calls = handler.WaitForCalls(1);
    EXPECT_TRUE(Taker(calls[0]).Whole() == body);
    calls[0].Reply(TextResponse("taken"));
    EXPECT_EQ(client.ReadAnswer().body, "taken");
  }
  // A request without a body is complete with its head.
  client.Send(PostText("/upload", ""));
  EXPECT_EQ(handler.WaitForCalls(1)[0].body(), nullptr);
  EXPECT_EQ(client.ReadAnswer().status, 500);
  client.Send(PostText("/upload", body, "Connection: close\r\n"));
  auto calls = handler.WaitForCalls(1);
  EXPECT_TRUE(Taker(calls[0]).Whole() == body);
  calls[0].Reply(TextResponse("last"));
  EXPECT_EQ(client.ReadAnswer().body, "last");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpServerUploadThreaded, ATakerIsNotifiedOnceUntilItHasTakenAll) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(HeadText("Content-Length: 3\r\n"));
  auto calls = handler.WaitForCalls(1);
  Taker taker(calls[0]);
  client.Send("a");
  ASSERT_TRUE(Eventually([&] { return taker.notified() == 1; }));
  const std::uint64_t received = server_->Metrics().bytes_received;
  client.Send("bc");
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().bytes_received == received + 2; }));
  EXPECT_EQ(taker.Whole(), "abc");
  EXPECT_EQ(taker.notified(), 1);
}

TEST_F(HttpServerUploadThreaded, AClientIsNotReadWhileTheTakerIsBehind) {
  TestHandler handler;
  handler.body_bytes_max = 64 << 20;
  Serve(handler, {.upload_bytes_max = kWindow});
  const std::string body = SomeText(32 << 20);
  SocketClient client = Connect();
  std::atomic<bool> sent = false;
  std::jthread sender([&] {
    client.Send(PostText("/upload", body));
    sent = true;
  });
  auto calls = handler.WaitForCalls(1);
  Taker taker(calls[0]);
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes >= kWindow; }));
  // Other clients are answered meanwhile, and still no more of the body is read.
  SocketClient other = Connect();
  for (int i = 0; i < 20; ++i) {
    other.Send(GetText("/"));
    handler.WaitForCalls(1)[0].Reply(TextResponse("other"));
    ASSERT_EQ(other.ReadAnswer().body, "other");
  }
  EXPECT_LE(server_->Metrics().bytes_received, kHeldMax);
  EXPECT_FALSE(sent);
  // However it is taken, what is held stays small.
  std::string taken;
  State state = State::kComing;
  while (state == State::kComing) {
    RequestBody::Piece piece = taker.Next();
    ASSERT_LE(piece.bytes.size(), kWindow);
    EXPECT_LE(server_->Metrics().buffered_bytes, kHeldMax);
    taken += piece.bytes;
    state = piece.state;
  }
  EXPECT_EQ(state, State::kWhole);
  EXPECT_TRUE(taken == body);
  calls[0].Reply(TextResponse("done"));
  EXPECT_EQ(client.ReadAnswer().body, "done");
  sender.join();
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes == 0; }));
}

TEST_F(HttpServerUploadThreaded, AClientThatIsNotReadIsNotLate) {
  TestHandler handler;
  Serve(handler, {.upload_bytes_max = kWindow, .body_timeout = milliseconds(50)});
  const std::string body = SomeText(4 * kWindow);
  SocketClient client = Connect();
  client.Send(PostText("/upload", body));
  auto calls = handler.WaitForCalls(1);
  Taker taker(calls[0]);
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes >= kWindow; }));
  // Another client that really is late shows that the timeout has passed.
  SocketClient late = Connect();
  late.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  EXPECT_EQ(late.ReadAnswer().status, 408);
  EXPECT_TRUE(taker.Whole() == body);
  calls[0].Reply(TextResponse("done"));
  EXPECT_EQ(client.ReadAnswer().body, "done");
  EXPECT_EQ(server_->Metrics().timeouts, 1u);
}

TEST_F(HttpServerUploadThreaded, AClientThatSendsNoMoreIsTimedOutWith408) {
  TestHandler handler;
  Serve(handler, {.body_timeout = milliseconds(50)});
  SocketClient client = Connect();
  client.Send(HeadText("Content-Length: 9\r\n") + "abc");
  auto calls = handler.WaitForCalls(1);
  EXPECT_EQ(client.ReadAnswer().status, 408);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(Taker(calls[0]).End(), State::kBroken);
  calls[0].Reply(TextResponse("too late"));
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; }));
  EXPECT_EQ(server_->Metrics().requests_in_flight, 0u);
  EXPECT_EQ(server_->Metrics().buffered_bytes, 0u);
}

TEST_F(HttpServerUploadThreaded, TheTakerIsNotifiedWhenTheClientIsGone) {
  TestHandler handler;
  Serve(handler, {.upload_bytes_max = kWindow});
  for (const bool reset : {true, false}) {
    SocketClient client = Connect();
    client.Send(HeadText("Content-Length: 9\r\n") + "abc");
    auto calls = handler.WaitForCalls(1);
    Taker taker(calls[0]);
    EXPECT_EQ(taker.Next().bytes, "abc");
    reset ? client.Reset() : client.EndSending();
    EXPECT_EQ(taker.Next().state, State::kBroken) << reset;
    calls[0].Reply(TextResponse("to nobody"));
    EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; })) << reset;
  }
  EXPECT_EQ(server_->Metrics().requests_in_flight, 0u);
  EXPECT_EQ(server_->Metrics().buffered_bytes, 0u);
}

TEST_F(HttpServerUploadThreaded, AClientThatEndsItsSideAfterTheBodyIsAnswered) {
  TestHandler handler;
  Serve(handler, {.upload_bytes_max = 1'000});
  const std::string body = SomeText(kWindow);
  for (const std::string& text :
       {PostText("/upload", body), PostText("/upload", Gzip(body), "Content-Encoding: gzip\r\n")}) {
    SocketClient client = Connect();
    client.Send(text);
    client.EndSending();
    auto calls = handler.WaitForCalls(1);
    EXPECT_TRUE(Taker(calls[0]).Whole() == body);
    calls[0].Reply(TextResponse("done"));
    EXPECT_EQ(client.ReadAnswer().body, "done");
    EXPECT_TRUE(client.AtEnd());
  }
}

TEST_F(HttpServerUploadThreaded, CompressedBodiesAreUnpackedAsTheyAreTaken) {
  TestHandler handler;
  handler.body_bytes_max = 20 << 20;
  Serve(handler, {.upload_bytes_max = kWindow});
  SocketClient client = Connect();
  // A few bytes decode to many: the output is not held either.
  const std::string body(16 << 20, 'a');
  client.Send(PostText("/upload", Gzip(body), "Content-Encoding: gzip\r\n"));
  auto calls = handler.WaitForCalls(1);
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes >= kWindow; }));
  EXPECT_LE(server_->Metrics().buffered_bytes, kHeldMax);
  EXPECT_TRUE(Taker(calls[0]).Whole() == body);
  calls[0].Reply(TextResponse("done"));
  EXPECT_EQ(client.ReadAnswer().body, "done");
}

TEST_F(HttpServerUploadThreaded, ABodyThatIsTooLargeIsRefused) {
  TestHandler handler;
  handler.body_bytes_max = 100'000;
  Serve(handler, {.upload_bytes_max = kWindow});
  {
    SocketClient client = Connect();
    client.Send(HeadText("Content-Length: 100001\r\n"));
    EXPECT_EQ(client.ReadAnswer().status, 413);
    EXPECT_TRUE(client.AtEnd());
    EXPECT_EQ(server_->Metrics().requests_total, 0u) << "the handler was asked";
  }
  const std::string bomb = Gzip(std::string(100'001, 'a'));
  for (const std::string& text : {HeadText("Transfer-Encoding: chunked\r\n") + "186A0\r\n" +
                                      std::string(100'000, 'a') + "\r\n1\r\na\r\n0\r\n\r\n",
                                  PostText("/upload", bomb, "Content-Encoding: gzip\r\n")}) {
    SocketClient client = Connect();
    client.Send(text);
    auto calls = handler.WaitForCalls(1);
    EXPECT_EQ(Taker(calls[0]).End(), State::kBroken);
    const Answer answer = client.ReadAnswer();
    EXPECT_EQ(answer.status, 413);
    EXPECT_NE(answer.body.find("CONTENT_TOO_LARGE"), std::string::npos) << answer.body;
    EXPECT_TRUE(client.AtEnd());
  }
}

TEST_F(HttpServerUploadThreaded, AMalformedBodyIsRefused) {
  TestHandler handler;
  Serve(handler);
  for (const std::string& text : {HeadText("Transfer-Encoding: chunked\r\n") + "3\r\nabcdef",
                                  PostText("/upload", "not gzip", "Content-Encoding: gzip\r\n")}) {
    SocketClient client = Connect();
    client.Send(text);
    EXPECT_EQ(client.ReadAnswer().status, 400) << text;
    EXPECT_EQ(Taker(handler.WaitForCalls(1)[0]).End(), State::kBroken) << text;
  }
  EXPECT_EQ(server_->Metrics().requests_malformed, 2u);
}

TEST_F(HttpServerUploadThreaded, ARefusedClientGetsNoContinue) {
  TestHandler handler([](HttpCall call) { call.Reply(TextResponse("no", 403)); });
  Serve(handler);
  SocketClient polite = Connect();
  polite.Send(HeadText("Content-Length: 1000000\r\nExpect: 100-continue\r\n"));
  const Answer answer = polite.ReadAnswer();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_TRUE(polite.AtEnd());
  // A client that sends the body nevertheless gets the answer, too.
  SocketClient hasty = Connect();
  hasty.Send(PostText("/upload", std::string(500'000, 'a')) + GetText("/"));
  EXPECT_EQ(hasty.ReadAnswer().status, 403);
  EXPECT_TRUE(hasty.AtEnd());
  EXPECT_EQ(server_->Metrics().requests_total, 2u);
}

TEST_F(HttpServerUploadThreaded, AClientThatExpectsItGetsContinue) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(HeadText("Content-Length: 3\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.ReadLine(), "HTTP/1.1 100 Continue");
  EXPECT_EQ(client.ReadLine(), "");
  client.Send("abc");
  auto calls = handler.WaitForCalls(1);
  EXPECT_EQ(Taker(calls[0]).Whole(), "abc");
  calls[0].Reply(TextResponse("done"));
  EXPECT_EQ(client.ReadAnswer().body, "done");
}

TEST_F(HttpServerUploadThreaded, AnAnswerBeforeTheEndEndsTheUpload) {
  TestHandler handler;
  Serve(handler, {.upload_bytes_max = kWindow});
  SocketClient client = Connect();
  client.Send(HeadText("Content-Length: 1000000\r\n") + std::string(500'000, 'a'));
  auto calls = handler.WaitForCalls(1);
  Taker taker(calls[0]);
  EXPECT_FALSE(taker.Next().bytes.empty());
  calls[0].Reply(TextResponse("full", 507));
  EXPECT_EQ(client.ReadAnswer().status, 507);
  EXPECT_EQ(taker.End(), State::kBroken);
  // A call that is dropped unanswered is answered, too.
  SocketClient other = Connect();
  other.Send(HeadText("Content-Length: 9\r\n") + "abc");
  handler.WaitForCalls(1).clear();
  EXPECT_EQ(other.ReadAnswer().status, 500);
  EXPECT_TRUE(other.AtEnd());
}

TEST_F(HttpServerUploadThreaded, BodiesThatWouldFillTheMemoryAreRefused) {
  TestHandler handler;
  handler.body_bytes_max = 8 << 20;
  Serve(handler, {.upload_bytes_max = 2 << 20, .memory_bytes_max = 1 << 20});
  SocketClient client = Connect();
  client.Send(HeadText("Content-Length: 4000000\r\n") + std::string(1'500'000, 'a'));
  auto calls = handler.WaitForCalls(1);
  EXPECT_EQ(client.ReadAnswer().status, 503);
  EXPECT_EQ(Taker(calls[0]).End(), State::kBroken);
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes == 0; }));
}

TEST_F(HttpServerUploadThreaded, DrainLetsAnUploadFinish) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(HeadText("Content-Length: 6\r\n") + "abc");
  auto calls = handler.WaitForCalls(1);
  Taker taker(calls[0]);
  EXPECT_EQ(taker.Next().bytes, "abc");
  EXPECT_FALSE(server_->Drain(milliseconds(20)));
  client.Send("def");
  EXPECT_EQ(taker.Whole(), "def");
  calls[0].Reply(TextResponse("done"));
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.body, "done");
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_TRUE(server_->Drain(milliseconds(10'000)));
}

TEST_F(HttpServerUploadThreaded, ATakerMayOutliveTheServer) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(HeadText("Content-Length: 6\r\n") + "abc");
  auto calls = handler.WaitForCalls(1);
  Taker taker(calls[0]);
  server_.reset();
  EXPECT_EQ(taker.End(), State::kBroken);
  calls[0].Reply(TextResponse("too late"));
}

}  // namespace
}  // namespace everstep
