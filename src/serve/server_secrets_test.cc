// Stores secrets, then searches everything that can be read for them.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "bus/webhook_signature.h"
#include "serve/router.h"
#include "testing/server_workbench.h"
#include "work/secret_file.h"

namespace everstep {
namespace {

constexpr const char* kCanary = "canary-9f31-in-the-coal-mine";
constexpr const char* kWebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class ServerSecretsTest : public testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options;
    options.api.webhook_secrets["shop"].push_back(*WebhookSecret::Parse(kWebhookSecret));
    return options;
  }
  void SetUp() override {
    ::setenv("EVERSTEP_TEST_CANARY", kCanary, 1);
    token_ = bench_.Token("shop", "tenant-admin");
  }
  void TearDown() override { ::unsetenv("EVERSTEP_TEST_CANARY"); }

  void Keep(const ServerReply& reply) {
    answers_ += reply.Comparable();
    answers_ += '\n';
  }
  ServerReply Post(const std::string& path, const std::string& body, HttpHeaders headers = {}) {
    ServerReply reply = bench_.Post(token_, path, body, std::move(headers));
    Keep(reply);
    return reply;
  }
  ServerReply Get(const std::string& token, const std::string& path) {
    ServerReply reply = bench_.Get(token, path);
    Keep(reply);
    return reply;
  }
  // Reads every GET route of the API, using the names of the run.
  void ReadEverything(const std::string& run) {
    for (const std::string& reader : {token_, bench_.admin()}) {
      for (const char* path : {"", "/snapshot", "/steps", "/why", "/events", "/signals"}) {
        Get(reader, "/v1/runs/" + run + path);
      }
      for (const char* dialect : {"contract", "devkit", "noetl", "elephant", "cloudevents"}) {
        Get(reader, "/v1/runs/" + run + "/events?dialect=" + dialect);
      }
      for (const Route& route : Routes()) {
        if (route.method == "GET" && route.path.find('{') == std::string_view::npos) {
          Get(reader, std::string(route.path));
        }
      }
    }
  }
  static void ExpectAbsent(const std::string& text, const std::string& secret,
                           const std::string& where) {
    const std::size_t at = text.find(secret);
    EXPECT_EQ(at, std::string::npos) << where << ": …" << text.substr(at < 80 ? 0 : at - 80, 200);
  }

  ServerWorkbench bench_{Options()};
  std::string token_;
  std::string answers_;
};

TEST_F(ServerSecretsTest, NothingReadableContainsASecret) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const std::string run =
      bench_.StartRun(token_,
                      "metadata: {planId: quiet, planVersion: '1'}\n"
                      "steps:\n"
                      "- {stepId: shout, dependsOn: [], kind: shell, onFailure: continue,\n"
                      "   secretRefs: [{name: key, provider: env, key: EVERSTEP_TEST_CANARY}],\n"
                      "   inputs: {argv: [sh, '-c', 'echo \"$1\"; echo \"$1\" >&2; exit 3', x, '{{ "
                      "secrets.key }}']}}\n"
                      "- {stepId: far, kind: far.away,\n"
                      "   secretRefs: [{name: key, provider: env, key: EVERSTEP_TEST_CANARY}],\n"
                      "   inputs: {key: '{{ secrets.key }}'}}\n"
                      "- {stepId: door, waitFor: {hook: {timeout: 1h}}}\n");
  const std::string worker = bench_.RegisterWorker(token_, "far.away");
  // Only the worker receives them; if it repeats them they are masked.
  const ServerReply poll =
      bench_.Post(token_, "/v1/workers/" + worker + "/poll", R"({"max":1,"waitMs":9000})");
  ASSERT_NE(poll.body.find(kCanary), std::string::npos) << poll.body;
  const std::string lease = ToText(poll.Json().Get("tasks").At(0).Get("token"));
  Post("/v1/workers/" + worker + "/poll", "{\"reports\":[{\"token\":" + JsonQuote(lease) +
                                              ",\"error\":{\"code\":\"" + "ODD" +
                                              "\",\"message\":\"the secret is " + kCanary +
                                              "\",\"details\":{\"k\":\"" + kCanary + "\"}}}]}");
  ReadEverything(run);
  Get(token_, "/v1/runs/" + run + "?wait=9s");
  ReadEverything(run);
  EXPECT_NE(answers_.find("***"), std::string::npos) << "nothing was masked";
  for (const std::string& text :
       {answers_, testing::internal::GetCapturedStderr(), testing::internal::GetCapturedStdout()}) {
    ExpectAbsent(text, kCanary, "answers and output");
  }
  bench_.Stop();
  for (const auto& file : std::filesystem::recursive_directory_iterator(bench_.directory())) {
    if (file.is_regular_file()) {
      ExpectAbsent(FileText(file.path().string()), kCanary, file.path().string());
    }
  }
}

std::string PlanThatReads(const std::string& provider, const std::string& key) {
  return "metadata: {planId: spy, planVersion: '1'}\n"
         "steps:\n"
         "- {stepId: far, kind: far.away,\n"
         "   secretRefs: [{name: s, provider: " +
         provider + ", key: " + key +
         "}],\n"
         "   inputs: {key: '{{ secrets.s }}'}}\n";
}

TEST_F(ServerSecretsTest, ATenantReadsOnlyItsOwnSecrets) {
  ServerOptions options = Options();
  options.engine.tools.secret_variables = {"shop=EVERSTEP_TEST_CANARY"};
  bench_.Restart(options);
  const std::string path = bench_.directory() + "/secrets";
  const std::string key(32, 'k');
  std::ofstream(path + ".key", std::ios::binary) << key;
  SecretFile file(path, SecretFileKey{"", key}, SystemRandom());
  ASSERT_TRUE(file.Set(SecretOwner::Tenant("shop"), "db", kCanary));
  ASSERT_TRUE(file.Set(SecretOwner::Server(), "hook", kCanary));
  ASSERT_TRUE(file.Set(SecretOwner::Tenant("default"), "old", kCanary));
  const std::string rival = bench_.Token("rival", "tenant-admin");
  const std::string worker = bench_.RegisterWorker(token_, "far.away");
  const std::string spy = bench_.RegisterWorker(rival, "far.away");
  const auto poll = [&](const std::string& token, const std::string& who) {
    return bench_.Post(token, "/v1/workers/" + who + "/poll", R"({"max":1,"waitMs":9000})").body;
  };
  const std::vector<std::pair<std::string, std::string>> own = {{"env", "EVERSTEP_TEST_CANARY"},
                                                                {"file", "db"}};
  for (const auto& [provider, name] : own) {
    bench_.StartRun(token_, PlanThatReads(provider, name));
    EXPECT_NE(poll(token_, worker).find(kCanary), std::string::npos) << provider;
  }
  // Every way to another tenant's secret fails, with the same words as for a missing secret.
  const std::vector<std::pair<std::string, std::string>> others = {{"env", "EVERSTEP_TEST_CANARY"},
                                                                   {"env", "PATH"},
                                                                   {"env", "EVERSTEP_NOT_SET"},
                                                                   {"file", "db"},
                                                                   {"file", "hook"},
                                                                   {"file", "old"},
                                                                   {"file", "shop/db"},
                                                                   {"file", "nothing"}};
  std::set<std::string> words;
  for (const auto& [provider, name] : others) {
    const std::string run = bench_.StartRun(rival, PlanThatReads(provider, name));
    std::string answer;
    // A poll discovers that the secret is unavailable; that may be signalled by an empty answer.
    for (int i = 0; i < 50; ++i) {
      bench_.Post(rival, "/v1/workers/" + spy + "/poll", R"({"max":1,"waitMs":200})");
      answer = bench_.Get(rival, "/v1/runs/" + run + "?wait=200ms").body;
      if (answer.find("FAILED") != std::string::npos) break;
    }
    EXPECT_NE(answer.find("SECRET_UNAVAILABLE"), std::string::npos) << answer;
    ExpectAbsent(answer, kCanary, name);
    const auto view = ValueFromJson(answer);
    ASSERT_TRUE(view);
    std::string message = ToText(view->Get("errorMessage"));
    for (const std::string& word : {"'" + provider + "'", "'" + name + "'"}) {
      const std::size_t at = message.find(word);
      ASSERT_NE(at, std::string::npos) << message;
      message.erase(at, word.size());
    }
    words.insert(message);
  }
  EXPECT_EQ(words.size(), 1U) << *words.begin() << "\n" << *words.rbegin();
}

TEST_F(ServerSecretsTest, TokensAppearOnlyInTheAnswerToTheirCreation) {
  std::vector<std::string> secrets = {bench_.admin(), token_};
  const ServerReply made = bench_.Post(token_, "/v1/tokens", R"({"name":"n","roles":["viewer"]})",
                                       {{"Idempotency-Key", "a"}});
  secrets.push_back(made.Text("token"));
  const ServerReply rotated =
      bench_.Post(token_, "/v1/tokens/" + made.Text("tokenId") + "/rotate", R"({"graceMs":1000})");
  secrets.push_back(rotated.Text("token"));
  // Invalid requests that contain them, in every place.
  for (const std::string& secret : std::vector<std::string>(secrets)) {
    Keep(bench_.Get(secret + "x", "/v1/runs"));
    Keep(bench_.Send({.method = "PUT", .path = "/v1/runs", .token = secret}));
    Keep(bench_.Get(secret, "/v1/runs/none"));
    Keep(bench_.Post(secret, "/v1/runs", "{\"nonsense\":1}"));
  }
  const std::string run = bench_.StartRun(
      token_, "metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]\n");
  ReadEverything(run);
  for (const std::string& secret : secrets) {
    ASSERT_GT(secret.size(), 20U);
    ExpectAbsent(answers_, secret, "answers");
    // Its last part is the actual secret.
    ExpectAbsent(answers_, secret.substr(secret.rfind('_') + 1), "answers");
  }
  bench_.Stop();
  for (const auto& file : std::filesystem::recursive_directory_iterator(bench_.directory())) {
    if (!file.is_regular_file() || file.path().filename() == "admin-token") continue;
    const std::string text = FileText(file.path().string());
    for (const std::string& secret : secrets) {
      ExpectAbsent(text, secret.substr(secret.rfind('_') + 1), file.path().string());
    }
  }
}

TEST_F(ServerSecretsTest, AuditAndMetricsContainNoHookTokensOrWebhookSecrets) {
  const std::string run =
      bench_.StartRun(token_,
                      "metadata: {planId: p, planVersion: '1'}\n"
                      "steps: [{stepId: door, waitFor: {hook: {token: hook-canary-77}}}]\n");
  const auto secret = WebhookSecret::Parse(kWebhookSecret);
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(SystemClock().Now().time_since_epoch())
          .count();
  bench_.Post("", "/webhooks/shop/hook-canary-77", "{}",
              {{"webhook-id", "m"}, {"webhook-timestamp", "1"}, {"webhook-signature", "v1,x"}});
  bench_.Get(bench_.Token("shop", "auditor"), "/v1/hooks/hook-canary-77");  // 403: audited
  bench_.Post("", "/v1/hooks/hook-canary-77", "{}");                        // 401: audited
  bench_.Post("", "/webhooks/shop/hook-canary-77", "{}",
              {{"webhook-id", "m"},
               {"webhook-timestamp", std::to_string(now)},
               {"webhook-signature", secret->Sign("m", now, "{}")}});
  EXPECT_EQ(bench_.EndOf(token_, run), "COMPLETED");
  for (const char* path : {"/v1/audit", "/metrics", "/v1/alerts", "/v1/tokens"}) {
    const ServerReply reply = bench_.Get(bench_.admin(), path);
    ASSERT_EQ(reply.status, 200);
    ExpectAbsent(reply.body, "hook-canary-77", path);
    ExpectAbsent(reply.body, kWebhookSecret, path);
  }
  ReadEverything(run);
  ExpectAbsent(answers_, std::string(kWebhookSecret).substr(6), "answers");
}

}  // namespace
}  // namespace everstep
