// What the memory of a server is charged for, to whom, and until when.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "testing/server_fixture.h"

namespace everstep {
namespace {

class HttpServerMemoryThreaded : public ServerTest {
 protected:
  // Clients that send `requests` and read no answer.
  std::vector<SocketClient> Crowd(int count, const std::string& requests) const {
    std::vector<SocketClient> clients;
    for (int i = 0; i < count; ++i) {
      clients.push_back(Connect(4 << 10));
      clients.back().Send(requests);
    }
    return clients;
  }
};

const std::string kFirst = "X-Tenant: first\r\n";
const std::string kSecond = "X-Tenant: second\r\n";
const std::string kOperator;

// Answers with as many kB as the path says after its last slash.
void VouchAndAnswer(HttpCall call) {
  const std::string& path = call.request().path;
  const bool open = path.starts_with("/anybody") || path.starts_with("/probe");
  if (!open && call.Vouch(TestHandler::ClientOf(call.request())) != HttpCall::Vouched::kTaken) {
    return call.Reply(TextResponse("no", 503));
  }
  const std::size_t kilobytes = std::stoul(path.substr(path.rfind('/') + 1));
  call.Reply(TextResponse(std::string(kilobytes << 10, 'x')));
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_F(HttpServerMemoryThreaded, StrangersWhoReadNothingLeaveTheMemoryToOthers) {
  TestHandler handler(VouchAndAnswer);
  Serve(handler, {.tenant_share = 50, .memory_bytes_max = 8 << 20});
  const auto status = [&](const std::string& path, const std::string& headers) {
    SocketClient client = Connect();
    client.Send(GetText(path, headers));
    return client.ReadAnswer().status;
  };
  auto crowd = Crowd(40, Repeated(GetText("/anybody/500"), 32));
  EXPECT_TRUE(Eventually([&] { return status("/anybody/1", "") == 503; }));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(status("/probe/0", ""), 200);
    EXPECT_EQ(status("/1", kFirst), 200);
    EXPECT_EQ(status("/1", kOperator), 200);
  }
  EXPECT_LT(server_->Metrics().buffered_bytes, 4U << 20) << "a quarter, and one answer each";
  for (SocketClient& client : crowd) client.Reset();
  EXPECT_TRUE(Eventually([&] { return status("/anybody/1", "") == 200; }));
}

TEST_F(HttpServerMemoryThreaded, ConnectionsWithOneAnswerUnreadTakeNoMore) {
  std::atomic<int> requests = 0;
  TestHandler handler([&](HttpCall call) {
    ++requests;
    VouchAndAnswer(std::move(call));
  });
  Serve(handler);
  SocketClient client = Connect(4 << 10);
  client.Send(Repeated(GetText("/anybody/4000"), 32));
  EXPECT_TRUE(Eventually([&] { return requests > 0; }));
  SocketClient other = Connect();
  for (int i = 0; i < 5; ++i) {
    other.Send(GetText("/0", kFirst));
    ASSERT_EQ(other.ReadAnswer().status, 200);
  }
  EXPECT_EQ(requests, 1 + 5);
  for (int i = 0; i < 32; ++i) ASSERT_EQ(client.ReadAnswer().body.size(), 4000U << 10);
}

TEST_F(HttpServerMemoryThreaded, EachRequestOfAProxyIsJudgedByItsOwnClient) {
  TestHandler handler(VouchAndAnswer);
  Serve(handler, {.tenant_share = 25, .memory_bytes_max = 32 << 20});
  SocketClient proxy = Connect();
  proxy.Send(GetText("/1", kFirst));
  EXPECT_EQ(proxy.ReadAnswer().status, 200);
  const auto crowd = Crowd(3, GetText("/4000", kFirst));
  EXPECT_TRUE(Eventually([&] {
    proxy.Send(GetText("/1", kFirst));
    return proxy.ReadAnswer().status == 503;
  }));
  for (const std::string& headers : {kSecond, kOperator}) {
    proxy.Send(GetText("/1", kFirst));
    EXPECT_EQ(proxy.ReadAnswer().status, 503);
    proxy.Send(GetText("/1", headers));
    EXPECT_EQ(proxy.ReadAnswer().status, 200);
  }
}

TEST_F(HttpServerMemoryThreaded, ATextThatManyAnswersShareIsHeldOnce) {
  const auto text = std::make_shared<const std::string>(std::string(1 << 20, 'x'));
  TestHandler handler([&](HttpCall call) {
    ServerResponse response = TextResponse("");
    response.shared_body = text;
    call.Reply(std::move(response));
  });
  Serve(handler, {.memory_bytes_max = 1 << 20});
  auto crowd = Crowd(20, GetText("/anybody"));
  for (SocketClient& client : crowd) EXPECT_EQ(client.ReadAnswer().body, *text);
  SocketClient head = Connect();
  head.Send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + GetText("/"));
  EXPECT_EQ(head.ReadAnswer(true).headers["content-length"], std::to_string(text->size()));
  EXPECT_EQ(head.ReadAnswer().body, *text);
}

TEST_F(HttpServerMemoryThreaded, ABodyIsChargedUntilItsCallEnds) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(PostText("/", std::string(1'000'000, 'x'), kFirst));
  auto calls = handler.WaitForCalls(1);
  EXPECT_FALSE(calls[0].is_abandoned());
  client.Reset();
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 0; }));
  EXPECT_TRUE(calls[0].is_abandoned());
  EXPECT_GE(server_->Metrics().buffered_bytes, 1'000'000u);
  calls.clear();
  EXPECT_EQ(server_->Metrics().buffered_bytes, 0u);
}

// The clients are not authenticated and have 32 MiB together; one request may reserve 8 MiB.
TEST_F(HttpServerMemoryThreaded, AnAnswerIsChargedBeforeItIsMadeAndUntilItIsTaken) {
  TestHandler handler;
  Serve(handler, {.memory_bytes_max = 128 << 20});
  auto clients = Crowd(5, "");
  std::vector<HttpCall> calls;
  for (SocketClient& client : clients) {
    client.Send(GetText("/"));
    calls.push_back(std::move(handler.WaitForCalls(1)[0]));
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(calls[i].ReserveAnswer(64 << 20)) << i;
  EXPECT_FALSE(calls[4].ReserveAnswer(64 << 20));
  EXPECT_TRUE(calls[4].ReserveAnswer(1 << 10)) << "small answers are not reserved";
  calls[0].Reply(TextResponse("small"));
  EXPECT_TRUE(calls[4].ReserveAnswer(64 << 20)) << "what is too much was given back";
  calls[1].Reply(TextResponse(std::string(9 << 20, 'x')));
  calls[2].ReleaseReserve();
  EXPECT_FALSE(calls[2].ReserveAnswer(64 << 20)) << "an answer counts until it is taken";
  EXPECT_FALSE(calls[2].ChargeAnswer(8 << 20));
  EXPECT_TRUE(calls[2].ChargeAnswer(6 << 20));
  EXPECT_EQ(clients[1].ReadAnswer().body.size(), 9U << 20);
  EXPECT_TRUE(Eventually([&] { return calls[2].ReserveAnswer(64 << 20); }));
}

TEST_F(HttpServerMemoryThreaded, AStreamThatNobodyReadsIsCutOffWhenTheMemoryIsFull) {
  TestHandler handler;
  Serve(handler, {.memory_bytes_max = 64 << 20});
  auto clients = Crowd(3, "");
  std::vector<std::shared_ptr<ReplyStream>> streams;
  for (SocketClient& client : clients) {
    client.Send(GetText("/"));
    streams.push_back(handler.WaitForCalls(1)[0].Stream(TextResponse("")));
    // More than the system buffers. Two of them fill the share of unknown clients.
    EXPECT_TRUE(streams.back()->Write(std::string(12 << 20, 'x')));
  }
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().streams_cut_off > 0; }));
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes <= 16U << 20; }));
  EXPECT_GT(server_->Metrics().streams_open, 0u) << "what fits may stay";
}

}  // namespace
}  // namespace everstep
