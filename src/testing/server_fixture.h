#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/http_server.h"
#include "testing/socket_client.h"

namespace everstep {

// A handler implemented by a function of the test. Without one, calls are kept to be answered
// later.
class TestHandler final : public HttpHandler {
 public:
  using Function = std::function<void(HttpCall)>;

  explicit TestHandler(Function function = nullptr) : function_(std::move(function)) {}
  ~TestHandler() override {
    if (before_end != nullptr) before_end();
  }
  TestHandler(const TestHandler&) = delete;
  TestHandler& operator=(const TestHandler&) = delete;

  void Handle(HttpCall call) override {
    if (function_ != nullptr) return function_(std::move(call));
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(call));
    changed_.notify_all();
  }
  void RoundEnded() override { ++rounds; }
  // Bodies sent to /upload are streamed, those to /open are accepted from anyone, those to /refused
  // are rejected, requests for /probe are health checks, and nobody in particular asks for
  // /anybody.
  BodyTerms TermsOfBody(const ServerRequest& head) override {
    return {body_bytes_max, head.path.starts_with("/upload"), head.path.starts_with("/open")};
  }
  Sender SenderOf(const ServerRequest& head) override {
    using enum Sender::Standing;
    if (head.path.starts_with("/refused")) return {kRefused, {}};
    if (head.path.starts_with("/probe")) return {kProbe, {}};
    if (head.path.starts_with("/anybody")) return {kUnknown, {}};
    return {kKnown, ClientOf(head)};
  }
  // The sender, from the header X-Tenant; without it, the operator.
  static ClientName ClientOf(const ServerRequest& head) {
    const std::string tenant(head.Header("x-tenant"));
    return {tenant, tenant.empty()};
  }

  // Waits until `count` unanswered calls are kept and returns them.
  std::vector<HttpCall> WaitForCalls(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(10), [&] { return kept_.size() >= count; }));
    return std::exchange(kept_, {});
  }
  // Waits up to `wait` for kept calls and returns them.
  std::vector<HttpCall> TakeCalls(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, wait, [&] { return !kept_.empty(); });
    return std::exchange(kept_, {});
  }

  std::function<void()> before_end;  // stops the server, which must not outlive its handler
  std::atomic<int> rounds = 0;
  std::size_t body_bytes_max = 1 << 20;

 private:
  const Function function_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HttpCall> kept_;
};

inline ServerResponse TextResponse(std::string body, int status = 200) {
  return {status, {{"Content-Type", "text/plain"}}, std::move(body)};
}

// Echoes the request.
inline void Echo(HttpCall call) {
  const ServerRequest& request = call.request();
  std::string text = request.method + " " + request.path + " " + request.body;
  call.Reply(TextResponse(std::move(text)));
}

class ServerTest : public testing::Test {
 protected:
  // Starts a server on a free port.
  HttpServer& Serve(TestHandler& handler, HttpServerOptions options = {}) {
    handler.before_end = [this] { server_.reset(); };
    options.listen = {"127.0.0.1:0"};
    auto server = HttpServer::Start(std::move(options), handler);
    EXPECT_TRUE(server) << (server ? "" : ToString(server.error()));
    server_ = std::move(*server);
    return *server_;
  }
  SocketClient Connect(int receive_bytes = 0) const {
    return SocketClient(server_->addresses().front(), receive_bytes);
  }
  // Polls for a condition that other threads make true without notification; ten seconds at most.
  template <typename Condition>
  static bool Eventually(const Condition& condition) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    for (int i = 0; i < 10'000; ++i) {
      if (condition()) return true;
      never.wait_for(lock, std::chrono::milliseconds(1));
    }
    return condition();
  }

  std::unique_ptr<HttpServer> server_;
};

}  // namespace everstep
