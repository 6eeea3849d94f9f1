// What load one tenant can put on a server, and how that affects other tenants.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/cbor.h"
#include "base/content_count.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

std::string Repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

class ServerBoundsTest : public testing::Test {
 protected:
  ServerWorkbench bench_;
  const std::string token_ = bench_.Token("shop", "tenant-admin");
};

TEST_F(ServerBoundsTest, ABodyWithTooManyValuesIsRefused) {
  const std::string many = "{\"inputs\":[" + Repeated("1,", kContentValuesMax + 1) + "1]}";
  const ServerReply reply = bench_.Post(token_, "/v1/runs", many);
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.Code(), "CONTENT_TOO_LARGE");
  EXPECT_NE(reply.Text("detail").find("values"), std::string::npos);
}

TEST_F(ServerBoundsTest, RequestsBeyondTheMemoryLimitAreRefused) {
  ServerOptions options;
  options.http.memory_bytes_max = 4 << 20;
  bench_.Restart(options);
  const ServerReply reply =
      bench_.Post(token_, "/v1/runs", "{\"inputs\":[" + Repeated("1,", 100'000) + "1]}");
  EXPECT_EQ(reply.status, 413) << reply.body;
  const std::string text = "{\"inputs\":{\"a\":\"" + std::string(500'000, 'x') + "\"}}";
  EXPECT_EQ(bench_.Post(token_, "/v1/runs", text).status, 422) << "a long text is one value";
}

// A plan is one text of the body, but has values of its own.
TEST_F(ServerBoundsTest, TheValuesOfAPlanInABodyAreChargedToo) {
  ServerOptions options;
  options.http.memory_bytes_max = 32 << 20;
  bench_.Restart(options);
  const auto start = [&](std::size_t values) {
    return bench_.Post(token_, "/v1/runs",
                       R"({"plan":"metadata: {planId: p, planVersion: '1'}\nsteps: [)" +
                           Repeated("1,", values) + "1]\"}");
  };
  const ServerReply many = start(500'000);
  EXPECT_EQ(many.status, 413) << many.body.substr(0, 300);
  EXPECT_EQ(many.Code(), "CONTENT_TOO_LARGE");
  EXPECT_EQ(start(50'000).status, 422);
}

TEST_F(ServerBoundsTest, LargeAndSmallBodiesAreServedAlike) {
  const std::string space(100'000, ' ');
  const std::string start =
      R"({"plan":"metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]"})";
  const HttpHeaders key = {{"Idempotency-Key", "once"}};
  const ServerReply first = bench_.Post(token_, "/v1/runs", space + start, key);
  EXPECT_EQ(first.status, 201) << first.body;
  const ServerReply again = bench_.Post(token_, "/v1/runs", space + start, key);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(bench_.Post(token_, "/v1/runs", space + "{}", key).Code(), "IDEMPOTENCY_KEY_REUSED");
  const ServerReply events =
      bench_.Post(token_, "/v1/events", space + R"([{"eventType":"RunStarted","runId":"r"}])");
  EXPECT_EQ(events.status, 200) << events.body;
}

// Of 64 requests, an eighth is for unauthenticated clients, a tenth of the rest for the operator,
// and each tenant may use half of what remains.
TEST_F(ServerBoundsTest, TenantsShareTheRequestsAndLeaveSomeToTheOperator) {
  ServerOptions options;
  options.http.in_flight_max = 64;
  bench_.Restart(options);
  std::vector<SocketClient> waiting;
  const auto start = [&](const std::string& token) {
    return bench_.StartRun(token,
                           "metadata: {planId: p, planVersion: '1'}\n"
                           "steps: [{stepId: a, waitFor: {duration: 1h}}]");
  };
  // Sends waiting requests of `tenant` until one of `other` is refused. Returns how many fitted.
  const auto fill = [&](const std::string& tenant, const std::string& other) {
    const std::string token = bench_.Token(tenant, "tenant-admin");
    const std::string path = "/v1/runs/" + start(token) + "?wait=60s";
    for (int sent = 0; sent < 200; ++sent) {
      const ServerReply reply = bench_.Get(other, "/v1/counts");
      if (reply.status == 503 && reply.Code() == "OVERLOADED") return sent;
      waiting.push_back(bench_.Connect());
      waiting.back().Send(RequestText({"GET", path, {}, {}, token}));
    }
    return -1;
  };
  const std::string third = bench_.Token("third", "viewer");
  EXPECT_GE(fill("shop", token_), 28);
  EXPECT_EQ(bench_.Get(third, "/v1/counts").status, 200);
  EXPECT_GE(fill("other", third), 22) << "all tenants together";
  EXPECT_EQ(bench_.Get(bench_.admin(), "/v1/counts").status, 200);
  EXPECT_EQ(bench_.Get("", "/livez").status, 200);
  EXPECT_EQ(bench_.Get("", "/readyz").status, 200);
}

// Monitoring must not consider the server dead because of load from unauthenticated clients.
TEST_F(ServerBoundsTest, UnauthenticatedClientsCannotFailALivenessProbe) {
  ServerOptions options;
  options.http.in_flight_max = 64;  // 8 of them for unauthenticated clients
  bench_.Restart(options);
  std::string probes;
  for (int i = 0; i < 32; ++i) probes += GetText("/readyz");
  for (int round = 0; round < 20; ++round) {
    std::vector<SocketClient> strangers;
    for (int i = 0; i < 9; ++i) {
      strangers.push_back(bench_.Connect());
      strangers.back().Send(probes);
    }
    for (int i = 0; i < 10; ++i) ASSERT_EQ(bench_.Get("", "/livez").status, 200);
  }
}

TEST_F(ServerBoundsTest, StreamsOfEventsAndOfRunsAreSharedByTenants) {
  ServerOptions options;
  options.api.streams = {20, 25};
  bench_.Restart(options);
  std::vector<SocketClient> streams;
  const auto follow = [&](const std::string& token, const std::string& path) {
    streams.push_back(bench_.Connect());
    streams.back().Send(RequestText({"GET", path, {}, {{"Accept", "text/event-stream"}}, token}));
    return streams.back().ReadLine();
  };
  const std::string run = bench_.StartRun(
      token_, "metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]");
  const std::string of_run = "/v1/runs/" + run + "/streams/out";
  const std::string refused = "HTTP/1.1 429 Too Many Requests";
  const std::string begun = "HTTP/1.1 200 OK";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(follow(token_, "/v1/events"), begun);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(follow(token_, of_run), begun);
  EXPECT_EQ(follow(token_, "/v1/events"), refused);
  EXPECT_EQ(follow(token_, of_run), refused);
  for (const char* tenant : {"b", "c", "d"}) {
    for (int i = 0; i < 5; ++i) (void)follow(bench_.Token(tenant, "viewer"), "/v1/events");
  }
  EXPECT_EQ(follow(bench_.Token("e", "viewer"), "/v1/events"), refused) << "all tenants together";
  EXPECT_EQ(follow(bench_.admin(), "/v1/events"), begun);
  // A stream that its reader leaves is released; meanwhile the operator has taken one.
  streams[3].Reset();
  streams[4].Reset();
  std::string line = refused;
  for (int i = 0; i < 300 && line == refused; ++i) line = follow(token_, of_run);
  EXPECT_EQ(line, begun);
}

TEST_F(ServerBoundsTest, RulesThatNeedTooMuchWorkAreRefused) {
  for (int i = 0; i < 60; ++i) {
    const ServerReply put =
        bench_.Send({"PUT",
                     "/v1/inbound/rules/r" + std::to_string(i),
                     R"({"types":["t"],"when":"range(20000) | sum < 0","deliver":{"token":"x"}})",
                     {},
                     token_});
    ASSERT_EQ(put.status, 201) << put.body;
  }
  const auto send = [&](int events) {
    std::string batch = "[";
    for (int i = 0; i < events; ++i) {
      batch += (i > 0 ? "," : "") +
               std::string(R"({"specversion":"1.0","source":"/s","type":"t","id":")") +
               std::to_string(i) + "\"}";
    }
    return bench_.Post(bench_.Token("shop", "system"), "/v1/inbound", batch + "]",
                       {{"Content-Type", "application/cloudevents-batch+json"}});
  };
  EXPECT_EQ(send(1).status, 200);
  const ServerReply reply = send(100);
  EXPECT_EQ(reply.status, 422) << reply.body.substr(0, 500);
  EXPECT_EQ(reply.Code(), "EXPRESSION_FAILED");
  EXPECT_NE(reply.Text("detail").find("fewer events"), std::string::npos);
}

TEST_F(ServerBoundsTest, APageOfLargeEventsEndsEarly) {
  const std::string system = bench_.Token("shop", "system");
  const std::string large(900'000, 'x');
  ASSERT_EQ(bench_.Post(system, "/v1/events", R"({"eventType":"RunStarted","runId":"r"})").status,
            201);
  for (int i = 0; i < 24; ++i) {
    const std::string step = std::to_string(i);
    const ServerReply reply =
        bench_.Post(system, "/v1/events",
                    R"([{"eventType":"StepStarted","runId":"r","stepId":")" + step +
                        R"("},{"eventType":"StepCompleted","runId":"r","stepId":")" + step +
                        R"(","payload":{"result":")" + large + "\"}}]");
    ASSERT_EQ(reply.status, 200) << reply.body.substr(0, 300);
  }
  const ServerReply page = bench_.Get(system, "/v1/runs/r/events?limit=10000");
  EXPECT_EQ(page.status, 200);
  EXPECT_LT(page.body.size(), 6U << 20);
  EXPECT_EQ(page.Json().Get("more"), Value::Bool(true));
  const ServerReply rest =
      bench_.Get(system, "/v1/runs/r/events?limit=10000&after=" +
                             std::to_string(page.Json().Get("nextAfter").int_value()));
  EXPECT_EQ(rest.status, 200);
}

// Each answer has more than 4 MiB, and the tenant has 32 MiB.
TEST_F(ServerBoundsTest, AnswersThatNobodyReadsAreNotMade) {
  ServerOptions options;
  options.http.memory_bytes_max = 64 << 20;
  options.http.tenant_share = 50;
  bench_.Restart(options);
  const std::string system = bench_.Token("shop", "system");
  std::string events = R"([{"eventType":"RunStarted","runId":"r"})";
  for (int i = 0; i < 6; ++i) {
    const std::string step = std::to_string(i);
    events += R"(,{"eventType":"StepStarted","runId":"r","stepId":")" + step +
              R"("},{"eventType":"StepCompleted","runId":"r","stepId":")" + step +
              R"(","payload":{"result":")" + std::string(900'000, 'x') + "\"}}";
  }
  ASSERT_EQ(bench_.Post(system, "/v1/events", events + "]").status, 200);
  std::string requests;
  for (int i = 0; i < 8; ++i) {
    requests += RequestText({"GET", "/v1/runs/r/events", {}, {}, system});
  }
  std::vector<SocketClient> lazy;
  std::uint64_t most = 0;
  const auto held = [&] {
    const std::string text = bench_.Get(bench_.admin(), "/metrics").body;
    const std::size_t at = text.find("\neverstep_http_buffered_bytes ");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 30));
  };
  for (int i = 0; i < 20; ++i) {
    lazy.push_back(bench_.Connect(4'096));
    lazy.back().Send(requests);
    most = std::max<std::uint64_t>(most, held());
  }
  ServerReply refused;
  for (int i = 0; i < 500 && refused.status != 503; ++i) {
    refused = bench_.Get(system, "/v1/runs/r/events");
    most = std::max<std::uint64_t>(most, held());
  }
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Code(), "OVERLOADED");
  EXPECT_FALSE(refused.Header("retry-after").empty());
  EXPECT_LT(most, 40U << 20);
  EXPECT_EQ(bench_.Get(bench_.Token("other", "viewer"), "/v1/counts").status, 200);
}

TEST_F(ServerBoundsTest, DecisionsOnSignalsAreReadInPages) {
  const std::string run = bench_.StartRun(
      token_,
      "metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, waitFor: {duration: "
      "1h}}]");
  const std::string path = "/v1/runs/" + run + "/signals";
  // Every third is rejected: the run has not failed.
  const std::string reason(800'000, 'r');
  for (int i = 0; i < 9; ++i) {
    const std::string type = i % 3 == 2 ? "RETRY_RUN" : i % 3 == 0 ? "PAUSE" : "RESUME";
    const ServerReply reply =
        bench_.Post(token_, path,
                    R"({"type":")" + type + R"(","signalId":"s)" + std::to_string(i) +
                        R"(","reason":")" + reason + "\"}");
    EXPECT_EQ(reply.Text("decision"), i % 3 == 2 ? "REJECTED" : "ACCEPTED") << reply.body;
  }
  const auto read = [&](const std::string& query, std::size_t& pages) {
    std::vector<std::int64_t> seen;
    std::string after = "0";
    for (pages = 1;; ++pages) {
      const ServerReply page = bench_.Get(token_, path + "?after=" + after + query);
      EXPECT_EQ(page.status, 200) << page.body.substr(0, 300);
      EXPECT_LT(page.body.size(), 6U << 20);
      const Value json = page.Json();
      const Value events = json.Get("events");
      for (const Value& event : events.list()) seen.push_back(event.Get("runSeq").int_value());
      after = std::to_string(json.Get("nextAfter").int_value());
      if (!(json.Get("more") == Value::Bool(true)) || pages > 20) return seen;
    }
  };
  std::size_t pages = 0;
  const auto by_bytes = read("", pages);
  EXPECT_GT(pages, 1U);
  EXPECT_EQ(by_bytes.size(), 9U);
  EXPECT_TRUE(std::ranges::is_sorted(by_bytes));
  const auto one_by_one = read("&limit=1", pages);
  EXPECT_EQ(one_by_one, by_bytes);
  EXPECT_EQ(pages, by_bytes.size());
}

}  // namespace
}  // namespace everstep
