// A tenant's activity must not affect, or be visible or accessible to, other tenants.

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/cbor.h"
#include "base/random.h"
#include "bus/inbound_rule.h"
#include "serve/alert_list.h"
#include "testing/loopback_http_server.h"
#include "testing/server_workbench.h"
#include "work/secret_file.h"

namespace everstep {
namespace {

constexpr const char* kPlan =
    "metadata: {planId: greet, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]\n";

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Polls for an effect of another thread.
bool Eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 100'000; ++i) {
    if (holds()) return true;
    std::this_thread::yield();
  }
  return false;
}

class TenantStorageTest : public testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options;
    options.api.tenant_bytes_max = 20'000;
    return options;
  }
  ServerReply Append(const std::string& token, const std::string& run_id, std::size_t bytes) {
    return bench_.Post(token, "/v1/events",
                       R"({"eventType":"RunQueued","runId":")" + run_id +
                           R"(","planId":"p","planVersion":"1","payload":{"input":{"x":")" +
                           std::string(bytes, 'x') + R"("}}})");
  }

  ServerWorkbench bench_{Options()};
};

TEST_F(TenantStorageTest, ATenantAtItsStorageLimitStoresNothingMore) {
  const std::string acme = bench_.Token("acme", "tenant-admin");
  ASSERT_EQ(Append(acme, "run-1", 15'000).status / 100, 2);
  ASSERT_EQ(Append(acme, "run-2", 10'000).status / 100, 2);  // starts below the limit
  const ServerReply full = Append(acme, "run-3", 10);
  EXPECT_EQ(full.status, 507);
  EXPECT_TRUE(Has(full.body, "TENANT_FULL")) << full.body;
  EXPECT_TRUE(Has(full.body, "limits.tenantDisk allows 20000")) << full.body;
  for (const char* path : {"/v1/plans", "/v1/runs", "/v1/artifacts", "/v1/inbound"}) {
    EXPECT_EQ(bench_.Post(acme, path, kPlan).status, 507) << path;
  }
  EXPECT_EQ(bench_.Get(acme, "/v1/runs/run-2/events").status, 200);
  EXPECT_EQ(bench_.Get(acme, "/v1/runs/run-3/events").status, 404);
  // Nobody else is affected.
  EXPECT_EQ(Append(bench_.Token("other", "tenant-admin"), "run-4", 10).status / 100, 2);
  EXPECT_EQ(Append(bench_.Token("acme", "admin"), "run-5", 10).status / 100, 2);
}

TEST_F(TenantStorageTest, UploadsCountOnceAndAreRefusedBeforeExceedingTheLimit) {
  const std::string acme = bench_.Token("acme", "tenant-admin");
  ASSERT_EQ(bench_.Post(acme, "/v1/artifacts", std::string(15'000, 'a')).status, 201);
  ASSERT_EQ(bench_.Post(acme, "/v1/artifacts", std::string(4'000, 'b')).status, 201);
  EXPECT_EQ(bench_.Post(acme, "/v1/artifacts", std::string(4'000, 'c')).status, 507);
  EXPECT_EQ(
      bench_.Post(bench_.Token("other", "tenant-admin"), "/v1/artifacts", std::string(15'000, 'a'))
          .status,
      201);
}

class ServerTenantsTest : public testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options;
    options.bus.private_addresses = true;
    options.bus.sinks_max = 4;
    return options;
  }
  ServerReply Put(const std::string& token, const std::string& path, const std::string& body) {
    return bench_.Send({.method = "PUT", .path = path, .body = body, .token = token});
  }
  // Creates a tenant that starts a run of its plan for every event.
  std::string TenantWithRule(const std::string& tenant) {
    const std::string token = bench_.Token(tenant, "tenant-admin");
    EXPECT_EQ(bench_.Post(token, "/v1/plans", kPlan).status / 100, 2);
    EXPECT_EQ(
        Put(token, "/v1/inbound/rules/orders", R"({"types":["*"],"start":{"planId":"greet"}})")
            .status,
        201);
    return token;
  }
  ServerReply Event(const std::string& token, const std::string& id) {
    return bench_.Post(token, "/v1/inbound",
                       R"({"specversion":"1.0","id":")" + id +
                           R"(","source":"shop","type":"order.paid","data":{}})",
                       {{"Content-Type", "application/cloudevents+json"}});
  }
  static Value MatchOf(const ServerReply& reply) {
    return reply.Json().Get("results").At(0).Get("matches").At(0);
  }

  ServerWorkbench bench_{Options()};
};

TEST_F(ServerTenantsTest, TheSameEventStartsARunForEachTenant) {
  const std::string acme = TenantWithRule("acme");
  const std::string rival = TenantWithRule("rival");
  const Value first = MatchOf(Event(acme, "e-1"));
  const Value second = MatchOf(Event(rival, "e-1"));
  EXPECT_NE(ToText(second.Get("duplicate")), "true");
  EXPECT_NE(ToText(second.Get("runId")), ToText(first.Get("runId")));
  EXPECT_EQ(bench_.EndOf(rival, ToText(second.Get("runId"))), "COMPLETED");
  const Value again = MatchOf(Event(acme, "e-1"));
  EXPECT_EQ(ToText(again.Get("duplicate")), "true");
  EXPECT_EQ(ToText(again.Get("runId")), ToText(first.Get("runId")));
}

TEST_F(ServerTenantsTest, EventsHandledByAnEarlierVersionAreDuplicatesForTheirTenantOnly) {
  const std::string acme = TenantWithRule("acme");
  const std::string rival = TenantWithRule("rival");
  const auto rule = ReadInboundRule(R"({"types":["*"],"start":{"planId":"greet"}})", "orders");
  ASSERT_TRUE(rule);
  const auto events = ReadInboundEvents(
      {{"content-type", "application/cloudevents+json"}},
      R"({"specversion":"1.0","id":"e-2","source":"shop","type":"order.paid","data":{}})", "");
  ASSERT_TRUE(events);
  std::size_t operations_left = kInboundOperationsMax;
  const auto order = Apply(*rule, events->front(), operations_left);
  ASSERT_TRUE(order && *order);
  StartRequest former;
  former.plan = kPlan;
  former.tenant_id = "acme";
  former.run_id = FormerInboundRunId(**order);
  ASSERT_TRUE(bench_.engine().Start(former));
  const Value match = MatchOf(Event(acme, "e-2"));
  EXPECT_EQ(ToText(match.Get("duplicate")), "true");
  EXPECT_EQ(ToText(match.Get("runId")), former.run_id);
  EXPECT_NE(ToText(MatchOf(Event(rival, "e-2")).Get("duplicate")), "true");
}

TEST_F(ServerTenantsTest, ClientsCannotUseReservedRunIds) {
  const std::string rival = bench_.Token("rival", "tenant-admin");
  for (const char* id :
       {"in-0123456789abcdef0123456789abcdef", "01234567-89ab-8def-a123-456789abcdef"}) {
    const ServerReply started =
        bench_.Post(rival, "/v1/runs",
                    std::string(R"({"runId":")") + id +
                        R"(","plan":"metadata: {planId: p, )"
                        R"(planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]"})");
    EXPECT_EQ(started.status, 422) << started.body;
    EXPECT_NE(started.body.find("/runId"), std::string::npos) << started.body;
    for (const char* type : {"RunQueued", "RunApproved", "RunStarted"}) {
      const ServerReply appended =
          bench_.Post(rival, "/v1/events",
                      std::string(R"({"eventType":")") + type + R"(","runId":")" + id + "\"}");
      EXPECT_EQ(appended.status / 100, 4) << appended.body;
      EXPECT_NE(appended.body.find("reserved"), std::string::npos) << appended.body;
    }
  }
}

TEST_F(ServerTenantsTest, RequestIdsAreScopedToTheTenant) {
  const std::string body =
      R"({"requestId":"order-7","plan":"metadata: {planId: p, planVersion: '1'}\n)"
      R"(steps: [{stepId: a, kind: noop}]"})";
  const ServerReply acme = bench_.Post(bench_.Token("acme", "operator"), "/v1/runs", body);
  const ServerReply rival = bench_.Post(bench_.Token("rival", "operator"), "/v1/runs", body);
  EXPECT_EQ(acme.status, 201) << acme.body;
  EXPECT_EQ(rival.status, 201) << rival.body;
  EXPECT_NE(acme.Text("runId"), rival.Text("runId"));
  const ServerReply again = bench_.Post(bench_.Token("acme", "operator"), "/v1/runs", body);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.Text("runId"), acme.Text("runId"));
}

TEST_F(ServerTenantsTest, ATenantMayUseHalfOfTheSinksAtMost) {
  const std::string acme = bench_.Token("acme", "tenant-admin");
  const std::string rival = bench_.Token("rival", "tenant-admin");
  int made = 0;
  while (Put(acme, "/v1/sinks/s" + std::to_string(made), R"({"kind":"file"})").status == 201) {
    ++made;
  }
  EXPECT_EQ(made, 2);
  EXPECT_EQ(Put(rival, "/v1/sinks/mine", R"({"kind":"file"})").status, 201);
}

TEST_F(ServerTenantsTest, MetricsNameOnlyTheCallersSinks) {
  ASSERT_EQ(Put(bench_.Token("acme", "tenant-admin"), "/v1/sinks/secret-deal", R"({"kind":"file"})")
                .status,
            201);
  ASSERT_EQ(
      Put(bench_.Token("rival", "tenant-admin"), "/v1/sinks/mine", R"({"kind":"file"})").status,
      201);
  const std::string seen = bench_.Get(bench_.Token("rival", "viewer"), "/metrics").body;
  EXPECT_NE(seen.find("tenant=\"rival\",sink=\"mine\""), std::string::npos);
  EXPECT_EQ(seen.find("acme"), std::string::npos);
  EXPECT_EQ(seen.find("secret-deal"), std::string::npos);
  // Totals over all tenants are the operator's.
  for (const char* total : {"everstep_runs", "everstep_workers", "everstep_messages",
                            "everstep_http_", "everstep_store", "everstep_memory"}) {
    EXPECT_EQ(seen.find(total), std::string::npos) << total;
  }
  const std::string all = bench_.Get(bench_.admin(), "/metrics").body;
  EXPECT_NE(all.find("secret-deal"), std::string::npos);
  EXPECT_NE(all.find("mine"), std::string::npos);
}

TEST_F(ServerTenantsTest, AlertsOfATenantAreHiddenFromOthers) {
  LoopbackHttpServer gone([](const LoopbackHttpServer::Request&) {
    return LoopbackHttpServer::Response{410, {}, ""};
  });
  const std::string acme = bench_.Token("acme", "tenant-admin");
  const std::string key(32, 'k');
  std::ofstream(bench_.directory() + "/secrets.key", std::ios::binary) << key;
  SecretFile secrets(bench_.directory() + "/secrets", SecretFileKey{"", key}, SystemRandom());
  ASSERT_TRUE(
      secrets.Set(SecretOwner::Tenant("acme"), "hook", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
  const ServerReply made = Put(acme, "/v1/sinks/deal-77",
                               R"({"kind":"webhook","webhook":{"url":")" + gone.Url("/") +
                                   R"(","secrets":["secret:hook"]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  bench_.StartRun(acme, kPlan);
  const auto alerts = [&](const std::string& token) {
    return bench_.Get(token, "/v1/alerts").body;
  };
  ASSERT_TRUE(Eventually([&] { return Has(alerts(acme), "SINK_DISABLED"); })) << alerts(acme);
  EXPECT_TRUE(Has(alerts(acme), "deal-77"));
  EXPECT_FALSE(Has(alerts(bench_.Token("rival", "viewer")), "deal-77"));
  EXPECT_TRUE(Has(alerts(bench_.admin()), "deal-77"));
}

TEST(AlertList, ATenantWithManyAlertsDoesNotEvictOthersAlerts) {
  AlertList list;
  list.Add({"RARE", "P1", "", "", "acme"}, Timestamp());
  for (std::size_t i = 0; i < 3 * AlertList::kKept; ++i) {
    list.Add({"NOISE", "P3", "", std::to_string(i), "rival"}, Timestamp());
  }
  const auto kept = list.List();
  EXPECT_EQ(kept.size(), AlertList::kKept);
  EXPECT_EQ(kept.back().alert.code, "RARE");
  EXPECT_EQ(kept.front().alert.detail, std::to_string(3 * AlertList::kKept - 1));
}

// ---- applications that receive messages

std::string Batch(const std::function<void(CborWriter&)>& call) {
  std::string body;
  CborWriter cbor(body);
  cbor.BeginMap();
  cbor.Member("spec", std::uint64_t{3});
  cbor.Key("calls");
  cbor.BeginArray();
  cbor.BeginMap();
  call(cbor);
  cbor.End();
  cbor.End();
  cbor.End();
  return body;
}

std::string RegisterAt(const std::string& url) {
  return Batch([&url](CborWriter& cbor) {
    cbor.Member("m", "queue.register");
    cbor.Member("id", "app");
    cbor.Member("secret", "sixteen characters");
    cbor.Key("routes");
    cbor.BeginArray();
    cbor.BeginMap();
    cbor.Member("prefix", "t");
    cbor.Member("url", url);
    cbor.End();
    cbor.End();
  });
}

class ServerMessagesTest : public testing::Test {
 protected:
  void Call(const std::string& body, HttpHeaders headers = {}) {
    headers.emplace_back("Content-Type", "application/cbor");
    const ServerReply reply = bench_.Post(token_, "/v1/devkit", body, headers);
    ASSERT_EQ(reply.status, 200) << reply.body;
    ASSERT_FALSE(Has(reply.body, "WorkflowWorldError")) << reply.body;
  }
  void SendMessage() {
    Call(Batch([](CborWriter& cbor) {
      cbor.Member("m", "queue.send");
      cbor.Member("queue", "t1");
      cbor.Key("body");
      cbor.Bytes("{}");
    }));
  }
  bool NobodyIsRegistered() {
    return Has(bench_.Get(bench_.admin(), "/metrics").body, "everstep_endpoints 0");
  }
  std::string Messages() { return bench_.Get(token_, "/v1/messages").body; }

  std::atomic<int> reached_ = 0;
  LoopbackHttpServer inside_{[this](const LoopbackHttpServer::Request&) {
    ++reached_;
    return LoopbackHttpServer::Response{500, {}, "internal-canary"};
  }};
  ServerWorkbench bench_;
  std::string token_ = bench_.Token("acme", "system");
};

TEST_F(ServerMessagesTest, TheBodyOfAFailureIsNotShown) {
  Call(RegisterAt(inside_.Url("/admin")));
  SendMessage();
  ASSERT_TRUE(Eventually([this] { return Has(Messages(), "HTTP 500"); })) << Messages();
  EXPECT_FALSE(Has(Messages(), "internal-canary")) << Messages();
}

TEST_F(ServerMessagesTest, ProxiedCallersAreNotOnThisMachine) {
  for (const char* name : {"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"}) {
    Call(RegisterAt(inside_.Url("/admin")), {{name, "203.0.113.9"}});
    SendMessage();
    // The endpoint is dropped if it is unreachable.
    ASSERT_TRUE(Eventually([this] { return NobodyIsRegistered(); }));
  }
  EXPECT_EQ(reached_, 0);
}

TEST_F(ServerMessagesTest, AnOperatorCanForbidLoopback) {
  ServerOptions options;
  options.api.loopback_endpoints = false;
  bench_.Restart(options);
  Call(RegisterAt(inside_.Url("/admin")));
  SendMessage();
  ASSERT_TRUE(Eventually([this] { return NobodyIsRegistered(); }));
  EXPECT_EQ(reached_, 0);
}

}  // namespace
}  // namespace everstep
