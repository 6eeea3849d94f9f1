#include "work/http_tool.h"

#include <gtest/gtest.h>

#include <future>

#include "base/encoding.h"
#include "base/json.h"
#include "testing/loopback_http_server.h"
#include "testing/temporary_directory.h"
#include "work/tool_workbench.h"

namespace everstep {
namespace {

using Request = LoopbackHttpServer::Request;
using Response = LoopbackHttpServer::Response;

class HttpToolTest : public testing::Test {
 protected:
  TaskOutcome Run(const std::string& url, const std::string& more = "") {
    return bench_.Run("http", R"({"url":)" + JsonQuote(url) + more + "}");
  }

  TemporaryDirectory directory_;
  ToolWorkbench bench_{directory_.path()};
};

// Returns the request as the response body.
Response Mirror(const Request& request) {
  const auto header = [&](const char* name) {
    const auto found = request.headers.find(name);
    return found == request.headers.end() ? "-" : found->second;
  };
  return {200,
          {{"Content-Type", "text/plain"}},
          request.method + " " + request.target + " " + header("content-type") + " " +
              header("idempotency-key") + " " + header("x-n") + " " + request.body};
}

TEST_F(HttpToolTest, SendsTheRequestThatTheInputsDescribe) {
  LoopbackHttpServer server(Mirror);
  const auto sent = [&](const std::string& more) {
    return ResultOf(Run(server.Url("/p?a=1#f"), more)).Get("body").text();
  };
  EXPECT_EQ(sent(""), "GET /p?a=1 - - - ");
  EXPECT_EQ(sent(R"(,"query":{"n":2,"t":true,"s":"x y&","none":null,"l":[1,2]})"),
            "GET /p?a=1&n=2&t=true&s=x%20y%26&l=1&l=2 - - - ");
  EXPECT_EQ(sent(R"(,"headers":{"X-N":1.5,"X-None":null})"), "GET /p?a=1 - - 1.5 ");
  EXPECT_EQ(sent(R"(,"body":{"b":[1]})"), "POST /p?a=1 application/json key-step-4 - {\"b\":[1]}");
  EXPECT_EQ(sent(R"(,"method":"put","text":"t","headers":{"Idempotency-Key":"mine"})"),
            "PUT /p?a=1 text/plain; charset=utf-8 mine - t");
  EXPECT_EQ(sent(R"(,"form":{"a":"1 2","b":3})"),
            "POST /p?a=1 application/x-www-form-urlencoded key-step-6 - a=1%202&b=3");
  EXPECT_EQ(sent(R"(,"bodyBase64":"aGk=","headers":{"content-type":"x/y"})"),
            "POST /p?a=1 x/y key-step-7 - hi");
  EXPECT_EQ(sent(R"(,"method":"DELETE")"), "DELETE /p?a=1 - key-step-8 - ");
}

TEST_F(HttpToolTest, TheBodyIsParsedByItsContentType) {
  LoopbackHttpServer server([](const Request& request) {
    if (request.target == "/json") {
      return Response{200, {{"Content-Type", "application/json; charset=utf-8"}}, R"({"a": 1})"};
    }
    if (request.target == "/broken") {
      return Response{200, {{"Content-Type", "application/json"}}, "{"};
    }
    if (request.target == "/binary") return Response{200, {}, std::string("\0\xff", 2)};
    if (request.target == "/none") return Response{204, {{"X-A", "1"}, {"X-A", "2"}}, ""};
    return Response{200, {}, "[1]"};
  });
  const auto result = [&](const char* target, const char* more = "") {
    return ResultOf(Run(server.Url(target), more));
  };
  EXPECT_EQ(ToJson(result("/json").Get("body")), R"({"a":1})");
  EXPECT_EQ(result("/json", R"(,"responseType":"text")").Get("body").text(), R"({"a": 1})");
  EXPECT_EQ(result("/broken").Get("body").text(), "{");
  EXPECT_EQ(Run(server.Url("/broken"), R"(,"responseType":"json")").error_code, "HTTP_BAD_BODY");
  EXPECT_EQ(result("/binary").Get("bodyBase64").text(), "AP8=");
  EXPECT_EQ(result("/text").Get("body").text(), "[1]");
  EXPECT_EQ(ToJson(result("/text", R"(,"responseType":"json")").Get("body")), "[1]");
  EXPECT_EQ(result("/text", R"(,"responseType":"binary")").Get("bodyBase64").text(), Base64("[1]"));
  EXPECT_EQ(result("/none").Get("status").int_value(), 204);
  EXPECT_EQ(result("/none").Get("headers").Get("x-a").text(), "1, 2");
}

TEST_F(HttpToolTest, AnUnexpectedStatusIsAFailure) {
  LoopbackHttpServer server([](const Request& request) {
    const int status = std::stoi(request.target.substr(1));
    Response response{status, {}, "because " + std::string(5000, 'x')};
    if (status == 429) response.headers = {{"Retry-After", "7"}};
    if (status == 503) response.headers = {{"Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"}};
    return response;
  });
  for (const int status : {400, 401, 404, 408, 409, 425, 429, 500, 501, 502, 503, 504}) {
    const TaskOutcome outcome = Run(server.Url("/" + std::to_string(status)));
    EXPECT_EQ(outcome.error_code, "HTTP_STATUS");
    EXPECT_EQ(ResultOf(outcome).Get("status").int_value(), status);
    EXPECT_EQ(ResultOf(outcome).Get("body").text().size(), 2048U);
    const bool retryable = status == 408 || status == 425 || status == 429 || status == 500 ||
                           status == 502 || status == 503 || status == 504;
    EXPECT_EQ(outcome.retryable, retryable) << status;
  }
  EXPECT_EQ(Run(server.Url("/429")).retry_after, Milliseconds(7000));
  EXPECT_EQ(Run(server.Url("/503")).retry_after, Milliseconds(0));
  EXPECT_EQ(Run(server.Url("/500")).retry_after, std::nullopt);
  EXPECT_TRUE(Run(server.Url("/404"), R"(,"expectStatus":[200,404])").succeeded);
  EXPECT_TRUE(Run(server.Url("/404"), R"(,"expectStatus":404)").succeeded);
  EXPECT_EQ(Run(server.Url("/200"), R"(,"expectStatus":201)").error_code, "HTTP_STATUS");
}

TEST_F(HttpToolTest, ALargeBodyBecomesAnArtifact) {
  const std::string body(200'000, 'b');
  LoopbackHttpServer server([&](const Request&) {
    return Response{200, {{"Content-Type", "text/css"}}, body};
  });
  const TaskOutcome outcome = Run(server.Url("/"));
  const Value ref = ResultOf(outcome).Get("body").Get("$artifact");
  EXPECT_EQ(ref.Get("contentType").text(), "text/css");
  EXPECT_EQ(*bench_.box().artifacts().Read(ref.Get("uri").text()), body);
  EXPECT_EQ(*ValueFromJson(outcome.artifacts), Value::List({ref}));
  EXPECT_EQ(Run(server.Url("/"), R"(,"maxBytes":1000)").error_code, "HTTP_TOO_LARGE");
}

TEST_F(HttpToolTest, FailuresHaveTheirCodes) {
  bench_.options.tools.allow_private_addresses = false;
  LoopbackHttpServer server(Mirror);
  const TaskOutcome refused = Run(server.Url("/"));
  EXPECT_EQ(refused.error_code, "ADDRESS_NOT_ALLOWED");
  EXPECT_FALSE(refused.retryable);
  EXPECT_EQ(Run("http://no-such-host.invalid/").error_code, "HTTP_DNS");
  for (const char* bad :
       {"{}", R"({"url":"ftp://x/"})", R"({"url":"http://x/","body":1,"text":"2"})",
        R"({"url":"http://x/","bodyBase64":"!"})", R"({"url":"http://x/","headers":{"A":{}}})",
        R"({"url":"http://x/","headers":{"A":"b\r\nc: d"}})", R"({"url":"http://x/","verb":"GET"})",
        R"({"url":"http://x/","responseType":"xml"})", R"({"url":"http://x/","maxBytes":-1})"}) {
    const TaskOutcome outcome = bench_.Run("http", bad);
    EXPECT_EQ(outcome.error_code, "BAD_INPUT") << bad << " " << outcome.error_message;
    EXPECT_FALSE(outcome.retryable);
  }
}

TEST_F(HttpToolTest, CanTimeOutAndBeCancelled) {
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  std::promise<void> asked;
  LoopbackHttpServer server([&](const Request& request) {
    if (request.target == "/cancel") asked.set_value();
    opened.wait();
    return Response{};
  });
  const TaskOutcome late = Run(server.Url("/"), R"(,"timeout":50)");
  EXPECT_EQ(late.error_code, "TIMEOUT");
  EXPECT_TRUE(late.retryable);
  Task task = bench_.NewTask("http", R"({"url":")" + server.Url("/") + "\"}");
  task.timeout = Milliseconds(50);
  EXPECT_EQ(bench_.Run(task).error_code, "TIMEOUT");
  const TaskId id = bench_.Start("http", R"({"url":")" + server.Url("/cancel") + "\"}");
  asked.get_future().wait();
  bench_.box().Cancel(id, false);
  EXPECT_EQ(bench_.reports.WaitFor(id).error_code, "CANCELLED");
  open.set_value();
}

}  // namespace
}  // namespace everstep
