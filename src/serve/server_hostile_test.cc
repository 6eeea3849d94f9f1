// A thousand clients that are slow, broken or malicious at once, and one that is well-behaved.

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/content_coding.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

constexpr int kClients = 1'000;

std::size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Memory allocated by the process. Resident memory would include per-thread caches of the
// allocator.
std::size_t AllocatedBytes() {
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

class ServerHostileTest : public testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options;
    options.http.head_timeout = std::chrono::milliseconds(1'500);
    options.http.body_timeout = std::chrono::milliseconds(1'500);
    options.http.idle_timeout = std::chrono::milliseconds(1'500);
    options.http.write_timeout = std::chrono::milliseconds(1'500);
    return options;
  }
  void SetUp() override {
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = std::max<rlim_t>(files.rlim_cur, std::min<rlim_t>(files.rlim_max, 8'192));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
    ASSERT_GE(files.rlim_cur, 3 * static_cast<rlim_t>(kClients))
        << "raise the limit on open files (ulimit -n)";
    token_ = bench_.Token("shop", "tenant-admin");
    hostile_token_ = bench_.Token("hostile", "tenant-admin");
    std::string batch = "[{\"eventType\":\"RunStarted\",\"runId\":\"big\"}";
    for (int i = 0; i < 5'000; ++i) {
      batch +=
          R"(,{"eventType":"StepStarted","runId":"big","stepId":"s)" + std::to_string(i) + "\"}";
    }
    ASSERT_EQ(bench_.Post(hostile_token_, "/v1/events", batch + "]").status, 200);
  }

  // The beginning of what a client of the given kind sends.
  std::string Opening(int kind) const {
    const std::string auth = "Authorization: Bearer " + hostile_token_ + "\r\n";
    switch (kind) {
      case 0:  // a head that never ends
        return "GET /v1/runs HTTP/1.1\r\nHost: x\r\nX-Slow: ";
      case 1:  // a body that never arrives
        return "POST /v1/events HTTP/1.1\r\nHost: x\r\n" + auth +
               "Content-Length: 1000000\r\n\r\n[";
      case 2:  // a chunk size larger than what follows
        return "POST /v1/events HTTP/1.1\r\nHost: x\r\n" + auth +
               "Transfer-Encoding: chunked\r\n\r\nfffff\r\n[{";
      case 3:  // requests much data and never reads
        return GetText("/v1/runs/big/events?limit=10000", auth) +
               GetText("/v1/runs/big/events?limit=10000", auth);
      case 4:  // follows and never reads
        return GetText("/v1/events?after=0", auth + "Accept: text/event-stream\r\n");
      case 5:  // garbage
        return std::string("\x16\x03\x01\x02\x00\x01\xff\xfe\0\0", 10) + std::string(500, '\x80');
      case 6:  // sends nothing
        return "";
      case 7:  // two lengths
        return "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: "
               "5\r\n\r\nabc";
      case 8:  // no token, and a large body in transit
        return "POST /v1/artifacts HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n" +
               std::string(20'000, 'a');
      default:  // part of several pipelined requests
        return GetText("/livez") + GetText("/v1/nowhere") + "GET /livez HT";
    }
  }

  ServerWorkbench bench_{Options()};
  std::string token_;
  std::string hostile_token_;  // of another tenant, whose share its own clients exhaust
};

TEST_F(ServerHostileTest, AGoodClientIsServedAmongAThousandHostileOnes) {
  const auto good = [&](int i) {
    const std::string run = "good-" + std::to_string(i);
    const auto begun = SteadyNow();
    const ServerReply appended =
        bench_.Post(token_, "/v1/events", R"({"eventType":"RunStarted","runId":")" + run + "\"}");
    EXPECT_EQ(appended.status, 201) << appended.body;
    EXPECT_EQ(bench_.Get(token_, "/v1/runs/" + run + "/snapshot").status, 200);
    EXPECT_LT(SteadyNow() - begun, std::chrono::seconds(60)) << i;  // did not hang
  };
  good(-1);
  const std::size_t descriptors = OpenDescriptors();
  const std::size_t allocated = AllocatedBytes();
  {
    std::vector<SocketClient> clients;
    clients.reserve(kClients);
    for (int i = 0; i < kClients; ++i) {
      clients.push_back(bench_.Connect(4'096));
      ASSERT_TRUE(clients.back().connected()) << i;
      clients.back().Send(Opening(i % 10));
      if (i % 100 == 99) good(i);
    }
    // Clients with slow heads and bodies continue byte by byte.
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < kClients; ++i) {
        if (i % 10 < 3) clients[static_cast<std::size_t>(i)].Send("a");
      }
      good(kClients + round);
    }
    for (int i = 0; i < kClients; i += 3) clients[static_cast<std::size_t>(i)].Reset();
    good(2 * kClients);
    EXPECT_LT(AllocatedBytes(), allocated + (400U << 20));
    // The remaining clients are disconnected by timeouts.
    const auto until = SteadyNow() + std::chrono::seconds(15);
    const auto left = [&] {
      const std::string text = bench_.Get(bench_.admin(), "/metrics").body;
      const std::size_t at = text.find("\neverstep_http_connections ") + 27;
      return std::stoi(text.substr(at, 12));
    };
    int now = left();
    while (now > 110 && SteadyNow() < until) now = left();
    // Followers that have received all events may stay.
    EXPECT_LE(now, 110);
  }
  const auto until = SteadyNow() + std::chrono::seconds(10);
  std::size_t open = OpenDescriptors();
  while (open > descriptors + 2 && SteadyNow() < until) open = OpenDescriptors();
  EXPECT_LE(open, descriptors + 2);
  good(3 * kClients);
  // Work for disconnected clients ends by itself; then only this request is left.
  std::string metrics;
  bool alone = false;
  for (const auto end = SteadyNow() + std::chrono::seconds(10); !alone && SteadyNow() < end;) {
    metrics = bench_.Get(bench_.admin(), "/metrics").body;
    alone = metrics.find("\neverstep_http_requests_in_flight 1\n") != std::string::npos;
  }
  EXPECT_TRUE(alone) << metrics;
  const std::size_t buffered = metrics.find("\neverstep_http_buffered_bytes ") + 30;
  EXPECT_LT(std::stoll(metrics.substr(buffered, 16)), 100'000);
}

TEST_F(ServerHostileTest, ClientsWithoutATokenCannotExhaustMemory) {
  const std::string packed = Gzip(std::string(31 << 20, ' ') + "[]");
  std::vector<SocketClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(bench_.Connect(4'096));
    clients.back().Send(
        "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: " +
        std::to_string(packed.size()) + "\r\n\r\n" + packed.substr(0, packed.size() - 4));
    EXPECT_EQ(clients.back().ReadAnswer().status, 401) << i;
  }
  // Roles are checked before the body, too.
  clients.push_back(bench_.Connect(4'096));
  clients.back().Send("POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
                      bench_.Token("shop", "viewer") + "\r\nContent-Length: 1000000\r\n\r\n[");
  EXPECT_EQ(clients.back().ReadAnswer().status, 403);
  // Webhooks are authenticated by their bodies.
  for (int i = 0; i < 100; ++i) {
    clients.push_back(bench_.Connect(4'096));
    clients.back().Send(
        "POST /webhooks/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" +
        std::string(900'000, ' '));
  }
  EXPECT_EQ(bench_.Get("", "/livez").status, 200);
  EXPECT_EQ(bench_.Get("", "/readyz").status, 200);
  EXPECT_EQ(bench_.Get(token_, "/v1/runs").status, 200);
  EXPECT_EQ(bench_.Post(token_, "/v1/events", R"({"eventType":"RunStarted","runId":"r"})").status,
            201);
}

}  // namespace
}  // namespace everstep
