// Workers, queues and artifacts over HTTP.

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/sha256.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

constexpr const char* kFar =
    "metadata: {planId: far, planVersion: '1'}\n"
    "steps: [{stepId: one, kind: far.away, inputs: {n: 1}},\n"
    "        {stepId: two, kind: far.away, inputs: {n: '{{ steps.one.result.n }}'}}]\n"
    "outputs: {n: '{{ steps.two.result.n }}'}\n";

class ServerWorkTest : public testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options;
    options.work.lease = std::chrono::milliseconds(300);
    return options;
  }
  void SetUp() override {
    token_ = bench_.Token("shop", "tenant-admin");
    worker_ = bench_.RegisterWorker(token_, "far.away");
  }
  ServerReply Poll(const std::string& body) {
    return bench_.Post(token_, "/v1/workers/" + worker_ + "/poll", body);
  }
  // Waits for one task and returns its token.
  std::string TakeTask() {
    const ServerReply reply = Poll(R"({"max":1,"waitMs":9000})");
    EXPECT_EQ(reply.Json().Get("tasks").list().size(), 1U) << reply.body;
    return TaskToken(reply);
  }
  static std::string TaskToken(const ServerReply& reply) {
    const Value tasks = reply.Json().Get("tasks");
    return tasks.list().empty() ? std::string() : ToText(tasks.At(0).Get("token"));
  }
  static std::string Report(const std::string& token, const std::string& rest) {
    return "{\"token\":" + JsonQuote(token) + "," + rest + "}";
  }

  ServerWorkbench bench_{Options()};
  std::string token_;
  std::string worker_;
};

TEST_F(ServerWorkTest, AWorkerReportsAndGetsTheNextTaskInOneRoundTrip) {
  const std::string run = bench_.StartRun(token_, kFar);
  const ServerReply first = Poll(R"({"max":1,"waitMs":9000})");
  const Value task = first.Json().Get("tasks").At(0);
  EXPECT_EQ(ToText(task.Get("runId")), run);
  EXPECT_EQ(ToText(task.Get("stepId")), "one");
  EXPECT_EQ(ToJson(task.Get("inputs")), R"({"n":1})");
  const ServerReply second =
      Poll("{\"reports\":[" + Report(TaskToken(first), R"("result":{"n":5})") +
           R"(],"max":1,"waitMs":9000})");
  EXPECT_EQ(ToJson(second.Json().Get("tasks").At(0).Get("inputs")), R"({"n":5})") << second.body;
  const ServerReply last =
      Poll("{\"reports\":[" + Report(TaskToken(second), R"("result":{"n":6})") + "]}");
  EXPECT_TRUE(last.Json().Get("refused").undefined()) << last.body;
  EXPECT_EQ(bench_.EndOf(token_, run), "COMPLETED");
  EXPECT_EQ(ToJson(bench_.Get(token_, "/v1/runs/" + run).Json().Get("result")), R"({"n":6})");
}

TEST_F(ServerWorkTest, ATaskHasTheTraceOfTheStartRequest) {
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const ServerReply started = bench_.Post(token_, "/v1/runs", "{\"plan\":" + JsonQuote(kFar) + "}",
                                          {{"traceparent", "00-" + trace + "-00f067aa0ba902b7-01"},
                                           {"tracestate", "rojo=1"},
                                           {"tracestate", "congo=2"}});
  ASSERT_EQ(started.status, 201) << started.body;
  const Value task = Poll(R"({"max":1,"waitMs":9000})").Json().Get("tasks").At(0);
  EXPECT_EQ(ToText(task.Get("traceparent")).substr(3, 32), trace);
  EXPECT_EQ(ToText(task.Get("tracestate")), "rojo=1,congo=2");
}

TEST_F(ServerWorkTest, RepeatedOrUnknownReportsAreRefused) {
  bench_.StartRun(token_, kFar);
  const std::string task = TakeTask();
  const std::string body = "{\"reports\":[" + Report(task, R"("result":{"n":1})") + "]}";
  EXPECT_TRUE(Poll(body).Json().Get("refused").undefined());
  const ServerReply again = Poll(body);
  EXPECT_EQ(ToText(again.Json().Get("refused").At(0).Get("code")), "STEP_ATTEMPT_STALE")
      << again.body;
  const ServerReply wrong = Poll("{\"reports\":[" + Report("nothing", R"("result":{})") + "]}");
  EXPECT_EQ(ToText(wrong.Json().Get("refused").At(0).Get("token")), "nothing") << wrong.body;
}

TEST_F(ServerWorkTest, ALostLeaseIsRedeliveredAndItsLateReportRefused) {
  bench_.StartRun(token_, kFar);
  const std::string lost = TakeTask();
  // Without a heartbeat the task is delivered again, with the next engine attempt.
  const ServerReply again = Poll(R"({"max":1,"waitMs":9000})");
  ASSERT_FALSE(TaskToken(again).empty()) << again.body;
  EXPECT_EQ(ToText(again.Json().Get("tasks").At(0).Get("engineAttempt")), "2");
  const ServerReply late = Poll("{\"reports\":[" + Report(lost, R"("result":{"n":1})") + "]}");
  EXPECT_EQ(ToText(late.Json().Get("refused").At(0).Get("code")), "STEP_ATTEMPT_STALE");
}

TEST_F(ServerWorkTest, AFailureIsReportedWithItsCode) {
  const std::string run = bench_.StartRun(token_, kFar);
  Poll("{\"reports\":[" +
       Report(TakeTask(), R"("error":{"code":"NO_PAPER","message":"the tray is empty"})") + "]}");
  EXPECT_EQ(bench_.EndOf(token_, run), "FAILED");
  const Value step = bench_.Get(token_, "/v1/runs/" + run + "/steps/one").Json();
  EXPECT_EQ(ToText(step.Get("errorCode")), "NO_PAPER");
  EXPECT_EQ(ToText(step.Get("errorMessage")), "the tray is empty");
}

TEST_F(ServerWorkTest, TheWorkerIsToldToStopUnwantedTasks) {
  const std::string run = bench_.StartRun(token_, kFar);
  const std::string task = TakeTask();
  ASSERT_EQ(bench_.Post(token_, "/v1/runs/" + run + "/cancel", "{}").status, 200);
  const ServerReply answer =
      Poll("{\"heartbeats\":[" + JsonQuote(task) + R"(],"max":1,"waitMs":9000})");
  EXPECT_EQ(ToText(answer.Json().Get("stop").At(0)), task) << answer.body;
}

TEST_F(ServerWorkTest, ADrainingWorkerGetsNoTasksAndMayStillReport) {
  const std::string run = bench_.StartRun(token_, kFar);
  const std::string task = TakeTask();
  EXPECT_EQ(bench_.Post(token_, "/v1/workers/" + worker_ + "/drain", "{}").status, 200);
  const ServerReply reply =
      Poll("{\"reports\":[" + Report(task, R"("result":{"n":1})") + R"(],"max":1,"waitMs":50})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.Json().Get("refused").undefined()) << reply.body;
  EXPECT_TRUE(reply.Json().Get("tasks").list().empty());
  const Value worker = bench_.Get(token_, "/v1/workers").Json().Get("workers").At(0);
  EXPECT_EQ(ToText(worker.Get("draining")), "true");
  const auto remove = [&] {
    return bench_.Send({.method = "DELETE", .path = "/v1/workers/" + worker_, .token = token_});
  };
  EXPECT_EQ(remove().status, 204);
  EXPECT_EQ(remove().Code(), "WORKER_NOT_FOUND");
  EXPECT_EQ(Poll("{}").Code(), "WORKER_NOT_FOUND");
}

TEST_F(ServerWorkTest, InvalidWorkerRequestsAreRefused) {
  for (const char* body :
       {R"({"max":-1})", R"({"max":"1"})", R"({"wait":1})", R"({"reports":[{}]})",
        R"({"reports":{}})", "[]", "null", R"({"reports":[{"token":"t","result":1e999}]})"}) {
    const ServerReply reply = Poll(body);
    EXPECT_GE(reply.status, 400) << body << reply.body;
    EXPECT_LT(reply.status, 500) << body << reply.body;
  }
  for (const char* body : {"{}", R"({"kinds":[]})", R"({"kinds":["a"],"slots":0})",
                           R"({"kinds":["a"],"slots":-1})", R"({"kinds":[""]})"}) {
    const ServerReply reply = bench_.Post(token_, "/v1/workers", body);
    EXPECT_GE(reply.status, 400) << body << reply.body;
    EXPECT_LT(reply.status, 500) << body << reply.body;
  }
}

TEST_F(ServerWorkTest, AQueueLimitIsEnforced) {
  const auto limit = [&](const std::string& body) {
    return bench_.Send(
        {.method = "PUT", .path = "/v1/queues/far.away", .body = body, .token = token_});
  };
  EXPECT_EQ(limit(R"({"concurrency":1})").status, 200);
  EXPECT_GE(limit(R"({"concurrency":-1})").status, 400);
  EXPECT_GE(limit("{}").status, 400);
  bench_.StartRun(token_, kFar);
  bench_.StartRun(token_, kFar);
  TakeTask();
  EXPECT_TRUE(Poll(R"({"max":5,"waitMs":20})").Json().Get("tasks").list().empty());
  const Value queue = bench_.Get(token_, "/v1/queues").Json().Get("queues").At(0);
  EXPECT_EQ(ToText(queue.Get("queue")), "far.away");
  EXPECT_EQ(ToText(queue.Get("concurrency")), "1");
  EXPECT_EQ(ToText(queue.Get("held")), "1");
}

TEST_F(ServerWorkTest, AQueueLimitSurvivesARestart) {
  const auto put = [&](const std::string& token, const std::string& queue, int limit) {
    return bench_
        .Send({.method = "PUT",
               .path = "/v1/queues/" + queue,
               .body = "{\"concurrency\":" + std::to_string(limit) + "}",
               .token = token})
        .status;
  };
  const std::string other = bench_.Token("cafe", "tenant-admin");
  EXPECT_EQ(put(token_, "far.away", 1), 200);
  EXPECT_EQ(put(token_, "gone", 4), 200);
  EXPECT_EQ(put(token_, "gone", 0), 200);
  EXPECT_EQ(put(other, "far.away", 7), 200);
  EXPECT_EQ(put(token_, std::string(201, 'q'), 1), 400);
  bench_.Restart();
  worker_ = bench_.RegisterWorker(token_, "far.away");
  const Value queues = bench_.Get(token_, "/v1/queues").Json().Get("queues");
  ASSERT_EQ(queues.list().size(), 1U) << ToJson(queues);
  EXPECT_EQ(ToText(queues.At(0).Get("concurrency")), "1");
  bench_.StartRun(token_, kFar);
  bench_.StartRun(token_, kFar);
  TakeTask();
  EXPECT_TRUE(Poll(R"({"max":5,"waitMs":20})").Json().Get("tasks").list().empty());
}

TEST_F(ServerWorkTest, MetricsShowWaitingAndHeldTasks) {
  const auto sample = [&](const std::string& name) {
    const std::string text = bench_.Get(bench_.admin(), "/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
  };
  EXPECT_EQ(sample("everstep_workers"), 1);
  bench_.StartRun(token_, kFar);
  bench_.StartRun(token_, kFar);
  TakeTask();
  EXPECT_EQ(sample("everstep_task_queue_waiting"), 1);
  EXPECT_EQ(sample("everstep_task_queue_held"), 1);
  EXPECT_GE(sample("everstep_task_queue_oldest_seconds"), 0);
  const double commits = sample("everstep_commit_duration_seconds_count");
  EXPECT_GE(commits, 2);
  EXPECT_EQ(sample("everstep_commit_events_count"), commits);
  EXPECT_EQ(sample("everstep_commit_events_bucket{le=\"+Inf\"}"), commits);
  EXPECT_GE(sample("everstep_events_appended_total"), 6);
  EXPECT_EQ(sample("everstep_events_appended_total"), sample("everstep_commit_events_sum"));
}

TEST_F(ServerWorkTest, ATenantMayLimitAThousandQueuesAtMost) {
  const auto put = [&](int n, int limit) {
    return bench_
        .Send({.method = "PUT",
               .path = "/v1/queues/q" + std::to_string(n),
               .body = "{\"concurrency\":" + std::to_string(limit) + "}",
               .token = token_})
        .status;
  };
  for (int n = 0; n < 1'000; ++n) ASSERT_EQ(put(n, 1), 200);
  EXPECT_EQ(put(1'000, 1), 429);
  EXPECT_EQ(put(7, 2), 200);
  EXPECT_EQ(put(7, 0), 200);
  EXPECT_EQ(put(1'000, 1), 200);
}

TEST_F(ServerWorkTest, AnArtifactIsReturnedUnchanged) {
  std::string bytes;
  for (unsigned i = 0; bytes.size() < 5'000'000; ++i) {
    bytes += std::to_string(i * 2654435761U) + "\n";
  }
  const std::string sha256 = ToHex(Sha256(bytes));
  const ServerReply put = bench_.Post(token_, "/v1/artifacts?name=numbers.txt", bytes);
  ASSERT_EQ(put.status, 201) << put.body;
  EXPECT_EQ(put.Header("location"), "/v1/artifacts/" + sha256);
  EXPECT_EQ(put.Text("sha256"), sha256);
  const ServerReply got = bench_.Get(token_, "/v1/artifacts/" + sha256);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.Header("transfer-encoding"), "chunked");
  EXPECT_TRUE(got.body == bytes);
  for (const std::string& name : {std::string(64, '0'), std::string("no-digest"),
                                  std::string("..%2F..%2Ftokens.json"), std::string(64, 'Z')}) {
    const ServerReply none = bench_.Get(token_, "/v1/artifacts/" + name);
    EXPECT_EQ(none.status, 404) << name;
    EXPECT_EQ(none.body.find(bench_.directory()), std::string::npos) << none.body;
  }
}

TEST_F(ServerWorkTest, ADisconnectedReaderReleasesTheArtifact) {
  const std::string bytes(8 << 20, 'x');
  ASSERT_EQ(bench_.Post(token_, "/v1/artifacts", bytes).status, 201);
  const std::string path = "/v1/artifacts/" + ToHex(Sha256(bytes));
  for (int i = 0; i < 20; ++i) {
    SocketClient client = bench_.Connect(4'096);
    client.Send(RequestText({.path = path, .token = token_}));
    client.ReadSome();
    client.Reset();
  }
  EXPECT_EQ(bench_.Get(token_, path).body.size(), bytes.size());
}

TEST_F(ServerWorkTest, ALargeWorkerResultBecomesAnArtifact) {
  const std::string run = bench_.StartRun(token_, kFar);
  const std::string task = TakeTask();
  const std::string large = R"({"n":")" + std::string(200'000, 'y') + "\"}";
  Poll("{\"reports\":[" + Report(task, "\"result\":" + large) + "]}");
  const std::string sha256 = ToHex(Sha256(large));
  EXPECT_EQ(bench_.Get(token_, "/v1/artifacts/" + sha256 + "?runId=" + run).body, large);
  EXPECT_EQ(bench_.Get(token_, "/v1/artifacts/" + sha256).status, 404) << "nobody uploaded it";
}

// Knowing a digest and writing it into one's own log gives no access to the artifact.
TEST_F(ServerWorkTest, ReferencingAnArtifactDoesNotGrantAccessToIt) {
  const std::string bytes = "of another tenant";
  const std::string sha256 = ToHex(Sha256(bytes));
  const std::string theirs = bench_.Token("cafe", "tenant-admin");
  ASSERT_EQ(bench_.Post(theirs, "/v1/artifacts", bytes).status, 201);
  const std::string refs = R"([{"uri":"artifact:sha256:)" + sha256 + R"(","kind":"file"}])";
  const std::string path = "/v1/artifacts/" + sha256 + "?runId=";

  const std::string events =
      R"([{"eventType":"RunStarted","runId":"forged"},)"
      R"({"eventType":"StepStarted","runId":"forged","stepId":"a"},)"
      R"({"eventType":"StepCompleted","runId":"forged","stepId":"a","payload":{"artifacts":)" +
      refs + "}}]";
  ASSERT_EQ(bench_.Post(token_, "/v1/events", events).status, 200);
  ASSERT_NE(bench_.Get(token_, "/v1/runs/forged/snapshot").body.find(sha256), std::string::npos);
  EXPECT_EQ(bench_.Get(token_, path + "forged").status, 404);

  const std::string run = bench_.StartRun(token_, kFar);
  Poll("{\"reports\":[" + Report(TakeTask(), "\"result\":{\"n\":1},\"artifacts\":" + refs) + "]}");
  EXPECT_EQ(bench_.EndOf(token_, run), "FAILED");
  const Value step = bench_.Get(token_, "/v1/runs/" + run + "/steps/one").Json();
  EXPECT_EQ(ToText(step.Get("errorCode")), "BAD_OUTPUT") << ToJson(step);
  EXPECT_EQ(bench_.Get(token_, path + run).status, 404);

  // A tenant that uploads the same bytes has them, and may report them.
  ASSERT_EQ(bench_.Post(token_, "/v1/artifacts", bytes).status, 201);
  const std::string honest = bench_.StartRun(token_, kFar);
  Poll("{\"reports\":[" + Report(TakeTask(), "\"result\":{\"n\":1},\"artifacts\":" + refs) + "]}");
  EXPECT_EQ(bench_.Get(token_, path + honest).body, bytes);
  EXPECT_NE(bench_.Get(token_, "/v1/runs/" + honest + "/snapshot").body.find(sha256),
            std::string::npos);
}

}  // namespace
}  // namespace everstep
