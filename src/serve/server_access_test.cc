// Every route for every role of every tenant: who has access, who has not, and what is revealed.

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/sha256.h"
#include "serve/router.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;  // parameter names and their values

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos;
       at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string PathOf(const Route& route, const Names& names) {
  std::string path(route.path);
  for (const auto& [name, value] : names) path = Replaced(path, "{" + name + "}", value);
  EXPECT_EQ(path.find('{'), std::string::npos) << path;
  return path;
}

// A body that gets as far as possible.
std::string BodyOf(const Route& route) {
  if (route.method == "GET" || route.method == "DELETE") return {};
  if (route.operation == "sendSignal") return R"({"type":"PAUSE","reason":"because"})";
  if (route.operation == "setQueue") return R"({"concurrency":3})";
  if (route.operation == "failHook") return R"({"code":"BROKEN"})";
  if (route.operation == "rotateToken") return R"({"graceMs":0})";
  return "{}";
}

const Names kNothing = {{"runId", "run-0"},        {"stepId", "step-0"},
                        {"token", "hook-0"},       {"planId", "plan-0"},
                        {"version", "0"},          {"queue", "queue-0"},
                        {"tokenId", "token-0"},    {"workerId", "worker-0"},
                        {"stream", "stream-0"},    {"messageId", "message-0"},
                        {"code", "RUN_NOT_FOUND"}, {"tenantId", "tenant-0"},
                        {"sinkId", "sink-0"},      {"letterId", "run-0:1"},
                        {"ruleId", "rule-0"},      {"sha256", std::string(64, '0')}};

ServerReply Ask(ServerWorkbench& bench, const Route& route, const Names& names,
                const std::string& token) {
  return bench.Send({.method = std::string(route.method),
                     .path = PathOf(route, names),
                     .body = BodyOf(route),
                     .token = token});
}

std::string Titled(const Route& route) {
  return std::string(route.method) + " " + std::string(route.path);
}

TEST(ServerAccessTest, WithoutAValidTokenOnlyTheOpenRoutesAnswer) {
  ServerWorkbench bench;
  for (const Route& route : Routes()) {
    for (const std::string& token : {std::string(), std::string("est_nobody_nothing")}) {
      const ServerReply reply = Ask(bench, route, kNothing, token);
      if (route.permission) {
        EXPECT_EQ(reply.status, 401) << Titled(route);
        EXPECT_EQ(reply.Code(), "UNAUTHENTICATED") << Titled(route);
      } else {
        EXPECT_NE(reply.Code(), "UNAUTHENTICATED") << Titled(route);
        EXPECT_GT(reply.status, 0) << Titled(route);
        EXPECT_LT(reply.status, 500) << Titled(route) << reply.body;
      }
    }
  }
}

TEST(ServerAccessTest, EveryRoleMayDoWhatTheTableSaysAndNothingElse) {
  ServerWorkbench bench;
  for (const std::string tenant : {"alpha", "beta"}) {
    for (const RoleRule& rule : RoleRules()) {
      const std::string token = bench.Token(tenant, std::string(rule.name));
      for (const Route& route : Routes()) {
        if (!route.permission) continue;
        const ServerReply reply = Ask(bench, route, kNothing, token);
        const std::string what = tenant + " " + std::string(rule.name) + ": " + Titled(route) +
                                 " -> " + std::to_string(reply.status) + " " + reply.body;
        if (rule.permissions.Has(*route.permission)) {
          EXPECT_NE(reply.status, 401) << what;
          EXPECT_NE(reply.status, 403) << what;
          EXPECT_GT(reply.status, 0) << what;
          EXPECT_LT(reply.status, 500) << what;
        } else {
          EXPECT_EQ(reply.status, 403) << what;
          EXPECT_EQ(reply.Code(), "AUTHZ_DENIED") << what;
        }
      }
    }
  }
}

TEST(ServerAccessTest, NamesOfAnyLengthAndFormAreHandled) {
  ServerWorkbench bench;
  const std::string token = bench.Token("alpha", "admin");
  for (const std::string& name :
       {std::string(256, 'n'), std::string(1'001, 'n'), std::string(3'500, 'n'),
        std::string("%F0%9F%92%A5"), std::string("a%00b"), std::string("%2F..%2F"),
        std::string("..."), std::string("%7C%0A"), std::string("-"), std::string("%20")}) {
    for (const Route& route : Routes()) {
      if (route.path.find('{') == std::string_view::npos) continue;
      Names names = kNothing;
      for (auto& [parameter, value] : names) value = name;
      const ServerReply reply = Ask(bench, route, names, token);
      EXPECT_GT(reply.status, 0) << Titled(route) << " " << name.substr(0, 20) << name.size();
      EXPECT_LT(reply.status, 500) << Titled(route) << " " << name.substr(0, 20) << reply.body;
    }
  }
}

// A tenant with one object of each kind.
class TwoTenantsTest : public testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options;
    options.api.webhook_secrets["alpha"].push_back(
        *WebhookSecret::Parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
    return options;
  }

  void SetUp() override {
    ours_ = bench_.Token("alpha", "tenant-admin");
    theirs_ = bench_.Token("beta", "tenant-admin");
    const std::string plan =
        "metadata: {planId: alpha-plan, planVersion: '7'}\n"
        "steps: [{stepId: door, dependsOn: [], waitFor: {hook: {token: alpha-hook}}},\n"
        "        {stepId: far, kind: far.away}]\n";
    ASSERT_EQ(bench_.Post(ours_, "/v1/plans", plan).status, 201);
    ServerReply reply =
        bench_.Post(ours_, "/v1/runs", R"({"planId":"alpha-plan","runId":"alpha-run"})");
    ASSERT_EQ(reply.status, 201) << reply.body;
    worker_ = bench_.RegisterWorker(ours_, "far.away");
    const ServerReply poll =
        bench_.Post(ours_, "/v1/workers/" + worker_ + "/poll", R"({"max":1,"waitMs":5000})");
    ASSERT_EQ(poll.status, 200) << poll.body;
    lease_ = ToText(poll.Json().Get("tasks").At(0).Get("token"));
    ASSERT_EQ(bench_.Post(ours_, "/v1/artifacts", "alpha's bytes").status, 201);
    const auto put = [this](const char* path, const char* body) {
      return bench_.Send({.method = "PUT", .path = path, .body = body, .token = ours_}).status;
    };
    ASSERT_EQ(put("/v1/sinks/alpha-sink", R"({"kind":"file"})"), 201);
    ASSERT_EQ(
        put("/v1/inbound/rules/alpha-rule", R"({"types":["*"],"start":{"planId":"alpha-plan"}})"),
        201);
    reply = bench_.Get(ours_, "/v1/tokens");
    token_id_ = ToText(reply.Json().Get("tokens").At(0).Get("tokenId"));
    ASSERT_FALSE(token_id_.empty());
  }

  Names Ours() const {
    return {{"runId", "alpha-run"},
            {"stepId", "door"},
            {"token", "alpha-hook"},
            {"planId", "alpha-plan"},
            {"version", "7"},
            {"queue", "far.away"},
            {"tokenId", token_id_},
            {"workerId", worker_},
            {"sinkId", "alpha-sink"},
            {"ruleId", "alpha-rule"},
            {"letterId", "alpha-run:1"},
            {"stream", "progress"},
            {"messageId", "msg_alpha"},
            {"tenantId", "alpha"},
            {"code", "INTERNAL"},
            {"sha256", ToHex(Sha256("alpha's bytes"))}};
  }
  // Names of the same form that do not exist.
  Names Nobodys() const {
    return {{"runId", "other-run"},
            {"stepId", "door"},
            {"token", "other-hook"},
            {"planId", "other-plan"},
            {"version", "7"},
            {"queue", "far.away"},
            {"tokenId", Other(token_id_)},
            {"workerId", Other(worker_)},
            {"stream", "progress"},
            {"messageId", "msg_other"},
            {"tenantId", "gamma"},
            {"sinkId", "other-sink"},
            {"letterId", "other-run:1"},
            {"ruleId", "other-rule"},
            {"code", "INTERNAL"},
            {"sha256", ToHex(Sha256("nobody's bytes"))}};
  }
  static std::string Other(std::string id) {
    id.back() = id.back() == '0' ? '1' : '0';
    return id;
  }
  // The response, with the requested names removed.
  static std::string Told(const ServerReply& reply, const Names& names) {
    std::string text = reply.Comparable();
    for (const auto& [name, value] : names) {
      if (name != "version" && name != "code") text = Replaced(text, value, "{" + name + "}");
    }
    return text;
  }

  ServerWorkbench bench_{Options()};
  std::string ours_;
  std::string theirs_;
  std::string worker_;
  std::string lease_;
  std::string token_id_;
};

TEST_F(TwoTenantsTest, AnotherTenantsObjectsLookMissing) {
  const std::string before = bench_.Get(ours_, "/v1/runs/alpha-run").body;
  for (const Route& route : Routes()) {
    if (route.path.find('{') == std::string_view::npos) continue;
    const ServerReply alphas = Ask(bench_, route, Ours(), theirs_);
    const ServerReply nobodys = Ask(bench_, route, Nobodys(), theirs_);
    EXPECT_EQ(Told(alphas, Ours()), Told(nobodys, Nobodys())) << Titled(route);
    const bool is_own = route.operation == "setQueue" || route.operation == "getErrorPage";
    if (!is_own) {
      EXPECT_GE(alphas.status, 400) << Titled(route) << alphas.body;
    }
  }
  // And it is unchanged.
  EXPECT_EQ(bench_.Get(ours_, "/v1/runs/alpha-run").body, before);
  EXPECT_EQ(bench_.Get(ours_, "/v1/workers").Json().Get("workers").list().size(), 1U);
  const ServerReply beat = bench_.Post(ours_, "/v1/workers/" + worker_ + "/poll",
                                       "{\"heartbeats\":[" + JsonQuote(lease_) + "]}");
  EXPECT_EQ(beat.status, 200);
  EXPECT_TRUE(beat.Json().Get("stop").undefined()) << beat.body;
}

TEST_F(TwoTenantsTest, EventsForAnotherTenantsRunAreRefusedAsForAMissingOne) {
  const auto append = [&](const std::string& run_id) {
    return bench_.Post(theirs_, "/v1/events",
                       R"({"eventType":"StepStarted","stepId":"door","runId":")" + run_id + "\"}");
  };
  EXPECT_EQ(Told(append("alpha-run"), Ours()), Told(append("other-run"), Nobodys()));
  EXPECT_GE(append("alpha-run").status, 400);
}

TEST_F(TwoTenantsTest, AWorkersLeaseIsUselessToAnotherTenant) {
  const std::string worker = bench_.RegisterWorker(theirs_, "far.away");
  const ServerReply poll =
      bench_.Post(theirs_, "/v1/workers/" + worker + "/poll",
                  "{\"reports\":[{\"token\":" + JsonQuote(lease_) + ",\"result\":{}}],\"max\":5}");
  EXPECT_EQ(poll.status, 200) << poll.body;
  EXPECT_EQ(ToText(poll.Json().Get("refused").At(0).Get("code")), "STEP_ATTEMPT_STALE");
  EXPECT_TRUE(poll.Json().Get("tasks").list().empty());
}

TEST_F(TwoTenantsTest, ListsShowOnlyTheCallersTenant) {
  for (const Route& route : Routes()) {
    const bool lists = route.method == "GET" && route.path.starts_with("/v1/") &&
                       route.path.find('{') == std::string_view::npos;
    if (!lists) continue;
    const ServerReply reply = Ask(bench_, route, {}, theirs_);
    EXPECT_EQ(reply.status, 200) << Titled(route);
    for (const char* name : {"alpha", "far.away"}) {
      EXPECT_EQ(reply.body.find(name), std::string::npos) << Titled(route) << reply.body;
    }
  }
}

TEST_F(TwoTenantsTest, StartingRevealsNothingAboutAnotherTenantsRunId) {
  const ServerReply reply =
      bench_.Post(theirs_, "/v1/runs",
                  R"({"plan":"metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a}]\n",)"
                  R"("runId":"alpha-run"})");
  EXPECT_GE(reply.status, 400) << reply.body;
  EXPECT_LT(reply.status, 500) << reply.body;
  for (const char* name : {"alpha-plan", "RUNNING", "\"existing\""}) {
    EXPECT_EQ(reply.body.find(name), std::string::npos) << reply.body;
  }
}

TEST_F(TwoTenantsTest, OnlyAnAdminCreatesTokensForOtherTenants) {
  const auto create = [&](const std::string& token, const char* role) {
    return bench_
        .Post(token, "/v1/tokens",
              std::string(R"({"name":"n","tenantId":"alpha","roles":[")") + role + "\"]}")
        .status;
  };
  EXPECT_EQ(create(theirs_, "viewer"), 403);
  EXPECT_EQ(create(ours_, "viewer"), 201);
  EXPECT_EQ(create(ours_, "admin"), 403);
  EXPECT_EQ(create(bench_.Token("beta", "admin"), "admin"), 201);
}

}  // namespace
}  // namespace everstep
