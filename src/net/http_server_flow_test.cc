#include <sys/resource.h>

#include <thread>

#include "base/unique_fd.h"
#include "net/http_server.h"
#include "testing/server_fixture.h"

namespace everstep {
namespace {

using Answer = SocketClient::Answer;
using std::chrono::milliseconds;
using HttpServerThreaded = ServerTest;

TEST_F(HttpServerThreaded, AnswersComeInTheOrderOfTheRequests) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  std::string requests;
  for (int i = 0; i < 10; ++i) requests += GetText("/" + std::to_string(i));
  client.Send(requests);
  auto calls = handler.WaitForCalls(10);
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    call->Reply(TextResponse(call->request().path));
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(client.ReadAnswer().body, "/" + std::to_string(i));
}

TEST_F(HttpServerThreaded, ManyConnectionsAndThreadsAtOnce) {
  constexpr int kConnections = 1'000;
  constexpr int kWorkers = 3;
  TestHandler handler;
  Serve(handler, {.io_threads = 2});
  std::atomic<bool> done = false;
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&] {
      while (!done) {
        for (HttpCall& call : handler.TakeCalls(milliseconds(5))) Echo(std::move(call));
      }
    });
  }
  std::vector<SocketClient> clients;
  for (int i = 0; i < kConnections; ++i) clients.push_back(Connect());
  for (int round = 0; round < 3; ++round) {
    for (SocketClient& client : clients) ASSERT_TRUE(client.Send(GetText("/a") + GetText("/b")));
    for (SocketClient& client : clients) {
      ASSERT_EQ(client.ReadAnswer().body, "GET /a ");
      ASSERT_EQ(client.ReadAnswer().body, "GET /b ");
    }
  }
  EXPECT_EQ(server_->Metrics().connections_open, static_cast<std::uint64_t>(kConnections));
  EXPECT_EQ(server_->Metrics().requests_total, 6u * kConnections);
  done = true;
  for (std::thread& worker : workers) worker.join();
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; }));
  EXPECT_EQ(server_->Metrics().buffered_bytes, 0u);
}

TEST_F(HttpServerThreaded, CallsMayOutliveTheirConnectionAndTheServer) {
  TestHandler handler;
  Serve(handler);
  SocketClient gone = Connect();
  gone.Send(GetText("/"));
  auto calls = handler.WaitForCalls(1);
  gone.Reset();
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; }));
  EXPECT_EQ(server_->Metrics().requests_in_flight, 0u);
  calls[0].Reply(TextResponse("to nobody"));
  SocketClient client = Connect();
  client.Send(GetText("/") + GetText("/"));
  auto late = handler.WaitForCalls(2);
  server_.reset();
  late[0].Reply(TextResponse("too late"));
  const auto stream = late[1].Stream(TextResponse(""));
  EXPECT_FALSE(stream->Write("x"));
  EXPECT_TRUE(stream->closed());
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpServerThreaded, SlowHeadsAndBodiesAreTimedOutWith408) {
  TestHandler handler(Echo);
  Serve(handler, {.head_timeout = milliseconds(50), .body_timeout = milliseconds(50)});
  for (const char* text :
       {"GET / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"}) {
    SocketClient client = Connect();
    client.Send(text);
    EXPECT_EQ(client.ReadAnswer().status, 408) << text;
    EXPECT_TRUE(client.AtEnd());
  }
  EXPECT_EQ(server_->Metrics().timeouts, 2u);
}

TEST_F(HttpServerThreaded, AHeadThatDripsIsTimedOut) {
  TestHandler handler(Echo);
  Serve(handler, {.head_timeout = milliseconds(50)});
  SocketClient client = Connect();
  client.Send("GET / HTTP/1.1\r\n");
  // Each byte is progress, but the head must end in time.
  ASSERT_TRUE(Eventually([&] {
    client.Send("a");
    return server_->Metrics().timeouts == 1;
  }));
  EXPECT_EQ(client.ReadAnswer().status, 408);
}

TEST_F(HttpServerThreaded, IdleConnectionsAreClosedWithoutAnAnswer) {
  TestHandler handler(Echo);
  Serve(handler, {.idle_timeout = milliseconds(50)});
  SocketClient silent = Connect();
  SocketClient client = Connect();
  client.Send(GetText("/"));
  EXPECT_EQ(client.ReadAnswer().status, 200);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_TRUE(silent.AtEnd());
}

TEST_F(HttpServerThreaded, AClientThatTakesNothingIsClosed) {
  TestHandler handler([](HttpCall call) { call.Reply(TextResponse(std::string(16 << 20, 'x'))); });
  Serve(handler, {.write_timeout = milliseconds(50)});
  SocketClient client = Connect(4'096);
  client.Send(GetText("/"));
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().timeouts == 1; }));
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; }));
  EXPECT_EQ(server_->Metrics().buffered_bytes, 0u);
}

TEST_F(HttpServerThreaded, RequestsOfAClientThatTakesNoAnswersAreNotRead) {
  std::atomic<int> requests = 0;
  TestHandler handler([&](HttpCall call) {
    ++requests;
    call.Reply(TextResponse(std::string(100'000, 'x')));
  });
  Serve(handler);
  SocketClient client = Connect(4'096);
  std::string many;
  for (int i = 0; i < 500; ++i) many += GetText("/");
  client.Send(many);
  ASSERT_TRUE(Eventually([&] { return requests > 0; }));
  // Other clients are answered meanwhile, and the many are still not read.
  SocketClient other = Connect();
  for (int i = 0; i < 5; ++i) {
    other.Send(GetText("/"));
    ASSERT_EQ(other.ReadAnswer().status, 200);
  }
  EXPECT_LT(requests, 300);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(client.ReadAnswer().body.size(), 100'000u);
  EXPECT_EQ(requests, 505);
}

TEST_F(HttpServerThreaded, RequestsInFlightAreLimited) {
  TestHandler handler;
  Serve(handler, {.io_threads = 2, .in_flight_max = 4});
  std::vector<SocketClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(Connect());
    clients.back().Send(GetText("/" + std::to_string(i)));
  }
  int answered = 0;
  while (answered < 20) {
    auto calls = handler.WaitForCalls(1);
    EXPECT_LE(calls.size(), 5u);  // two loops may look at the same moment
    for (HttpCall& call : calls) Echo(std::move(call)), ++answered;
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(clients[static_cast<std::size_t>(i)].ReadAnswer().body,
              "GET /" + std::to_string(i) + " ");
  }
}

TEST_F(HttpServerThreaded, OneConnectionTooManyIsAnsweredWith503) {
  TestHandler handler([](HttpCall call) {
    (void)call.Vouch({.tenant = {}, .is_operator = true});
    Echo(std::move(call));
  });
  Serve(handler, {.connections_max = 2});
  SocketClient first = Connect();
  SocketClient second = Connect();
  first.Send(GetText("/"));
  second.Send(GetText("/"));
  EXPECT_EQ(first.ReadAnswer().status, 200);
  EXPECT_EQ(second.ReadAnswer().status, 200);
  {
    SocketClient third = Connect();
    third.Send(GetText("/"));
    const Answer answer = third.ReadAnswer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.headers.at("retry-after"), "1");
    EXPECT_NE(answer.body.find("TOO_MANY_CONNECTIONS"), std::string::npos);
    EXPECT_TRUE(third.AtEnd());
  }
  EXPECT_EQ(server_->Metrics().connections_refused, 1u);
  first.Reset();
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 1; }));
  SocketClient fourth = Connect();
  fourth.Send(GetText("/"));
  EXPECT_EQ(fourth.ReadAnswer().status, 200);
}

TEST_F(HttpServerThreaded, BodiesThatWouldFillTheMemoryAreRefused) {
  TestHandler handler;
  handler.body_bytes_max = 8 << 20;
  Serve(handler, {.memory_bytes_max = 2 << 20});
  SocketClient keeper = Connect();
  keeper.Send(PostText("/", std::string(900 << 10, 'x')));
  auto calls = handler.WaitForCalls(1);
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes >= 900u << 10; }));
  SocketClient client = Connect();
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" +
              std::string(900'000, 'y'));
  EXPECT_EQ(client.ReadAnswer().status, 503);
  // A refused body is not held while the client reads the answer.
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes < 1'000'000; }));
  EXPECT_EQ(server_->Metrics().connections_open, 2u);
  calls[0].Reply(TextResponse("done"));
  EXPECT_EQ(keeper.ReadAnswer().body, "done");
  calls.clear();
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes == 0; }));
}

TEST_F(HttpServerThreaded, BodiesDoNotBlockRequestsWithoutOne) {
  TestHandler handler(Echo);
  handler.body_bytes_max = 8 << 20;
  Serve(handler, {.memory_bytes_max = 4 << 20});
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n";
  std::vector<SocketClient> holders;
  for (int i = 0; i < 6; ++i) {
    holders.push_back(Connect());
    holders.back().Send(head + std::string(1'000'000, 'x'));
  }
  // Some fill their share, and the others are refused.
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes >= 1 << 20; }));
  SocketClient client = Connect();
  for (int i = 0; i < 20; ++i) {
    client.Send(GetText("/livez"));
    ASSERT_EQ(client.ReadAnswer().status, 200);
  }
  EXPECT_LE(server_->Metrics().buffered_bytes, 4U << 20);
}

TEST_F(HttpServerThreaded, UnprovenBodiesLeaveRoomForOthers) {
  TestHandler handler(Echo);
  handler.body_bytes_max = 8 << 20;
  Serve(handler, {.memory_bytes_max = 4 << 20});
  const std::string head = "POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n";
  SocketClient first = Connect();
  first.Send(head + std::string(1'000'000, 'x'));
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes >= 1'000'000; }));
  SocketClient second = Connect();
  second.Send(head + std::string(1'000'000, 'x'));
  EXPECT_EQ(second.ReadAnswer().status, 503);
  SocketClient known = Connect();
  known.Send(PostText("/", std::string(1'000'000, 'y')));
  EXPECT_EQ(known.ReadAnswer().status, 200);
}

TEST_F(HttpServerThreaded, ARequestRefusedByItsHeadIsAnsweredBeforeItsBody) {
  TestHandler handler([](HttpCall call) { call.Reply(TextResponse("no", 401)); });
  Serve(handler);
  for (const std::string framing : {"Content-Length: 500000\r\n", "Transfer-Encoding: chunked\r\n",
                                    "Content-Length: 9\r\nContent-Encoding: gzip\r\n"}) {
    SocketClient client = Connect();
    client.Send("POST /refused HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n");
    const Answer answer = client.ReadAnswer();
    EXPECT_EQ(answer.status, 401) << framing;
    EXPECT_EQ(answer.headers.at("connection"), "close");
    EXPECT_TRUE(client.AtEnd());
  }
  // A body that has arrived with its head costs nothing: the connection continues.
  SocketClient client = Connect();
  for (int i = 0; i < 2; ++i) {
    client.Send(PostText("/refused", "body"));
    EXPECT_EQ(client.ReadAnswer().status, 401);
  }
}

TEST_F(HttpServerThreaded, SurvivesAShortageOfDescriptors) {
  TestHandler handler(Echo);
  Serve(handler);
  SocketClient before = Connect();
  before.Send(GetText("/"));
  EXPECT_EQ(before.ReadAnswer().status, 200);
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  const int used = before.fd();
  rlimit tight = old;
  tight.rlim_cur = static_cast<rlim_t>(used) + 8;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  std::vector<UniqueFd> hoard;
  SocketClient waiting = Connect();  // takes a descriptor of the few, before there are none
  while (true) {
    UniqueFd fd(::dup(0));
    if (!fd) break;
    hoard.push_back(std::move(fd));
  }
  before.Send(GetText("/still"));
  EXPECT_EQ(before.ReadAnswer().body, "GET /still ");
  hoard.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  SocketClient after = Connect();
  after.Send(GetText("/after"));
  EXPECT_EQ(after.ReadAnswer().body, "GET /after ");
}

TEST_F(HttpServerThreaded, DrainAnswersWhatHasArrivedAndAcceptsNoMore) {
  TestHandler handler;
  Serve(handler, {.io_threads = 2});
  const std::string address = server_->addresses().front();
  SocketClient idle = Connect();
  SocketClient busy = Connect();
  busy.Send(GetText("/busy"));
  SocketClient follower = Connect();
  follower.Send(GetText("/stream"));
  auto calls = handler.WaitForCalls(2);
  if (calls[0].request().path != "/busy") std::swap(calls[0], calls[1]);
  const auto stream = calls[1].Stream(TextResponse(""));
  std::atomic<bool> closed = false;
  stream->OnChange([&] { closed = stream->closed(); });
  EXPECT_TRUE(stream->Write("piece"));
  EXPECT_FALSE(server_->Drain(milliseconds(20)));
  EXPECT_TRUE(idle.AtEnd());
  const Answer streamed = follower.ReadAnswer();
  EXPECT_EQ(streamed.body, "piece");
  EXPECT_TRUE(streamed.whole);
  EXPECT_TRUE(Eventually([&] { return closed.load(); }));
  EXPECT_FALSE(SocketClient(address).connected());
  calls[0].Reply(TextResponse("bye"));
  EXPECT_TRUE(server_->Drain(milliseconds(10'000)));
  const Answer answer = busy.ReadAnswer();
  EXPECT_EQ(answer.body, "bye");
  EXPECT_EQ(answer.headers.at("connection"), "close");
}

}  // namespace
}  // namespace everstep
