#include "net/http_connection.h"

#include <gtest/gtest.h>

#include <thread>

#include "testing/server_fixture.h"

namespace everstep {
namespace {

using Outcome = HttpAnswerReader::Outcome;
constexpr AddressPolicy kLocal{.allow_private = true};

class HttpConnectionTest : public ServerTest {
 protected:
  HttpRequest Request(std::string path) const {
    HttpRequest request;
    request.url = "http://" + server_->addresses().front() + std::move(path);
    return request;
  }
  HttpRequest Post(std::string path, std::string body) const {
    HttpRequest request = Request(std::move(path));
    request.method = "POST";
    request.body = std::move(body);
    return request;
  }

  HttpConnection connection_{kLocal};
};

TEST_F(HttpConnectionTest, OneConnectionServesManyRequests) {
  TestHandler handler(Echo);
  HttpServer& server = Serve(handler);
  for (int i = 0; i < 5; ++i) {
    const std::string body(static_cast<std::size_t>(i) * 100'000, 'b');
    const HttpOutcome outcome = connection_.Exchange(Post("/things", body));
    ASSERT_EQ(outcome.failure, HttpFailure::kNone) << outcome.message;
    EXPECT_EQ(outcome.response.status, 200);
    EXPECT_EQ(outcome.response.Header("content-type"), "text/plain");
    EXPECT_EQ(outcome.response.body, "POST /things " + body);
  }
  EXPECT_EQ(server.Metrics().connections_total, 1u);
  HttpRequest head = Request("/things");
  head.method = "HEAD";
  EXPECT_EQ(connection_.Exchange(head).response.body, "");
  EXPECT_EQ(connection_.Exchange(Request("")).response.body, "GET / ");
}

TEST_F(HttpConnectionTest, OpensAnotherWhenTheServerHasClosedIt) {
  TestHandler handler(Echo);
  Serve(handler);
  HttpRequest last = Request("/last");
  last.headers = {{"Connection", "close"}};
  EXPECT_EQ(connection_.Exchange(last).response.status, 200);
  EXPECT_EQ(connection_.Exchange(Request("/next")).response.status, 200);
  EXPECT_EQ(server_->Metrics().connections_total, 2u);
}

TEST_F(HttpConnectionTest, ReadsBodiesWithoutALength) {
  TestHandler handler([](HttpCall call) {
    const auto stream = call.Stream({200, {}, {}});
    stream->Write("one,");
    stream->Write("two");
    stream->End();
  });
  Serve(handler);
  EXPECT_EQ(connection_.Exchange(Request("/")).response.body, "one,two");
}

TEST_F(HttpConnectionTest, AnAnswerThatDoesNotComeIsATimeoutAndCanBeCancelled) {
  TestHandler handler;
  Serve(handler);
  HttpRequest request = Request("/");
  request.timeout = std::chrono::milliseconds(20);
  EXPECT_EQ(connection_.Exchange(request).failure, HttpFailure::kTimeout);
  std::vector<HttpCall> unanswered;
  std::thread canceller([&] {
    unanswered = handler.WaitForCalls(2);
    connection_.Cancel();
  });
  EXPECT_EQ(connection_.Exchange(Request("/")).failure, HttpFailure::kCancelled);
  canceller.join();
  EXPECT_EQ(connection_.Exchange(Request("/")).failure, HttpFailure::kCancelled);
}

TEST_F(HttpConnectionTest, RefusesInvalidRequestsAndAnswers) {
  TestHandler handler(Echo);
  Serve(handler);
  HttpRequest request = Request("/");
  request.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(connection_.Exchange(request).failure, HttpFailure::kBadRequest);
  request = Request("/a\r\nb");
  EXPECT_EQ(connection_.Exchange(request).failure, HttpFailure::kBadRequest);
  request = Post("/", "0123456789");
  request.response_bytes_max = 5;
  EXPECT_EQ(connection_.Exchange(request).failure, HttpFailure::kTooLarge);
  HttpConnection guarded{AddressPolicy{}};
  EXPECT_EQ(guarded.Exchange(Request("/")).failure, HttpFailure::kAddressNotAllowed);
  const HttpRequest gone = Request("/");
  server_.reset();
  EXPECT_EQ(connection_.Exchange(gone).failure, HttpFailure::kConnect);
}

Outcome Read(std::string_view text) { return HttpAnswerReader(true, 10).Read(text); }

TEST(HttpAnswerReader, IsStrictAboutWhereAnAnswerEnds) {
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"), Outcome::kDone);
  EXPECT_EQ(Read("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\na"), Outcome::kMore);
  EXPECT_EQ(Read("HTTP/1.1 204 No Content\r\n\r\n"), Outcome::kDone);
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"), Outcome::kTooLarge);
  for (const char* text :
       {"HTTP/1.1 200 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", "HTTP/1.1 200 OK\r\n : x\r\n\r\n"}) {
    EXPECT_EQ(Read(text), Outcome::kMalformed) << text;
  }
}

}  // namespace
}  // namespace everstep
