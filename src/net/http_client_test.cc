#include "net/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "base/unique_fd.h"
#include "net/retry_after.h"
#include "testing/loopback_http_server.h"

namespace everstep {
namespace {

using Request = LoopbackHttpServer::Request;
using Response = LoopbackHttpServer::Response;
constexpr AddressPolicy kLocal{.allow_private = true};

// A door at which handlers wait until the test opens it.
class Door {
 public:
  ~Door() { Open(); }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void WaitFor(int waiting) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= waiting; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

// A server that keeps its connections open: it answers the first request on each, and closes after
// receiving the second one, without an answer. `lives_on`: it accepts further connections.
class DyingServer {
 public:
  explicit DyingServer(bool lives_on) : lives_on_(lives_on) {
    listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    thread_ = std::thread([this] { Run(); });
  }
  ~DyingServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  const std::string& url() const { return url_; }
  int requests() const { return requests_; }

 private:
  void Run() {
    while (true) {
      const UniqueFd connection(::accept(listener_.get(), nullptr, nullptr));
      if (!connection) return;
      if (!Take(connection.get())) return;
      constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
      (void)::send(connection.get(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
      if (Take(connection.get()) && !lives_on_) {
        ::shutdown(listener_.get(), SHUT_RDWR);
        return;
      }
    }
  }
  bool Take(int connection) {
    std::string text;
    char byte = 0;
    while (!text.ends_with("\r\n\r\n")) {
      if (::recv(connection, &byte, 1, 0) != 1) return false;
      text.push_back(byte);
    }
    ++requests_;
    return true;
  }

  const bool lives_on_;
  UniqueFd listener_;
  std::string url_;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

HttpRequest Get(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  return request;
}

TEST(HttpClient, SendsMethodHeadersAndBodyAndReturnsTheAnswer) {
  LoopbackHttpServer server([](const Request& request) {
    EXPECT_EQ(request.method, "PUT");
    EXPECT_EQ(request.target, "/things?x=1");
    EXPECT_EQ(request.headers.at("x-mark"), "one");
    EXPECT_EQ(request.headers.at("x-empty"), "");
    EXPECT_FALSE(request.headers.contains("content-type"));
    EXPECT_FALSE(request.headers.contains("expect"));
    return Response{201, {{"X-Answer", "two"}}, "got " + request.body};
  });
  HttpClient client(kLocal);
  HttpRequest request = Get(server.Url("/things?x=1"));
  request.method = "PUT";
  request.headers = {{"X-Mark", "one"}, {"X-Empty", ""}};
  request.body = std::string(2 << 20, 'b');
  const HttpOutcome outcome = client.SendAndWait(request);
  EXPECT_EQ(outcome.failure, HttpFailure::kNone) << outcome.message;
  EXPECT_EQ(outcome.response.status, 201);
  EXPECT_EQ(outcome.response.Header("x-answer"), "two");
  EXPECT_EQ(outcome.response.body.size(), request.body.size() + 4);
}

TEST(HttpClient, SendsManyRequestsAtOnce) {
  constexpr int kRequests = 100;
  Door door;
  LoopbackHttpServer server([&](const Request&) {
    door.Pass();
    return Response{};
  });
  HttpClient client(kLocal);
  std::mutex mutex;
  std::condition_variable changed;
  int answered = 0;
  for (int i = 0; i < kRequests; ++i) {
    client.Send(Get(server.Url("/")), [&](HttpOutcome outcome) {
      EXPECT_EQ(outcome.response.status, 200) << outcome.message;
      const std::lock_guard lock(mutex);
      ++answered;
      changed.notify_one();
    });
  }
  door.WaitFor(kRequests);
  door.Open();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return answered == kRequests; });
  EXPECT_EQ(answered, kRequests);
}

TEST(HttpClient, AddressesAreCheckedHoweverTheyAreWritten) {
  std::atomic<int> requests = 0;
  LoopbackHttpServer server([&](const Request&) {
    ++requests;
    return Response{};
  });
  HttpClient client(AddressPolicy{});
  const std::string port = ":" + std::to_string(server.port()) + "/";
  for (const char* host : {"127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]",
                           "[::1]", "0.0.0.0", "127.1"}) {
    const HttpOutcome outcome = client.SendAndWait(Get(std::string("http://") + host + port));
    EXPECT_EQ(outcome.failure, HttpFailure::kAddressNotAllowed) << host << " " << outcome.message;
  }
  EXPECT_EQ(requests, 0);
}

TEST(HttpClient, RedirectsAreFollowedUpToALimitAndCheckedAgain) {
  LoopbackHttpServer server([](const Request& request) {
    if (request.target == "/end") return Response{200, {}, "end"};
    if (request.target == "/metadata") {
      return Response{302, {{"Location", "http://169.254.169.254/latest"}}, ""};
    }
    if (request.target == "/file") return Response{302, {{"Location", "file:///etc/passwd"}}, ""};
    if (request.target == "/round") return Response{302, {{"Location", "/round"}}, ""};
    return Response{302, {{"Location", "/end"}}, ""};
  });
  HttpClient client(kLocal);
  const HttpOutcome followed = client.SendAndWait(Get(server.Url("/start")));
  EXPECT_EQ(followed.response.body, "end") << followed.message;
  EXPECT_EQ(followed.response.url, server.Url("/end"));
  EXPECT_EQ(client.SendAndWait(Get(server.Url("/metadata"))).failure,
            HttpFailure::kAddressNotAllowed);
  EXPECT_EQ(client.SendAndWait(Get(server.Url("/file"))).failure, HttpFailure::kRedirect);
  EXPECT_EQ(client.SendAndWait(Get(server.Url("/round"))).failure, HttpFailure::kRedirect);
  HttpRequest once = Get(server.Url("/start"));
  once.redirects_max = 0;
  EXPECT_EQ(client.SendAndWait(once).response.status, 302);
}

TEST(HttpClient, ARedirectToAnotherOriginLosesCredentials) {
  std::promise<Request> seen;
  LoopbackHttpServer other([&](const Request& request) {
    seen.set_value(request);
    return Response{};
  });
  LoopbackHttpServer server([&](const Request&) {
    return Response{303, {{"Location", other.Url("/there")}}, ""};
  });
  HttpClient client(kLocal);
  HttpRequest request = Get(server.Url("/"));
  request.method = "POST";
  request.body = "{}";
  request.headers = {{"Authorization", "Bearer t"},
                     {"X-Api-Key", "k"},
                     {"Content-Type", "application/json"},
                     {"Accept", "text/plain"}};
  EXPECT_EQ(client.SendAndWait(request).response.status, 200);
  const Request arrived = seen.get_future().get();
  EXPECT_EQ(arrived.method, "GET");
  EXPECT_EQ(arrived.body, "");
  EXPECT_FALSE(arrived.headers.contains("authorization"));
  EXPECT_FALSE(arrived.headers.contains("x-api-key"));
  EXPECT_FALSE(arrived.headers.contains("content-type"));
  EXPECT_EQ(arrived.headers.at("accept"), "text/plain");
}

TEST(HttpClient, AnAnswerThatIsTooLargeIsNotTaken) {
  LoopbackHttpServer server([](const Request& request) {
    if (request.target == "/headers") {
      return Response{200,
                      {{"X-Large", std::string(90'000, 'h')},
                       {"X-Large", std::string(90'000, 'h')},
                       {"X-Large", std::string(90'000, 'h')}},
                      ""};
    }
    return Response{200, {}, std::string(1001, 'x')};
  });
  HttpClient client(kLocal);
  HttpRequest request = Get(server.Url("/"));
  request.response_bytes_max = 1000;
  EXPECT_EQ(client.SendAndWait(request).failure, HttpFailure::kTooLarge);
  request.response_bytes_max = 1001;
  EXPECT_EQ(client.SendAndWait(request).response.body.size(), 1001U);
  EXPECT_EQ(client.SendAndWait(Get(server.Url("/headers"))).failure, HttpFailure::kTooLarge);
}

TEST(HttpClient, ARequestThatTakesTooLongTimesOut) {
  Door door;
  LoopbackHttpServer server([&](const Request&) {
    door.Pass();
    return Response{};
  });
  HttpClient client(kLocal);
  HttpRequest request = Get(server.Url("/"));
  request.timeout = std::chrono::milliseconds(50);
  EXPECT_EQ(client.SendAndWait(request).failure, HttpFailure::kTimeout);
  door.Open();
}

TEST(HttpClient, CancelAndTheDestructorEndRequests) {
  Door door;
  LoopbackHttpServer server([&](const Request&) {
    door.Pass();
    return Response{};
  });
  std::promise<HttpOutcome> cancelled;
  std::promise<HttpOutcome> left;
  {
    HttpClient client(kLocal);
    const auto id = client.Send(Get(server.Url("/")),
                                [&](HttpOutcome outcome) { cancelled.set_value(outcome); });
    door.WaitFor(1);
    client.Cancel(id);
    client.Cancel(id + 1000);
    EXPECT_EQ(cancelled.get_future().get().failure, HttpFailure::kCancelled);
    client.Send(Get(server.Url("/")), [&](HttpOutcome outcome) { left.set_value(outcome); });
    door.WaitFor(2);
  }
  EXPECT_EQ(left.get_future().get().failure, HttpFailure::kCancelled);
  door.Open();
}

TEST(HttpClient, DistinguishesFailures) {
  HttpClient client(kLocal);
  std::uint16_t port = 0;
  {
    LoopbackHttpServer gone([](const Request&) { return Response{}; });
    port = gone.port();
  }
  const HttpOutcome refused = client.SendAndWait(Get("http://127.0.0.1:" + std::to_string(port)));
  EXPECT_EQ(refused.failure, HttpFailure::kConnect);
  EXPECT_FALSE(refused.connected);
  EXPECT_EQ(client.SendAndWait(Get("http://no-such-host.invalid/")).failure, HttpFailure::kDns);
  for (const char* url :
       {"ftp://127.0.0.1/", "file:///etc/passwd", "nonsense", "", "http://a b/"}) {
    EXPECT_EQ(client.SendAndWait(Get(url)).failure, HttpFailure::kBadRequest) << url;
  }
  HttpRequest split = Get("http://127.0.0.1/");
  split.headers = {{"X-A", "b\r\nX-Injected: c"}};
  EXPECT_EQ(client.SendAndWait(split).failure, HttpFailure::kBadRequest);
  HttpRequest method = Get("http://127.0.0.1/");
  method.method = "GET / HTTP/1.1\r\nX: y";
  EXPECT_EQ(client.SendAndWait(method).failure, HttpFailure::kBadRequest);
}

TEST(HttpClient, OnlySafeRequestsAreSentAgainAfterABrokenConnection) {
  for (const bool lives_on : {true, false}) {
    DyingServer server(lives_on);
    HttpClient client(kLocal);
    HttpRequest request = Get(server.url());
    request.method = "POST";
    EXPECT_EQ(client.SendAndWait(request).response.status, 200);
    const HttpOutcome broken = client.SendAndWait(request);
    EXPECT_EQ(broken.failure, HttpFailure::kConnect) << lives_on;
    EXPECT_TRUE(broken.connected) << lives_on << ": the server has it";
    EXPECT_EQ(server.requests(), 2) << lives_on;
  }
  DyingServer server(true);
  HttpClient client(kLocal);
  EXPECT_EQ(client.SendAndWait(Get(server.url())).response.status, 200);
  EXPECT_EQ(client.SendAndWait(Get(server.url())).response.status, 200);
  EXPECT_EQ(server.requests(), 3);
}

TEST(HttpClient, HttpsToAPlainServerFails) {
  LoopbackHttpServer server([](const Request&) { return Response{}; });
  HttpClient client(kLocal);
  const std::string url = "https://127.0.0.1:" + std::to_string(server.port()) + "/";
  EXPECT_EQ(client.SendAndWait(Get(url)).failure, HttpFailure::kTls);
}

TEST(HttpClient, ProxyVariablesOfTheEnvironmentAreNotUsed) {
  ASSERT_EQ(::setenv("http_proxy", "http://127.0.0.1:1/", 1), 0);
  LoopbackHttpServer server([](const Request&) { return Response{}; });
  HttpClient client(kLocal);
  EXPECT_EQ(client.SendAndWait(Get(server.Url("/"))).response.status, 200);
  ::unsetenv("http_proxy");
}

// A proxy that answers everything itself, and counts the requests.
class CountingProxy {
 public:
  std::string url(const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(server_.port());
  }
  int requests() const { return requests_; }

 private:
  std::atomic<int> requests_ = 0;
  LoopbackHttpServer server_{[this](const Request& request) {
    ++requests_;
    if (request.target.ends_with("/inside")) {
      return Response{302, {{"Location", "http://127.0.0.1:1/"}}, ""};
    }
    return Response{200, {}, "by the proxy"};
  }};
};

HttpRequest By(const std::string& proxy, const std::string& url) {
  HttpRequest request = Get(url);
  request.proxy = proxy;
  return request;
}

TEST(HttpClient, AProxyThatTheOperatorDidNotListIsRefused) {
  CountingProxy proxy;
  const std::string port = proxy.url().substr(proxy.url().rfind(':') + 1);
  HttpClient none(AddressPolicy{});
  HttpClient other(AddressPolicy{}, {"http://127.0.0.1:1", "http://proxy.example:" + port});
  for (const std::string& named :
       {proxy.url(), proxy.url("localhost"), "127.0.0.1:" + port, "socks5://127.0.0.1:" + port,
        "socks4a://127.0.0.1:" + port, "https://127.0.0.1:" + port, std::string("nonsense://"),
        "http://proxy.example@127.0.0.1:" + port, std::string("http://proxy.example")}) {
    for (HttpClient* client : {&none, &other}) {
      const HttpOutcome outcome = client->SendAndWait(By(named, "http://example.com/"));
      EXPECT_EQ(outcome.failure, HttpFailure::kAddressNotAllowed)
          << named << " " << outcome.message;
    }
  }
  EXPECT_EQ(proxy.requests(), 0);
}

TEST(HttpClient, AnOperatorsProxyIsUsedButNotToReachPrivateAddresses) {
  CountingProxy proxy;
  HttpClient client(AddressPolicy{}, {proxy.url()});
  const HttpOutcome good = client.SendAndWait(By(proxy.url(), "http://example.com/"));
  EXPECT_EQ(good.response.body, "by the proxy") << good.message;
  EXPECT_EQ(proxy.requests(), 1);
  for (const char* host :
       {"127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "0x7f.1", "2130706433", "127.1",
        "[::1]", "[::ffff:127.0.0.1]", "[fe80::1%25lo]", "10.0.0.1", "169.254.169.254"}) {
    const HttpOutcome outcome =
        client.SendAndWait(By(proxy.url(), std::string("http://") + host + "/"));
    EXPECT_EQ(outcome.failure, HttpFailure::kAddressNotAllowed) << host << " " << outcome.message;
  }
  EXPECT_EQ(proxy.requests(), 1);
  HttpRequest redirected = By(proxy.url(), "http://example.com/inside");
  redirected.redirects_max = 3;
  EXPECT_EQ(client.SendAndWait(redirected).failure, HttpFailure::kAddressNotAllowed);
  EXPECT_EQ(proxy.requests(), 2);
}

TEST(HttpClient, WithAnyProxyItsAddressIsChecked) {
  CountingProxy proxy;
  HttpClient strict(AddressPolicy{}, {"*"});
  EXPECT_EQ(strict.SendAndWait(By(proxy.url(), "http://example.com/")).failure,
            HttpFailure::kAddressNotAllowed);
  HttpClient local(kLocal, {"*"});
  EXPECT_EQ(local.SendAndWait(By(proxy.url(), "http://example.com/")).response.body,
            "by the proxy");
}

TEST(HttpClient, NoProxyOfTheEnvironmentDoesNotMakeARequestDirect) {
  LoopbackHttpServer target([](const Request&) { return Response{200, {}, "direct"}; });
  CountingProxy proxy;
  ASSERT_EQ(::setenv("no_proxy", "*", 1), 0);
  HttpClient client(kLocal, {proxy.url()});
  EXPECT_EQ(client.SendAndWait(By(proxy.url(), target.Url("/"))).response.body, "by the proxy");
  ::unsetenv("no_proxy");
}

TEST(RetryAfter, ReadsSecondsAndDates) {
  using std::chrono::seconds;
  const Timestamp now = *ParseTimestamp("2015-10-21T07:27:00Z");
  EXPECT_EQ(RetryAfter("120", now), seconds(120));
  EXPECT_EQ(RetryAfter("0", now), seconds(0));
  EXPECT_EQ(RetryAfter("Wed, 21 Oct 2015 07:28:00 GMT", now), seconds(60));
  EXPECT_EQ(RetryAfter("Wed, 21 Oct 2015 07:00:00 GMT", now), seconds(0));
  EXPECT_EQ(RetryAfter("", now), std::nullopt);
  EXPECT_EQ(RetryAfter("soon", now), std::nullopt);
  EXPECT_EQ(RetryAfter("-5", now), std::nullopt);
}

}  // namespace
}  // namespace everstep
