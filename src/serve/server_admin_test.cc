// Tokens, plans, audit and health over HTTP.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "engine/embedded_log.h"
#include "serve/permissions.h"
#include "store/state_store.h"
#include "testing/manual_clock.h"
#include "testing/orders.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

std::string PlanText(const std::string& version, const std::string& step = "a") {
  return "metadata: {planId: parcel, planVersion: '" + version + "'}\nsteps: [{stepId: " + step +
         ", kind: noop}]\n";
}

class ServerAdminTest : public testing::Test {
 protected:
  void SetUp() override { token_ = bench_.Token("shop", "tenant-admin"); }

  ServerReply Get(const std::string& path, HttpHeaders headers = {}) {
    return bench_.Get(token_, path, std::move(headers));
  }
  ServerReply Post(const std::string& path, const std::string& body, HttpHeaders headers = {}) {
    return bench_.Post(token_, path, body, std::move(headers));
  }
  int StatusWith(const std::string& token) { return bench_.Get(token, "/v1/counts").status; }
  ServerReply Create(const std::string& rest) {
    return Post("/v1/tokens", R"({"name":"n","roles":["viewer"])" + rest + "}");
  }

  ServerWorkbench bench_;
  std::string token_;
};

TEST_F(ServerAdminTest, ATokenIsShownOnceAndWorksUntilItIsRevoked) {
  const ServerReply made = Create("");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.Header("cache-control"), "no-store");
  const std::string text = made.Text("token");
  EXPECT_EQ(StatusWith(text), 200);
  EXPECT_EQ(Get("/v1/tokens").body.find(text), std::string::npos);
  const std::string path = "/v1/tokens/" + made.Text("tokenId");
  EXPECT_EQ(bench_.Send({.method = "DELETE", .path = path, .token = token_}).status, 204);
  EXPECT_EQ(StatusWith(text), 401);
  EXPECT_EQ(Post(path + "/rotate", "{}").status, 404);
}

TEST_F(ServerAdminTest, RotationMakesANewSecretAndKeepsTheOldOneForTheGracePeriod) {
  const ServerReply made = Create("");
  const std::string path = "/v1/tokens/" + made.Text("tokenId") + "/rotate";
  const ServerReply kept = Post(path, R"({"graceMs":60000})");
  ASSERT_EQ(kept.status, 200) << kept.body;
  EXPECT_EQ(StatusWith(made.Text("token")), 200);
  EXPECT_EQ(StatusWith(kept.Text("token")), 200);
  const ServerReply at_once = Post(path, R"({"graceMs":0})");
  EXPECT_EQ(StatusWith(at_once.Text("token")), 200);
  EXPECT_EQ(StatusWith(kept.Text("token")), 401);
  EXPECT_EQ(StatusWith(made.Text("token")), 401);
  EXPECT_GE(Post(path, R"({"graceMs":-1})").status, 400);
}

TEST_F(ServerAdminTest, ATokenExpires) {
  EXPECT_EQ(Create(R"(,"expiresAt":"2001-01-01T00:00:00Z")").status, 400);
  const Timestamp soon = SystemClock().Now() + std::chrono::milliseconds(150);
  const ServerReply made = Create(",\"expiresAt\":" + JsonQuote(FormatTimestamp(soon)));
  ASSERT_EQ(made.status, 201) << made.body;
  int status = 0;
  while ((status = StatusWith(made.Text("token"))) == 200) {
  }
  EXPECT_EQ(status, 401);
  EXPECT_GE(SystemClock().Now(), soon);
}

TEST_F(ServerAdminTest, NobodyGrantsMoreThanTheyHave) {
  for (const RoleRule& rule : RoleRules()) {
    const ServerReply reply =
        Post("/v1/tokens", R"({"name":"n","roles":[")" + std::string(rule.name) + "\"]}");
    const bool may = MayGrant(PermissionsOf(RoleSet(Role::kTenantAdmin)), RoleSet(rule.role));
    EXPECT_EQ(reply.status, may ? 201 : 403) << rule.name << reply.body;
  }
  EXPECT_EQ(Post("/v1/tokens", R"({"name":"n","roles":["king"]})").status, 422);
  const ServerReply none = Post("/v1/tokens", R"({"name":"n","roles":[]})");
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(ToText(none.Json().Get("faults").At(0).Get("pointer")), "/roles") << none.body;
}

TEST_F(ServerAdminTest, NobodyChangesATokenWithMorePermissions) {
  const ServerReply admin = bench_.Post(bench_.admin(), "/v1/tokens",
                                        R"({"name":"n","tenantId":"shop","roles":["admin"]})");
  ASSERT_EQ(admin.status, 201) << admin.body;
  const std::string path = "/v1/tokens/" + admin.Text("tokenId");
  EXPECT_EQ(Post(path + "/rotate", "{}").status, 403);
  EXPECT_EQ(bench_.Send({.method = "DELETE", .path = path, .token = token_}).status, 403);
  EXPECT_EQ(StatusWith(admin.Text("token")), 200);
  EXPECT_EQ(bench_.Send({.method = "DELETE", .path = path, .token = bench_.admin()}).status, 204);
  EXPECT_EQ(StatusWith(admin.Text("token")), 401);
}

TEST_F(ServerAdminTest, TokensSurviveARestart) {
  const ServerReply made = Create("");
  bench_.Restart();
  EXPECT_EQ(StatusWith(made.Text("token")), 200);
  EXPECT_EQ(StatusWith(token_), 200);
}

TEST_F(ServerAdminTest, TheSecretOfANewTokenIsNotKeptForItsKey) {
  const std::string body = R"({"name":"n","roles":["viewer"]})";
  const HttpHeaders key = {{"Idempotency-Key", "one-token"}};
  const ServerReply made = Post("/v1/tokens", body, key);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(Post("/v1/tokens", body, key).body, made.body);
  bench_.Restart();
  const ServerReply again = Post("/v1/tokens", body, key);
  EXPECT_EQ(again.status, 410) << again.body;
  EXPECT_EQ(again.Code(), "IDEMPOTENCY_ANSWER_GONE");
  EXPECT_EQ(Post("/v1/tokens", R"({"name":"m","roles":["viewer"]})", key).Code(),
            "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(StatusWith(made.Text("token")), 200);
}

TEST_F(ServerAdminTest, APlanVersionNeverChanges) {
  const ServerReply first = Post("/v1/plans", PlanText("1"));
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(first.Header("location"), "/v1/plans/parcel/versions/1");
  EXPECT_EQ(Post("/v1/plans", PlanText("1")).status, 200);
  const ServerReply taken = Post("/v1/plans", PlanText("1", "b"));
  EXPECT_EQ(taken.status, 409);
  EXPECT_EQ(taken.Code(), "PLAN_VERSION_TAKEN");
  EXPECT_EQ(Post("/v1/plans", PlanText("2", "b")).status, 201);
  bench_.Restart();
  const ServerReply document = Get("/v1/plans/parcel/versions/1");
  EXPECT_EQ(document.body, PlanText("1"));
  EXPECT_EQ(Get("/v1/plans/parcel/versions/1", {{"If-None-Match", document.Header("etag")}}).status,
            304);
  EXPECT_EQ(Get("/v1/plans/parcel").Json().Get("plans").list().size(), 2U);
  for (const char* form : {"", "?format=dot", "?format=terminal"}) {
    const ServerReply graph = Get(std::string("/v1/plans/parcel/versions/2/graph") + form);
    EXPECT_EQ(graph.status, 200) << form;
    EXPECT_NE(graph.body.find('b'), std::string::npos) << form;
  }
  EXPECT_EQ(Get("/v1/plans/parcel/versions/3").Code(), "PLAN_NOT_FOUND");
  EXPECT_EQ(Get("/v1/plans/none").Code(), "PLAN_NOT_FOUND");
}

TEST_F(ServerAdminTest, EveryMetricIsDocumented) {
  const auto names = [](const std::string& text, const std::string& before) {
    std::set<std::string> found;
    for (std::size_t at = text.find(before); at != std::string::npos;
         at = text.find(before, at + 1)) {
      const std::size_t begin = at + before.size() - std::string("everstep_").size();
      const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin);
      found.insert(text.substr(begin, end - begin));
    }
    return found;
  };
  std::ifstream file(std::string(EVERSTEP_SOURCE_DIR) + "/docs/operations.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(names(bench_.Get(bench_.admin(), "/metrics").body, "# TYPE everstep_"),
            names(page, "`everstep_"));
}

TEST_F(ServerAdminTest, PlansAreListedInPages) {
  for (int i = 0; i < 7; ++i) ASSERT_EQ(Post("/v1/plans", PlanText(std::to_string(i))).status, 201);
  std::set<std::string> versions;
  std::string cursor;
  int pages = 0;
  do {
    const ServerReply page = Get("/v1/plans?limit=3" + (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page.body;
    const Value plans = page.Json().Get("plans");
    for (const Value& plan : plans.list()) {
      versions.insert(ToText(plan.Get("planVersion")));
    }
    cursor = page.Text("cursor");
    const std::size_t bar = cursor.find('|');
    if (bar != std::string::npos) cursor.replace(bar, 1, "%7C");
  } while (!cursor.empty() && ++pages < 10);
  EXPECT_EQ(versions.size(), 7U);
}

TEST_F(ServerAdminTest, CheckingAPlanDoesNotStoreIt) {
  const ServerReply good = Post("/v1/plans/check", PlanText("1"));
  EXPECT_EQ(good.status, 200) << good.body;
  EXPECT_EQ(good.Text("steps"), "1");
  const ServerReply bad =
      Post("/v1/plans/check", "metadata: {planId: p}\nsteps: [{stepId: a, kindd: b}]\n");
  EXPECT_EQ(bad.Code(), "INVALID_PLAN") << bad.body;
  EXPECT_GT(ToText(bad.Json().Get("faults").At(0).Get("line")), "0");
  EXPECT_TRUE(Get("/v1/plans").Json().Get("plans").list().empty());
}

TEST_F(ServerAdminTest, TheAuditLogRecordsWhoDidWhat) {
  ASSERT_EQ(Post("/v1/plans", PlanText("1")).status, 201);
  const std::string viewer = bench_.Token("shop", "viewer");
  ASSERT_EQ(bench_.Post(viewer, "/v1/plans", PlanText("2")).status, 403);
  const std::string auditor = bench_.Token("shop", "auditor");
  std::string all;
  std::string after = "0";
  while (true) {
    const Value page = bench_.Get(auditor, "/v1/audit?limit=2&after=" + after).Json();
    all += ToJson(page.Get("entries"));
    after = ToText(page.Get("nextAfter"));
    if (!page.Get("more").bool_value()) break;
  }
  EXPECT_NE(all.find("\"registerPlan\""), std::string::npos) << all;
  EXPECT_NE(all.find("viewer of shop"), std::string::npos) << all;
  EXPECT_NE(all.find("AUTHZ_DENIED"), std::string::npos) << all;
  // Entries of the server itself and of other tenants need access to all tenants.
  EXPECT_EQ(all.find("server.start"), std::string::npos) << all;
  EXPECT_NE(bench_.Get(bench_.admin(), "/v1/audit").body.find("server.start"), std::string::npos);
}

TEST_F(ServerAdminTest, AStoreFromTheFutureRaisesAnAlertAndShowsInReadiness) {
  bench_.Stop();
  {
    ManualClock ahead;
    ahead.Advance(SystemClock().Now() - ahead.Now() + std::chrono::hours(3));
    auto store = OpenRocksdbStore(bench_.directory() + "/store", {});
    ASSERT_TRUE(store);
    SeededRandom random(1);
    EmbeddedLog log(std::move(*store), ahead, random, {});
    const AppendOrder order = Order("r", EventType::kRunStarted);
    auto submission = log.authority().Submit(std::span(&order, 1), DefaultScope());
    ASSERT_TRUE(log.authority().Await(std::move(submission)).front());
  }
  bench_.Restart();
  ServerReply ready;
  do {  // until the clock is checked
    ready = bench_.Get("", "/readyz");
  } while (ready.body == "recovering\n" || ready.body == "ready\n");
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.body.find("ready\nclock: the clock says "), 0U) << ready.body;
  EXPECT_NE(Get("/v1/alerts").body.find("CLOCK_BEHIND_STORE"), std::string::npos);
}

TEST_F(ServerAdminTest, HealthAndDocumentsAreOpen) {
  EXPECT_EQ(bench_.Get("", "/livez").body, "ok\n");
  EXPECT_EQ(bench_.Get("", "/readyz").body, "ready\n");
  EXPECT_EQ(ToText(bench_.Get("", "/openapi.json").Json().Get("openapi")).substr(0, 3), "3.1");
  EXPECT_EQ(bench_.Get("", "/docs/errors/RUN_NOT_FOUND").status, 200);
  EXPECT_EQ(bench_.Get("", "/docs/errors/NONSENSE").status, 404);
  EXPECT_EQ(bench_.Get("", "/docs/errors/..%2Fopenapi").status, 404);
  EXPECT_EQ(Get("/metrics").status, 200);
  bench_.server().Drain(std::chrono::milliseconds(0));
}

TEST_F(ServerAdminTest, EveryProblemLinksToAnExistingPage) {
  for (const char* path : {"/v1/runs/none", "/v1/runs?x=1", "/v1/nowhere", "/v1/hooks/none",
                           "/v1/plans/none", "/v1/artifacts/none"}) {
    const ServerReply problem = Get(path);
    EXPECT_EQ(problem.Header("content-type"), "application/problem+json");
    EXPECT_EQ(bench_.Get("", problem.Text("type")).status, 200) << problem.body;
  }
}

TEST(ServerStartTest, WithoutAuthenticationTheServerListensOnLoopbackOnly) {
  TemporaryDirectory directory;
  ServerOptions options;
  options.authentication = false;
  options.data_directory = directory.path();
  options.http.listen = {"0.0.0.0:0"};
  const auto server = Server::Start(options);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(IsLoopback("127.0.0.1:1") && IsLoopback("[::1]:1") && IsLoopback("localhost:1"));
  EXPECT_TRUE(IsLoopback("localhost") && IsLoopback("[::1]") && IsLoopback("127.0.0.1:0"));
  EXPECT_FALSE(IsLoopback("localhost:evil.example") || IsLoopback("127.0.0.1:1.evil.example") ||
               IsLoopback("localhost:") || IsLoopback("[::1]:x") ||
               IsLoopback("localhost:999999") || IsLoopback("localhost:99999") ||
               IsLoopback("[::1].evil") || IsLoopback("::1") || IsLoopback("[127.0.0.1]:1") ||
               IsLoopback("[::1"));
  EXPECT_FALSE(IsLoopback("10.0.0.1:1") || IsLoopback("[::]:1") || IsLoopback("host:1"));
}

TEST(ServerStartTest, DevModeNeedsNoToken) {
  ServerOptions options;
  options.authentication = false;
  ServerWorkbench bench(std::move(options));
  EXPECT_EQ(bench.Get("", "/v1/runs").status, 200);
  EXPECT_EQ(bench.Get("", "/v1/tokens").status, 404);
}

TEST(ServerStartTest, DevModeRefusesRequestsOfOtherOrigins) {
  ServerOptions options;
  options.authentication = false;
  ServerWorkbench bench(std::move(options));
  for (const char* origin :
       {"http://localhost:evil.example", "http://127.0.0.1:80.evil.example", "http://evil.example",
        "https://localhost", "null", "http://localhost:99999"}) {
    const ServerReply reply = bench.Get("", "/v1/runs", {{"Origin", origin}});
    EXPECT_EQ(reply.status, 403) << origin;
    EXPECT_EQ(reply.Code(), "AUTHZ_DENIED") << origin;
  }
  for (const char* origin : {"http://localhost:3000", "http://[::1]"}) {
    EXPECT_EQ(bench.Get("", "/v1/runs", {{"Origin", origin}}).status, 200) << origin;
  }
  const HttpHeaders two = {{"Origin", "http://localhost"}, {"Origin", "http://evil.example"}};
  EXPECT_EQ(bench.Get("", "/v1/runs", two).status, 403);
}

}  // namespace
}  // namespace everstep
