#include <future>
#include <latch>
#include <memory>
#include <thread>

#include "net/http_server.h"
#include "testing/server_fixture.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;
using HttpServerDirectThreaded = ServerTest;

// Keeps calls, but blocks the io thread at /hold until it is released.
class HoldingHandler final : public HttpHandler {
 public:
  ~HoldingHandler() override { before_end(); }
  void Handle(HttpCall call) override {
    if (call.request().path != "/hold") return calls.Handle(std::move(call));
    held.count_down();
    go.wait();
    call.Reply(TextResponse("held"));
  }
  BodyTerms TermsOfBody(const ServerRequest& head) override { return calls.TermsOfBody(head); }

  TestHandler calls;
  std::latch held{1};
  std::latch go{1};
  std::function<void()> before_end;
};

std::unique_ptr<AnswerWork> Work(std::function<void()> work) {
  struct Made final : AnswerWork {
    explicit Made(std::function<void()> function) : work(std::move(function)) {}
    void Answer() override { work(); }
    const std::function<void()> work;
  };
  return std::make_unique<Made>(std::move(work));
}

TEST_F(HttpServerDirectThreaded, AnAnswerDoesNotWaitForTheLoop) {
  HoldingHandler handler;
  handler.before_end = [this] { server_.reset(); };
  auto server = HttpServer::Start({.listen = {"127.0.0.1:0"}}, handler);
  ASSERT_TRUE(server);
  server_ = std::move(*server);
  SocketClient client = Connect();
  SocketClient other = Connect();
  client.Send(GetText("/"));
  auto calls = handler.calls.WaitForCalls(1);
  other.Send(GetText("/hold"));
  handler.held.wait();
  calls[0].Reply(TextResponse("at once"));
  EXPECT_EQ(client.ReadAnswer().body, "at once");
  handler.go.count_down();
  EXPECT_EQ(other.ReadAnswer().body, "held");
  client.Send(GetText("/"));
  handler.calls.WaitForCalls(1)[0].Reply(TextResponse("again"));
  EXPECT_EQ(client.ReadAnswer().body, "again");
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().requests_in_flight == 0; }));
}

TEST_F(HttpServerDirectThreaded, LaterRequestsAreAnsweredAfterIt) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  for (int round = 0; round < 200; ++round) {
    client.Send(GetText("/first"));
    auto first = handler.WaitForCalls(1);
    client.Send(GetText("/second"));
    // Sometimes the second has arrived when the first is answered.
    std::vector<HttpCall> second;
    if (round % 2 == 0) second = handler.WaitForCalls(1);
    Echo(std::move(first[0]));
    if (second.empty()) second = handler.WaitForCalls(1);
    Echo(std::move(second[0]));
    ASSERT_EQ(client.ReadAnswer().body, "GET /first ");
    ASSERT_EQ(client.ReadAnswer().body, "GET /second ");
  }
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().requests_in_flight == 0; }));
}

TEST_F(HttpServerDirectThreaded, WorkRunsOnTheCallingThreadUnderLowLoadAndElseOnTheLoop) {
  TestHandler handler;
  Serve(handler);
  std::vector<SocketClient> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(Connect());
  const auto answer = [](HttpCall taken) {
    const auto call = std::make_shared<HttpCall>(std::move(taken));
    const auto thread = std::make_shared<std::promise<std::thread::id>>();
    call->AnswerBy(Work([call, thread] {
      thread->set_value(std::this_thread::get_id());
      Echo(std::move(*call));
    }));
    return thread->get_future().get();
  };
  clients[0].Send(GetText("/alone"));
  EXPECT_EQ(answer(std::move(handler.WaitForCalls(1)[0])), std::this_thread::get_id());
  EXPECT_EQ(clients[0].ReadAnswer().body, "GET /alone ");

  for (std::size_t i = 0; i < clients.size(); ++i) {
    clients[i].Send(GetText("/" + std::to_string(i)));
  }
  std::vector<HttpCall> calls = handler.WaitForCalls(clients.size());
  const std::thread::id loop = answer(std::move(calls[0]));
  EXPECT_NE(loop, std::this_thread::get_id());
  EXPECT_EQ(answer(std::move(calls[1])), loop);
  for (std::size_t i = 2; i < calls.size(); ++i) (void)answer(std::move(calls[i]));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i].ReadAnswer().body, "GET /" + std::to_string(i) + " ");
  }
}

TEST_F(HttpServerDirectThreaded, WorkIsDroppedWithTheServer) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(GetText("/"));
  const auto call = std::make_shared<HttpCall>(std::move(handler.WaitForCalls(1)[0]));
  server_.reset();
  auto kept = std::make_shared<int>();
  call->AnswerBy(Work([call, kept] { Echo(std::move(*call)); }));
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(HttpServerDirectThreaded, TheLoopSendsWhatDoesNotFitTheSocket) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect(4 << 10);
  const std::string body(30 << 10, 'x');
  // More than the buffers of both sides hold, one answer after the other, and nobody reads.
  int answers = 0;
  for (; answers < 400; ++answers) {
    client.Send(GetText("/"));
    auto calls = handler.TakeCalls(milliseconds(2'000));
    if (calls.empty()) break;  // too much is unsent: the connection is not read
    calls[0].Reply(TextResponse(body));
  }
  EXPECT_GT(answers, 8);
  for (int i = 0; i < answers; ++i) ASSERT_EQ(client.ReadAnswer().body, body) << i;
}

TEST_F(HttpServerDirectThreaded, AnAnswerToAClientThatIsGoneIsDropped) {
  TestHandler handler;
  Serve(handler);
  for (int round = 0; round < 100; ++round) {
    SocketClient client = Connect();
    client.Send(GetText("/"));
    auto calls = handler.WaitForCalls(1);
    std::thread closing([&client] { client.Reset(); });
    calls[0].Reply(TextResponse("who is there?"));
    closing.join();
  }
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; }));
  EXPECT_EQ(server_->Metrics().requests_in_flight, 0u);
  EXPECT_EQ(server_->Metrics().buffered_bytes, 0u);
}

TEST_F(HttpServerDirectThreaded, AConnectionThatIsIdleAfterwardsIsClosed) {
  TestHandler handler;
  Serve(handler, {.idle_timeout = milliseconds(50)});
  SocketClient client = Connect();
  client.Send(GetText("/"));
  handler.WaitForCalls(1)[0].Reply(TextResponse("done"));
  EXPECT_EQ(client.ReadAnswer().body, "done");
  EXPECT_TRUE(client.AtEnd());
}

}  // namespace
}  // namespace everstep
