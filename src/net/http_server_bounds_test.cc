// What clients can use of a server that are not authenticated, or that send more than it seems.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/content_coding.h"
#include "testing/server_fixture.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;

using Answer = SocketClient::Answer;
using HttpServerBoundsThreaded = ServerTest;

void Done(HttpCall call) { call.Reply({200, {}, std::to_string(call.request().body.size())}); }

std::string Packed(std::string_view target, std::string_view body) {
  const std::string packed = Gzip(body);
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: " +
         std::to_string(packed.size()) + "\r\n\r\n" + packed;
}

TEST_F(HttpServerBoundsThreaded, ABodyThatDripsIsTimedOut) {
  TestHandler handler(Done);
  Serve(handler, {.body_timeout = milliseconds(50)});
  for (const char* target : {"/", "/open"}) {
    const auto before = server_->Metrics().timeouts;
    SocketClient client = Connect();
    client.Send("POST " + std::string(target) +
                " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    // Each byte is progress, but the average is too slow.
    EXPECT_TRUE(Eventually([&] {
      client.Send("a");
      return server_->Metrics().timeouts == before + 1;
    })) << target;
  }
}

TEST_F(HttpServerBoundsThreaded, ABodyThatComesFastEnoughMayTakeLongerThanTheTimeout) {
  TestHandler handler(Done);
  handler.body_bytes_max = 64 << 20;
  Serve(handler, {.body_rate_min = 1, .body_timeout = milliseconds(50)});
  SocketClient client = Connect();
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  // Other clients that really are late show that the timeout has passed, again and again.
  for (std::uint64_t late = 1; late <= 3; ++late) {
    SocketClient other = Connect();
    other.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
    EXPECT_TRUE(Eventually([&] {
      client.Send("1\r\nx\r\n");
      return server_->Metrics().timeouts >= late;
    }));
  }
  client.Send("0\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer().status, 200);
}

TEST_F(HttpServerBoundsThreaded, UnauthenticatedConnectionsMakeRoomForOthers) {
  TestHandler handler([](HttpCall call) {
    if (call.request().path == "/known") (void)call.Vouch({.tenant = {}, .is_operator = true});
    Done(std::move(call));
  });
  Serve(handler, {.connections_max = 4});
  SocketClient known = Connect();
  known.Send(GetText("/known"));
  EXPECT_EQ(known.ReadAnswer().status, 200);
  std::vector<SocketClient> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(Connect());
    slow.back().Send("POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\na");
  }
  SocketClient late = Connect();
  late.Send(GetText("/known"));
  EXPECT_EQ(late.ReadAnswer().status, 200);
  known.Send(GetText("/known"));
  EXPECT_EQ(known.ReadAnswer().status, 200) << "its connection was kept";
  EXPECT_TRUE(slow.front().AtEnd()) << "the oldest goes first";
  EXPECT_LE(server_->Metrics().connections_open, 4u);
}

TEST_F(HttpServerBoundsThreaded, AnAuthenticatedUploadIsNotCutOff) {
  TestHandler handler(Done);
  Serve(handler, {.connections_max = 2});
  SocketClient slow = Connect();
  slow.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na");
  ASSERT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes > 0; }));
  for (int i = 0; i < 10; ++i) {
    SocketClient other = Connect();
    other.Send(GetText("/"));
    EXPECT_EQ(other.ReadAnswer().status, 200);
  }
  slow.Send("bc");
  EXPECT_EQ(slow.ReadAnswer().body, "3");
}

TEST_F(HttpServerBoundsThreaded, ABodyUnpacksToAHundredTimesItsSizeAtMost) {
  TestHandler handler(Done);
  handler.body_bytes_max = 32 << 20;
  Serve(handler, {});
  SocketClient small = Connect();
  small.Send(Packed("/", std::string(60'000, 'x')));
  EXPECT_EQ(small.ReadAnswer().body, "60000") << "small bodies may have any ratio";
  SocketClient dense = Connect();
  dense.Send(Packed("/", std::string(32 << 20, 'x')));
  const Answer answer = dense.ReadAnswer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_NE(answer.body.find("100 times"), std::string::npos) << answer.body;
}

TEST_F(HttpServerBoundsThreaded, ABodyIsUnpackedPieceByPiece) {
  TestHandler handler(Done);
  handler.body_bytes_max = 32 << 20;
  Serve(handler, {});
  std::string body;  // compresses, but not too well
  for (int i = 0; body.size() < 12'000'000; ++i) body += "line " + std::to_string(i * 7919) + "\n";
  SocketClient client = Connect();
  const int rounds = handler.rounds;
  client.Send(Packed("/", body) + GetText("/"));
  EXPECT_EQ(client.ReadAnswer().body, std::to_string(body.size()));
  EXPECT_EQ(client.ReadAnswer().body, "0") << "the request after it is read as well";
  EXPECT_GE(handler.rounds - rounds, 40) << "others had their turns meanwhile";
}

TEST_F(HttpServerBoundsThreaded, MemoryIsChargedUntilTheAnswer) {
  TestHandler handler;
  Serve(handler, {.memory_bytes_max = 4 << 20});
  SocketClient client = Connect();
  client.Send(GetText("/") + GetText("/"));
  auto calls = handler.WaitForCalls(2);
  using Outcome = MemoryCharge::Outcome;
  EXPECT_EQ(calls[0].Charge(4 << 20, MemoryClaim::kBody), Outcome::kNever);
  EXPECT_EQ(calls[0].Charge(2 << 20, MemoryClaim::kUnprovenBody), Outcome::kNever);
  EXPECT_EQ(calls[0].Charge(2 << 20, MemoryClaim::kBody), Outcome::kTaken);
  EXPECT_EQ(calls[1].Charge(2 << 20, MemoryClaim::kBody), Outcome::kNotNow);
  EXPECT_GE(server_->Metrics().buffered_bytes, 2u << 20);
  calls[0].Reply({200, {}, {}});
  EXPECT_EQ(calls[1].Charge(2 << 20, MemoryClaim::kBody), Outcome::kTaken);
  HttpCall moved = std::move(calls[1]);
  calls.clear();
  EXPECT_GE(server_->Metrics().buffered_bytes, 2u << 20);
  moved.Reply({200, {}, {}});
  EXPECT_LT(server_->Metrics().buffered_bytes, 1u << 20);
}

}  // namespace
}  // namespace everstep
