#include "net/http_server.h"

#include <zlib.h>

#include <random>

#include "net/content_coding.h"
#include "net/gunzip_stream.h"
#include "testing/server_fixture.h"

namespace everstep {
namespace {

using Answer = SocketClient::Answer;
using HttpServerTest = ServerTest;

TEST_F(HttpServerTest, AnswersRequestAfterRequestOnOneConnection) {
  TestHandler handler([](HttpCall call) {
    EXPECT_EQ(call.request().peer_address, "127.0.0.1");
    EXPECT_FALSE(call.request().secure);
    EXPECT_EQ(call.request().Header("host"), "test");
    Echo(std::move(call));
  });
  Serve(handler);
  SocketClient client = Connect();
  for (int i = 0; i < 3; ++i) {
    client.Send(PostText("/echo?x", "body " + std::to_string(i)));
    const Answer answer = client.ReadAnswer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /echo body " + std::to_string(i));
    EXPECT_EQ(answer.headers.at("date").size(), 29u);
    EXPECT_FALSE(answer.headers.contains("connection"));
  }
  const HttpServerMetrics metrics = server_->Metrics();
  EXPECT_EQ(metrics.requests_total, 3u);
  EXPECT_EQ(metrics.connections_open, 1u);
  EXPECT_EQ(metrics.requests_in_flight, 0u);
  EXPECT_GT(metrics.bytes_sent, 0u);
  EXPECT_GT(handler.rounds, 0);
}

TEST_F(HttpServerTest, ReadsARequestThatArrivesByteByByte) {
  TestHandler handler(Echo);
  Serve(handler);
  SocketClient client = Connect();
  for (const char c : PostText("/slow", "abc")) client.Send({&c, 1});
  EXPECT_EQ(client.ReadAnswer().body, "POST /slow abc");
}

TEST_F(HttpServerTest, ReadsChunkedBodies) {
  TestHandler handler(Echo);
  Serve(handler);
  SocketClient client = Connect();
  client.Send("PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  client.Send("2;x=y\r\nde\r\n0\r\nTrailer: 1\r\n\r\n" + GetText("/next"));
  EXPECT_EQ(client.ReadAnswer().body, "PUT /c abcde");
  EXPECT_EQ(client.ReadAnswer().body, "GET /next ");
}

TEST_F(HttpServerTest, ALargeBodyAndAnswerGoThrough) {
  TestHandler handler(Echo);
  handler.body_bytes_max = 32 << 20;
  Serve(handler);
  SocketClient client = Connect();
  const std::string body(20 << 20, 'x');
  client.Send(PostText("/", body));
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.body.size(), body.size() + 7);
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().buffered_bytes == 0; }));
}

TEST_F(HttpServerTest, SendsContinueToAClientThatExpectsIt) {
  TestHandler handler(Echo);
  Serve(handler);
  SocketClient client = Connect();
  client.Send("POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer().status, 100);
  client.Send("ok");
  EXPECT_EQ(client.ReadAnswer().body, "POST /c ok");
  client.Send(
      "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer().status, 413);
}

TEST_F(HttpServerTest, HeadAndStatusesWithoutABodyHaveNone) {
  TestHandler handler([](HttpCall call) {
    const int status = call.request().path == "/304"   ? 304
                       : call.request().path == "/204" ? 204
                                                       : 200;
    call.Reply(TextResponse("five!", status));
  });
  Serve(handler);
  SocketClient client = Connect();
  client.Send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + GetText("/304") + GetText("/204") +
              GetText("/"));
  const Answer head = client.ReadAnswer(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "5");
  const Answer unchanged = client.ReadAnswer();
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_FALSE(unchanged.headers.contains("content-length"));
  EXPECT_EQ(client.ReadAnswer().status, 204);
  EXPECT_EQ(client.ReadAnswer().body, "five!");
}

TEST_F(HttpServerTest, ClosesWhenTheClientAsksForIt) {
  TestHandler handler(Echo);
  Serve(handler);
  SocketClient client = Connect();
  client.Send(GetText("/", "Connection: close\r\n") + GetText("/not-read"));
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_TRUE(client.AtEnd());
  SocketClient old = Connect();
  old.Send("GET /old HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.ReadAnswer().body, "GET /old ");
  EXPECT_TRUE(old.AtEnd());
}

TEST_F(HttpServerTest, AClientThatSendsNoMoreStillGetsItsAnswer) {
  TestHandler handler;
  Serve(handler);
  SocketClient client = Connect();
  client.Send(GetText("/"));
  client.EndSending();
  auto calls = handler.WaitForCalls(1);
  calls[0].Reply(TextResponse("late"));
  EXPECT_EQ(client.ReadAnswer().body, "late");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpServerTest, HeadersOfAnAnswerCannotBeSplit) {
  TestHandler handler([](HttpCall call) {
    call.Reply(
        {200, {{"X-A", "b\r\nX-Evil: c"}, {"Bad Name", "d"}, {"Content-Length", "99"}}, "x"});
  });
  Serve(handler);
  SocketClient client = Connect();
  client.Send(GetText("/"));
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.headers.at("x-a"), "b  X-Evil: c");
  EXPECT_FALSE(answer.headers.contains("x-evil"));
  EXPECT_FALSE(answer.headers.contains("bad name"));
  EXPECT_EQ(answer.body, "x");
}

TEST_F(HttpServerTest, MalformedRequestsGetAProblemAndTheConnectionEnds) {
  TestHandler handler(Echo);
  Serve(handler);
  SocketClient client = Connect();
  client.Send(GetText("/first") + "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + GetText("/no"));
  EXPECT_EQ(client.ReadAnswer().body, "GET /first ");
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.headers.at("content-type"), "application/problem+json");
  EXPECT_EQ(answer.body,
            "{\"type\":\"/docs/errors/BAD_REQUEST\",\"title\":\"Bad Request\",\"status\":400,"
            "\"code\":\"BAD_REQUEST\",\"detail\":\"there are two Host headers\"}");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(server_->Metrics().requests_malformed, 1u);
  EXPECT_EQ(server_->Metrics().requests_total, 1u);
}

TEST_F(HttpServerTest, EachLimitHasItsStatus) {
  TestHandler handler(Echo);
  handler.body_bytes_max = 10;
  Serve(handler, {.head_bytes_max = 500, .headers_max = 5, .target_bytes_max = 100});
  const auto status_of = [&](const std::string& request) {
    SocketClient client = Connect();
    client.Send(request);
    const int status = client.ReadAnswer().status;
    EXPECT_TRUE(status == 200 || client.AtEnd());
    return status;
  };
  EXPECT_EQ(status_of(PostText("/", "0123456789")), 200);
  EXPECT_EQ(status_of(PostText("/", "0123456789a")), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "8\r\n01234567\r\n8\r\n01234567\r\n0\r\n\r\n"),
            413);
  EXPECT_EQ(status_of(GetText("/" + std::string(200, 'a'))), 414);
  EXPECT_EQ(status_of(GetText("/", "A: " + std::string(500, 'a') + "\r\n")), 431);
  EXPECT_EQ(status_of(GetText("/", "A:\r\nB:\r\nC:\r\nD:\r\nE:\r\n")), 431);
}

TEST_F(HttpServerTest, AClientRefusedWhileSendingCanReadTheAnswer) {
  TestHandler handler(Echo);
  Serve(handler);
  SocketClient client = Connect();
  EXPECT_TRUE(client.Send(PostText("/", std::string(20 << 20, 'x'))));
  EXPECT_EQ(client.ReadAnswer().status, 413);
}

TEST_F(HttpServerTest, ACallThatIsDroppedIsAnsweredWith500) {
  TestHandler handler([](HttpCall call) { const HttpCall dropped = std::move(call); });
  Serve(handler);
  SocketClient client = Connect();
  client.Send(GetText("/"));
  const Answer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("INTERNAL_ERROR"), std::string::npos);
}

TEST_F(HttpServerTest, AnswersAreCompressedForClientsThatAcceptIt) {
  const std::string text(10'000, 'z');
  TestHandler handler([&](HttpCall call) {
    ServerResponse response = TextResponse(text);
    if (call.request().path == "/small") response.body = "small";
    if (call.request().path == "/image") response.headers[0].second = "image/png";
    response.headers.emplace_back("ETag", "\"7\"");
    call.Reply(std::move(response));
  });
  Serve(handler);
  SocketClient client = Connect();
  const auto ask = [&](const std::string& path, const std::string& accepted) {
    client.Send(GetText(path, "Accept-Encoding: " + accepted + "\r\n"));
    return client.ReadAnswer();
  };
  const Answer packed = ask("/", "br;q=1, gzip;q=0.5");
  EXPECT_EQ(packed.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(packed.headers.at("vary"), "Accept-Encoding");
  EXPECT_EQ(packed.headers.at("etag"), "W/\"7\"");
  std::string unpacked;
  std::string_view body = packed.body;
  EXPECT_EQ(GunzipStream().Read(body, 1 << 20, unpacked), GunzipStream::Outcome::kDone);
  EXPECT_EQ(unpacked, text);
  const Answer plain = ask("/", "gzip;q=0, *");
  EXPECT_FALSE(plain.headers.contains("content-encoding"));
  EXPECT_EQ(plain.headers.at("vary"), "Accept-Encoding");
  EXPECT_EQ(plain.headers.at("etag"), "\"7\"");
  EXPECT_FALSE(ask("/small", "gzip").headers.contains("content-encoding"));
  EXPECT_FALSE(ask("/image", "gzip").headers.contains("content-encoding"));
  EXPECT_TRUE(ask("/", "*").headers.contains("content-encoding"));
  EXPECT_FALSE(ask("/", "identity").headers.contains("content-encoding"));
}

TEST_F(HttpServerTest, BodiesMayBeCompressedAndBombsAreRefused) {
  TestHandler handler(
      [](HttpCall call) { call.Reply(TextResponse(std::to_string(call.request().body.size()))); });
  handler.body_bytes_max = 100'000;
  Serve(handler);
  const auto post = [&](const std::string& body, const std::string& encoding) {
    SocketClient client = Connect();
    client.Send(PostText("/", body, "Content-Encoding: " + encoding + "\r\n"));
    return client.ReadAnswer();
  };
  EXPECT_EQ(post(Gzip(std::string(100'000, 'a')), "gzip").body, "100000");
  EXPECT_EQ(post(Gzip(std::string(100'001, 'a')), "gzip").status, 413);
  EXPECT_EQ(post(Gzip(std::string(50 << 20, 'a')), "gzip").status, 413);
  EXPECT_EQ(post("not gzip", "gzip").status, 400);
  EXPECT_EQ(post(Gzip("abc").substr(0, 10), "gzip").status, 400);
  EXPECT_EQ(post(Gzip("abc") + "x", "gzip").status, 400);
  EXPECT_EQ(post("abc", "identity").body, "3");
  EXPECT_EQ(post("abc", "br").status, 415);
}

TEST_F(HttpServerTest, RandomBytesNeverCrashIt) {
  TestHandler handler(Echo);
  Serve(handler);
  std::mt19937 random(7);
  const std::string valid = PostText("/a", "bcd", "Transfer-Encoding: chunked\r\n") + GetText("/b");
  for (int i = 0; i < 300; ++i) {
    std::string bytes = valid.substr(0, random() % valid.size());
    for (std::size_t n = random() % 20; n > 0; --n) {
      bytes.insert(random() % (bytes.size() + 1), 1, static_cast<char>(random()));
    }
    SocketClient client = Connect();
    client.Send(bytes);
    if (i % 3 == 0) client.Reset();
    if (i % 3 == 1) client.EndSending(), client.ReadToEnd();
  }
  SocketClient client = Connect();
  client.Send(GetText("/alive"));
  EXPECT_EQ(client.ReadAnswer().body, "GET /alive ");
  EXPECT_TRUE(Eventually([&] { return server_->Metrics().connections_open == 1; }));
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  TestHandler handler(Echo);
  const auto start = [&](const std::string& where) {
    HttpServerOptions options;
    options.listen = {where};
    return HttpServer::Start(options, handler);
  };
  for (const char* where :
       {"", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:x", "::1:80", "127.0.0.1:65536"}) {
    const auto server = start(where);
    ASSERT_FALSE(server) << where;
    EXPECT_EQ(server.error().code, ErrorCode::kInvalidArgument) << where;
  }
  HttpServer& server = Serve(handler);
  EXPECT_EQ(start(server.addresses().front()).error().code, ErrorCode::kAddressInUse);
  const auto v6 = start("[::1]:0");
  ASSERT_TRUE(v6) << ToString(v6.error());
  EXPECT_EQ((*v6)->addresses().front().substr(0, 6), "[::1]:");
}

}  // namespace
}  // namespace everstep
