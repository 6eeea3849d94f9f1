#include "work/secrets.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "testing/loopback_http_server.h"
#include "testing/temporary_directory.h"
#include "work/tool_workbench.h"

namespace everstep {
namespace {

constexpr const char* kCanary = "c4nary \"value\"/+ñ-of-a-secret";

class SecretsTest : public testing::Test {
 protected:
  SecretsTest() { bench_.environment["API_TOKEN"] = kCanary; }

  Task NewTask(std::string kind, std::string inputs) {
    Task task = bench_.NewTask(std::move(kind), std::move(inputs));
    task.secrets = {{"token", "env", "API_TOKEN", ""}};
    task.secret_prefix = "$secret-4f:";
    return task;
  }

  // Expects that no part of the outcome contains the secret in any encoding.
  static void ExpectNoCanary(const TaskOutcome& outcome) {
    for (const std::string& text : {outcome.result, outcome.artifacts, outcome.error_message,
                                    outcome.details, outcome.error_code}) {
      for (const std::string& form :
           {std::string("c4nary"), std::string("of-a-secret"), Base64(kCanary),
            Base64(kCanary).substr(4, 12), std::string("c4nary%20")}) {
        EXPECT_EQ(text.find(form), std::string::npos) << form << " in " << text;
      }
    }
  }

  TemporaryDirectory directory_;
  ToolWorkbench bench_{directory_.path()};
};

TEST_F(SecretsTest, ATaskGetsTheValueButItsResultDoesNotContainIt) {
  LoopbackHttpServer server([](const LoopbackHttpServer::Request& request) {
    // Check that the secret arrived, then return it in every possible way.
    const bool arrived = request.headers.at("authorization") == std::string("Bearer ") + kCanary;
    return LoopbackHttpServer::Response{arrived ? 200 : 400,
                                        {{"X-Back", kCanary}},
                                        std::string(kCanary) + " " +
                                            Base64(std::string("user:") + kCanary) + " " +
                                            PercentEncode(kCanary)};
  });
  const TaskOutcome outcome = bench_.Run(
      NewTask("http", R"({"url":")" + server.Url("/") +
                          R"(","headers":{"Authorization":"Bearer $secret-4f:token;"}})"));
  EXPECT_TRUE(outcome.succeeded) << outcome.error_message;
  EXPECT_NE(outcome.result.find("***"), std::string::npos);
  ExpectNoCanary(outcome);
}

TEST_F(SecretsTest, FailuresAndCapturedOutputDoNotContainIt) {
  const TaskOutcome shell = bench_.Run(NewTask(
      "shell", R"({"command":"test ${#T} -gt 20 || exit 9; echo $T; echo $T | base64 >&2; exit 3",
                   "env":{"T":"$secret-4f:token;"}})"));
  EXPECT_EQ(ResultOf(shell).Get("exitCode").int_value(), 3);
  ExpectNoCanary(shell);
  const TaskOutcome python =
      bench_.Run(NewTask("python", R"j({"code":"print(args['t'])\nraise ValueError(args['t'])",
                     "args":{"t":"$secret-4f:token;"}})j"));
  EXPECT_EQ(python.error_code, "PYTHON_EXCEPTION");
  ExpectNoCanary(python);
  const TaskOutcome sqlite =
      bench_.Run(NewTask("sqlite", R"({"database":":memory:","sql":"select ? as t",
                            "parameters":["$secret-4f:token;"]})"));
  EXPECT_TRUE(sqlite.succeeded);
  ExpectNoCanary(sqlite);
  const TaskOutcome bad = bench_.Run(NewTask("http", R"({"url":"nonsense $secret-4f:token;"})"));
  EXPECT_FALSE(bad.succeeded);
  ExpectNoCanary(bad);
}

TEST_F(SecretsTest, LargeOutputsInTheArtifactStoreDoNotContainIt) {
  const TaskOutcome outcome = bench_.Run(NewTask(
      "shell", R"({"command":"i=0; while [ $i -lt 3000 ]; do echo \"$i $T\"; i=$((i+1)); done",
                   "env":{"T":"$secret-4f:token;"}})"));
  ASSERT_TRUE(outcome.succeeded) << outcome.error_message;
  const Value ref = ResultOf(outcome).Get("stdoutArtifact").Get("$artifact");
  const auto bytes = bench_.box().artifacts().Read(ref.Get("uri").text());
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->find("c4nary"), std::string::npos);
  EXPECT_NE(bytes->find("2999 ***"), std::string::npos);
}

TEST_F(SecretsTest, ImmediateToolsSeeReferencesOnly) {
  const TaskOutcome outcome = bench_.Run(NewTask("echo", R"({"message":"$secret-4f:token;"})"));
  EXPECT_EQ(outcome.result, R"({"message":"$secret-4f:token;"})");
}

TEST_F(SecretsTest, AMissingSecretFailsTheTask) {
  Task unset = bench_.NewTask("sleep", R"({"duration":1})");
  unset.secrets = {{"x", "env", "NOT_SET", ""}};
  EXPECT_EQ(bench_.Run(unset).error_code, "SECRET_UNAVAILABLE");
  Task provider = bench_.NewTask("sleep", R"({"duration":1})");
  provider.secrets = {{"x", "vault", "k", ""}};
  EXPECT_EQ(bench_.Run(provider).error_code, "SECRET_UNAVAILABLE");
}

TEST_F(SecretsTest, DataThatLooksLikeAReferenceStaysData) {
  const TaskOutcome outcome = bench_.Run(
      NewTask("shell", R"({"argv":["printf","%s","$secret-5a:token; $secret-4f:other;"]})"));
  EXPECT_EQ(ResultOf(outcome).Get("stdout").text(), "$secret-5a:token; $secret-4f:other;");
}

}  // namespace
}  // namespace everstep
