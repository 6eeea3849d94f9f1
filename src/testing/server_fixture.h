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

// A handler that tests give as a function; calls may also be kept and answered later.
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
  // Bodies sent to /upload are streamed, those to /open may be anybody's, those to /refused are not
  // wanted.
  BodyTerms TermsOfBody(const ServerRequest& head) override {
    return {body_bytes_max, head.path.starts_with("/upload"), head.path.starts_with("/open")};
  }
  std::optional<ClientName> SenderOf(const ServerRequest& head) override {
    if (head.path.starts_with("/refused")) return std::nullopt;
    return ClientOf(head);
  }
  // Who sends the request, by the header X-Tenant; without one it is the operator.
  static ClientName ClientOf(const ServerRequest& head) {
    const std::string tenant(head.Header("x-tenant"));
    return {tenant, tenant.empty()};
  }

  // Waits for that many calls that are not answered, and gives them.
  std::vector<HttpCall> WaitForCalls(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(10), [&] { return kept_.size() >= count; }));
    return std::exchange(kept_, {});
  }
  // Waits a moment for calls, and gives them.
  std::vector<HttpCall> TakeCalls(std::chrono::milliseconds wait) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, wait, [&] { return !kept_.empty(); });
    return std::exchange(kept_, {});
  }

  std::function<void()> before_end;  // ends the server, which must not outlive its handler
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

// Answers with what was asked for.
inline void Echo(HttpCall call) {
  const ServerRequest& request = call.request();
  std::string text = request.method + " " + request.path + " " + request.body;
  call.Reply(TextResponse(std::move(text)));
}

class ServerTest : public testing::Test {
 protected:
  // On a port of its own.
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
  // Waits for what happens on other threads without a signal of its own; ten seconds at most.
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
