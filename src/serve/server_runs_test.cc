// Runs over HTTP: starting, reading, commands.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/json.h"
#include "base/sha256.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

constexpr const char* kEcho =
    "metadata: {planId: greet, planVersion: '1'}\n"
    "inputs: {name: {type: string, default: you}}\n"
    "steps: [{stepId: hello, kind: echo, inputs: {to: '{{ inputs.name }}'}}]\n"
    "outputs: {said: '{{ steps.hello.result.to }}'}\n";
constexpr const char* kWaiting =
    "metadata: {planId: patient, planVersion: '1'}\n"
    "steps: [{stepId: door, waitFor: {hook: {token: knock}}}]\n";

class ServerRunsTest : public testing::Test {
 protected:
  void SetUp() override { token_ = bench_.Token("shop", "tenant-admin"); }

  ServerReply Start(const std::string& body, const std::string& key = "") {
    HttpHeaders headers;
    if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
    return bench_.Post(token_, "/v1/runs", body, std::move(headers));
  }
  ServerReply Get(const std::string& path, HttpHeaders headers = {}) {
    return bench_.Get(token_, path, std::move(headers));
  }
  ServerReply Post(const std::string& path, const std::string& body, HttpHeaders headers = {}) {
    return bench_.Post(token_, path, body, std::move(headers));
  }
  std::string Waiting() { return bench_.StartRun(token_, kWaiting); }

  ServerWorkbench bench_;
  std::string token_;
};

std::string WithPlan(const std::string& plan, const std::string& rest = "") {
  return "{\"plan\":" + JsonQuote(plan) + rest + "}";
}

TEST_F(ServerRunsTest, ARunIsStartedFromADocument) {
  const ServerReply started = Start(WithPlan(kEcho, R"(,"inputs":{"name":"Ada"},"runId":"r-1")"));
  ASSERT_EQ(started.status, 201) << started.body;
  EXPECT_EQ(started.Header("location"), "/v1/runs/r-1");
  const ServerReply ended = Get("/v1/runs/r-1?wait=9s");
  EXPECT_EQ(ended.Text("status"), "COMPLETED");
  EXPECT_EQ(ToJson(ended.Json().Get("result")), R"({"said":"Ada"})");
  EXPECT_EQ(ToJson(ended.Json().Get("inputs")), R"({"name":"Ada"})");
}

TEST_F(ServerRunsTest, FaultsPointIntoTheBody) {
  const auto pointer = [](const ServerReply& reply) {
    return ToText(reply.Json().Get("faults").At(0).Get("pointer"));
  };
  const ServerReply inputs = Start(WithPlan(kEcho, R"(,"inputs":{"nme":"x"})"));
  EXPECT_EQ(inputs.Code(), "INVALID_INPUT");
  EXPECT_EQ(pointer(inputs), "/inputs/nme");
  ASSERT_EQ(Post("/v1/plans", kEcho).status, 201);
  EXPECT_EQ(pointer(Start(R"({"planId":"greet","inputs":{"nme":"x"}})")), "/inputs/nme");
  const ServerReply signal = Post("/v1/runs/" + Waiting() + "/signals", R"({"type":"RETRY_STEP"})");
  EXPECT_EQ(signal.Code(), "SIGNAL_INVALID_PAYLOAD");
  EXPECT_EQ(pointer(signal), "/payload/stepId");
}

TEST_F(ServerRunsTest, ATakenRunIdDoesNotRevealItsTenant) {
  const std::string cafe = bench_.Token("cafe", "tenant-admin");
  const std::string body = WithPlan(kEcho, R"(,"runId":"theirs")");
  ASSERT_EQ(bench_.Post(cafe, "/v1/runs", body).status, 201);
  const ServerReply of_theirs = Start(body);
  EXPECT_EQ(of_theirs.Code(), "RUN_ALREADY_EXISTS");
  ASSERT_EQ(Start(WithPlan(kWaiting, R"(,"runId":"ours")")).status, 201);
  const ServerReply of_ours = Start(WithPlan(kEcho, R"(,"runId":"ours")"));
  EXPECT_EQ(of_theirs.Text("detail"), "the run id theirs is taken");
  EXPECT_EQ(of_ours.Text("detail"), "the run id ours is taken");
}

TEST_F(ServerRunsTest, AnEmptyOrAmbiguousKeyIsRefused) {
  const std::string body = WithPlan(kEcho);
  const std::string name = "Idempotency-Key";
  EXPECT_EQ(Post("/v1/runs", body, {{name, ""}}).Code(), "IDEMPOTENCY_KEY_INVALID");
  EXPECT_EQ(Post("/v1/runs", body, {{name, "a"}, {name, "b"}}).Code(), "IDEMPOTENCY_KEY_INVALID");
  EXPECT_EQ(Post("/v1/runs", body, {{name, "a"}, {name, "a"}}).status, 201);
}

TEST_F(ServerRunsTest, AStartCanWaitForTheEnd) {
  const std::string body = WithPlan(kEcho, R"(,"inputs":{"name":"Ada"},"runId":"w-1")");
  // The plan is compiled by the first, already compiled for the second; the third run has ended.
  for (const char* id : {"w-1", "w-2", "w-2"}) {
    std::string named = body;
    named.replace(named.find("w-1"), 3, id);
    const ServerReply ended = Post("/v1/runs?wait=60s", named);
    EXPECT_EQ(ended.Text("status"), "COMPLETED") << ended.body;
    EXPECT_EQ(ToJson(ended.Json().Get("result")), R"({"said":"Ada"})");
    EXPECT_EQ(ended.Header("location"), "/v1/runs/" + std::string(id));
  }
  const ServerReply open = Post("/v1/runs?wait=20ms", WithPlan(kWaiting));
  EXPECT_EQ(open.status, 201);
  EXPECT_EQ(open.Text("status"), "RUNNING") << open.body;
  EXPECT_EQ(Post("/v1/runs?wait=2m", body).status, 400);
  EXPECT_EQ(Post("/v1/runs?wiat=2s", body).status, 400);
}

TEST_F(ServerRunsTest, ARunIsStartedFromARegisteredPlan) {
  ASSERT_EQ(Post("/v1/plans", kEcho).status, 201);
  for (const char* body : {R"({"planId":"greet"})", R"({"planId":"greet","planVersion":"1"})"}) {
    const ServerReply started = Start(body);
    ASSERT_EQ(started.status, 201) << started.body;
    EXPECT_EQ(bench_.EndOf(token_, started.Text("runId")), "COMPLETED");
  }
  EXPECT_EQ(Start(R"({"planId":"greet","planVersion":"2"})").Code(), "PLAN_NOT_FOUND");
}

TEST_F(ServerRunsTest, EveryStartUsesTheVersionRegisteredLast) {
  const std::string second =
      "metadata: {planId: greet, planVersion: '2'}\n"
      "steps: [{stepId: hello, kind: noop}]\n";
  for (const std::string& plan : {std::string(kEcho), second}) {
    ASSERT_EQ(Post("/v1/plans", plan).status, 201);
    const std::string version = plan == second ? "2" : "1";
    // The first start reads the plan from the store, the others find it in memory.
    for (int i = 0; i < 3; ++i) {
      const ServerReply ended = Post("/v1/runs?wait=60s", R"({"planId":"greet"})");
      EXPECT_EQ(ended.Text("planVersion"), version) << ended.body;
      EXPECT_EQ(ended.Text("status"), "COMPLETED");
      const ServerReply refused = Start(R"({"planId":"greet","inputs":{"nme":"x"}})");
      EXPECT_EQ(refused.Code(), "INVALID_INPUT");
      EXPECT_EQ(Start(R"({"planId":"greet","plan":"x"})").Code(), "SCHEMA_VALIDATION_FAILED");
    }
  }
}

TEST_F(ServerRunsTest, ARunIsStartedFromAPlanRefWhoseDigestIsRight) {
  const std::string path = bench_.directory() + "/plan.yaml";
  std::ofstream(path) << kEcho;
  const auto with = [&](const std::string& digest) {
    return Start("{\"planRef\":{\"uri\":\"file://" + path + "\",\"sha256\":\"" + digest + "\"}}");
  };
  const ServerReply started = with(ToHex(Sha256(kEcho)));
  ASSERT_EQ(started.status, 201) << started.body;
  EXPECT_EQ(bench_.EndOf(token_, started.Text("runId")), "COMPLETED");
  const ServerReply refused = with(ToHex(Sha256("another")));
  EXPECT_EQ(refused.Code(), "PLAN_INTEGRITY_VALIDATION_FAILED") << refused.body;
}

TEST_F(ServerRunsTest, StartFaultsAreReportedWithTheirPlace) {
  EXPECT_EQ(Start("{").Code(), "INVALID_JSON");
  EXPECT_EQ(Start("{}").Code(), "SCHEMA_VALIDATION_FAILED");
  EXPECT_EQ(Start(WithPlan(kEcho, R"(,"planId":"greet")")).Code(), "SCHEMA_VALIDATION_FAILED");
  EXPECT_EQ(Start(WithPlan("steps: 7")).Code(), "INVALID_PLAN");
  const ServerReply unknown = Start(WithPlan(kEcho, R"(,"prioritty":3)"));
  EXPECT_EQ(ToText(unknown.Json().Get("faults").At(0).Get("pointer")), "/prioritty");
  const ServerReply twice = Start(R"({"planId":"a","planId":"b"})");
  EXPECT_EQ(twice.status, 400) << twice.body;
  EXPECT_EQ(ToText(twice.Json().Get("faults").At(0).Get("pointer")), "/planId") << twice.body;
  const ServerReply inputs = Start(WithPlan(kEcho, R"(,"inputs":{"name":7})"));
  EXPECT_GE(inputs.status, 400);
  EXPECT_LT(inputs.status, 500);
  EXPECT_TRUE(Get("/v1/runs").Json().Get("runs").list().empty());
}

TEST_F(ServerRunsTest, AKeyGivesTheSameAnswerAndAnotherBodyIsRefused) {
  const ServerReply first = Start(WithPlan(kEcho), "once");
  const ServerReply again = Start(WithPlan(kEcho), "once");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.Header("idempotency-replayed"), "true");
  const ServerReply other = Start(WithPlan(kEcho, R"(,"priority":2)"), "once");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.Code(), "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(Start(WithPlan(kEcho), std::string(300, 'k')).Code(), "IDEMPOTENCY_KEY_INVALID");
  EXPECT_EQ(Get("/v1/runs").Json().Get("runs").list().size(), 1U);
}

TEST_F(ServerRunsTest, AKeyIsStillValidAfterARestart) {
  const std::string run = Waiting();
  const std::string cancel = "/v1/runs/" + run + "/cancel";
  const HttpHeaders key = {{"Idempotency-Key", "stop"}};
  const ServerReply started = Start(WithPlan(kEcho), "once");
  const ServerReply cancelled = Post(cancel, R"({"reason":"no more"})", key);
  const ServerReply refused = Start(WithPlan("steps: 7"), "bad");
  ASSERT_EQ(refused.status, 422) << refused.body;
  bench_.Restart();
  const ServerReply again = Start(WithPlan(kEcho), "once");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, started.body);
  EXPECT_EQ(again.Header("location"), started.Header("location"));
  EXPECT_EQ(again.Header("idempotency-replayed"), "true");
  EXPECT_EQ(Start(WithPlan(kEcho, R"(,"priority":2)"), "once").Code(), "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(Post(cancel, R"({"reason":"no more"})", key).body, cancelled.body);
  EXPECT_EQ(Post(cancel, R"({"reason":"other"})", key).Code(), "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(Start(WithPlan("steps: 7"), "bad").body, refused.body);
}

TEST_F(ServerRunsTest, TheSameKeyOfAnotherTenantOrPathIsADifferentKey) {
  const ServerReply mine = Start(WithPlan(kEcho), "once");
  const ServerReply theirs = bench_.Post(bench_.Token("shop", "engineer"), "/v1/runs",
                                         WithPlan(kEcho), {{"Idempotency-Key", "once"}});
  EXPECT_EQ(theirs.status, 201) << theirs.body;
  EXPECT_NE(theirs.Text("runId"), mine.Text("runId"));
  // On another path it is a different key: neither request gets the other's answer.
  const std::string run = Waiting();
  const HttpHeaders key = {{"Idempotency-Key", "order"}};
  EXPECT_EQ(Post("/v1/runs/" + run + "/signals", R"({"type":"PAUSE"})", key).Text("decision"),
            "ACCEPTED");
  EXPECT_EQ(Post("/v1/runs/" + run + "/cancel", "{}", key).Text("decision"), "ACCEPTED");
}

TEST_F(ServerRunsTest, AKeyInUseIsRefused) {
  const std::string worker = bench_.RegisterWorker(token_, "far.away");
  const ServerWorkbench::Request poll{.method = "POST",
                                      .path = "/v1/workers/" + worker + "/poll",
                                      .body = R"({"max":1,"waitMs":60000})",
                                      .headers = {{"Idempotency-Key", "slow"}},
                                      .token = token_};
  SocketClient first = bench_.Connect();
  ASSERT_TRUE(first.Send(RequestText(poll)));
  while (bench_.Get(bench_.admin(), "/metrics").body.find("everstep_http_requests_in_flight 2\n") ==
         std::string::npos) {
  }
  const ServerReply second = bench_.Send(poll);
  EXPECT_EQ(second.status, 409) << second.body;
  EXPECT_EQ(second.Code(), "IDEMPOTENCY_KEY_IN_USE");
  bench_.StartRun(token_,
                  "metadata: {planId: far, planVersion: '1'}\n"
                  "steps: [{stepId: one, kind: far.away}]\n");
  const SocketClient::Answer answer = first.ReadAnswer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(bench_.Send(poll).body, answer.body);
}

TEST_F(ServerRunsTest, TheSameKeyOfAnotherTokenIsADifferentKey) {
  const ServerReply first = Start(WithPlan(kEcho), "mine");
  token_ = bench_.Token("cafe", "tenant-admin");
  const ServerReply other = Start(WithPlan(kWaiting), "mine");
  EXPECT_EQ(other.status, 201) << other.body;
  EXPECT_NE(other.Text("runId"), first.Text("runId"));
}

TEST_F(ServerRunsTest, AKeyStartsOneRunEvenIfItsAnswerIsNotKept) {
  ServerOptions options;
  options.api.answers.keys_max = 1;
  bench_.Restart(options);
  const ServerReply first = Start(WithPlan(kEcho), "across");
  const ServerReply named = Start(WithPlan(kEcho, R"(,"requestId":"req-1")"), "named");
  bench_.Restart();
  const ServerReply again = Start(WithPlan(kEcho), "across");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.Text("existing"), "true");
  EXPECT_EQ(again.Text("runId"), first.Text("runId"));
  const ServerReply named_again = Start(WithPlan(kEcho, R"(,"requestId":"req-1")"), "other");
  EXPECT_EQ(named_again.Text("runId"), named.Text("runId"));
  EXPECT_EQ(Get("/v1/runs").Json().Get("runs").list().size(), 2U);
}

TEST_F(ServerRunsTest, ListsAreFilteredAndPaged) {
  for (int i = 0; i < 5; ++i) bench_.StartRun(token_, kEcho);
  const std::string waiting = Waiting();
  EXPECT_EQ(Get("/v1/runs?planId=patient").Json().Get("runs").list().size(), 1U);
  EXPECT_EQ(ToText(Get("/v1/runs?status=RUNNING").Json().Get("runs").At(0).Get("runId")), waiting);
  EXPECT_TRUE(Get("/v1/runs?projectId=none").Json().Get("runs").list().empty());
  EXPECT_TRUE(Get("/v1/runs?createdUntil=2001-01-01T00:00:00Z").Json().Get("runs").list().empty());
  EXPECT_EQ(Get("/v1/runs?createdFrom=2001-01-01T00:00:00Z").Json().Get("runs").list().size(), 6U);
  std::size_t seen = 0;
  std::string cursor;
  do {
    const ServerReply page = Get("/v1/runs?limit=4" + (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page.body;
    seen += page.Json().Get("runs").list().size();
    cursor = page.Text("cursor");
  } while (!cursor.empty());
  EXPECT_EQ(seen, 6U);
  for (const char* query : {"?limit=0", "?limit=x", "?status=ODD", "?nope=1", "?cursor=%00",
                            "?cursor=rubbish", "?createdFrom=yesterday", "?limit=1&limit=2"}) {
    const ServerReply refused = Get(std::string("/v1/runs") + query);
    EXPECT_EQ(refused.status, 400) << query << refused.body;
  }
}

TEST_F(ServerRunsTest, AViewHasItsWatermarkAndIsNotSentTwice) {
  const std::string run = Waiting();
  for (const char* view : {"", "/snapshot", "/steps", "/steps/door"}) {
    const std::string path = "/v1/runs/" + run + view;
    const ServerReply first = Get(path);
    ASSERT_EQ(first.status, 200) << path << first.body;
    const std::string etag = first.Header("etag");
    EXPECT_EQ(etag, "\"" + first.Header("everstep-last-event-seq") + "\"");
    const ServerReply same = Get(path, {{"If-None-Match", etag}});
    EXPECT_EQ(same.status, 304) << path;
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(Get(path, {{"If-None-Match", "\"0\""}}).status, 200) << path;
  }
}

TEST_F(ServerRunsTest, AWaitEndsWithTheRunAndNotBefore) {
  const std::string run = Waiting();
  const ServerReply soon = Get("/v1/runs/" + run + "?wait=20ms");
  EXPECT_EQ(soon.Text("status"), "RUNNING");
  SocketClient waiter = bench_.Connect();
  ASSERT_TRUE(waiter.Send(RequestText({.path = "/v1/runs/" + run + "?wait=60s", .token = token_})));
  EXPECT_EQ(Post("/v1/hooks/knock", "{}").status, 200);
  const SocketClient::Answer answer = waiter.ReadAnswer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("COMPLETED"), std::string::npos) << answer.body;
  EXPECT_EQ(Get("/v1/runs/" + run + "?wait=2m").status, 400);
}

TEST_F(ServerRunsTest, ADrainingServerReleasesWaitingClients) {
  const std::string run = Waiting();
  SocketClient waiter = bench_.Connect();
  ASSERT_TRUE(waiter.Send(RequestText({.path = "/v1/runs/" + run + "?wait=60s", .token = token_})));
  // It is waiting once the metrics show it; the second request is the one for the metrics.
  while (bench_.Get(bench_.admin(), "/metrics").body.find("everstep_http_requests_in_flight 2\n") ==
         std::string::npos) {
  }
  EXPECT_TRUE(bench_.server().Drain(std::chrono::seconds(8)));
  EXPECT_EQ(waiter.ReadAnswer().status, 200);
  bench_.Stop();
}

TEST_F(ServerRunsTest, AServerThatStopsAtOnceDisconnectsWaitingClients) {
  const std::string run = Waiting();
  const std::string worker = bench_.RegisterWorker(token_, "far.away");
  std::vector<SocketClient> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(bench_.Connect());
    waiting.back().Send(RequestText({.path = "/v1/runs/" + run + "?wait=60s", .token = token_}));
    waiting.push_back(bench_.Connect());
    waiting.back().Send(RequestText({.method = "POST",
                                     .path = "/v1/workers/" + worker + "/poll",
                                     .body = R"({"max":1,"waitMs":60000})",
                                     .headers = {{"Idempotency-Key", "k" + std::to_string(i)}},
                                     .token = token_}));
  }
  while (
      bench_.Get(bench_.admin(), "/metrics").body.find("everstep_http_requests_in_flight 17\n") ==
      std::string::npos) {
  }
  bench_.Stop();
  for (SocketClient& client : waiting) client.ReadToEnd();
}

TEST_F(ServerRunsTest, ASnapshotCanBeTakenAtAnyEventAndIsNeverStale) {
  const std::string run = bench_.StartRun(token_, kEcho);
  ASSERT_EQ(bench_.EndOf(token_, run), "COMPLETED");
  const std::string path = "/v1/runs/" + run + "/snapshot";
  const ServerReply now = Get(path);
  EXPECT_EQ(now.Text("status"), "COMPLETED");
  const ServerReply first = Get(path + "?at=1");
  EXPECT_EQ(first.Text("lastEventSeq"), "1");
  EXPECT_NE(first.Text("status"), "COMPLETED");
  const std::string last = now.Text("lastEventSeq");
  EXPECT_EQ(Get(path + "?consistentAfter=" + last).status, 200);
  EXPECT_EQ(Get(path + "?consistentAfter=" + last + "0").status, 412);
  EXPECT_EQ(Get(path + "?at=" + last + "0").status, 400);
  EXPECT_EQ(Get(path + "?at=0").status, 400);
}

TEST_F(ServerRunsTest, StepsAndWhyShowWhatARunWaitsFor) {
  const std::string run = Waiting();
  const Value steps = Get("/v1/runs/" + run + "/steps").Json().Get("steps");
  ASSERT_EQ(steps.list().size(), 1U);
  EXPECT_EQ(ToText(steps.At(0).Get("hookToken")), "knock");
  EXPECT_EQ(Get("/v1/runs/" + run + "/steps/none").Code(), "STEP_NOT_FOUND");
  const Value why = Get("/v1/runs/" + run + "/why").Json();
  EXPECT_EQ(ToText(why.Get("blockers").At(0).Get("kind")), "hook");
  EXPECT_EQ(Get("/v1/runs/none/why").Code(), "RUN_NOT_FOUND");
}

TEST_F(ServerRunsTest, SignalsAreDecidedOnceAndRecorded) {
  const std::string run = Waiting();
  const std::string path = "/v1/runs/" + run + "/signals";
  const std::string pause = R"({"signalId":"s-1","type":"PAUSE","reason":"lunch"})";
  const ServerReply accepted = Post(path, pause);
  EXPECT_EQ(accepted.Text("decision"), "ACCEPTED") << accepted.body;
  EXPECT_EQ(Get("/v1/runs/" + run).Text("status"), "PAUSED");
  EXPECT_EQ(Post(path, pause).Text("repeated"), "true");
  const ServerReply rejected =
      Post(path, R"({"type":"SKIP_STEP","payload":{"stepId":"none"},"reason":"x"})");
  EXPECT_TRUE(rejected.status >= 400 || rejected.Text("decision") == "REJECTED") << rejected.body;
  EXPECT_GE(Post(path, R"({"type":"NONSENSE"})").status, 400);
  EXPECT_EQ(Post(path, R"({"type":"RESUME","reason":"back"})").Text("decision"), "ACCEPTED");
  const Value records = Get(path).Json().Get("events");
  ASSERT_GE(records.list().size(), 2U);
  EXPECT_EQ(ToText(records.At(0).Get("type")), "SignalAccepted");
  const std::string record = ToJson(records.At(0));
  EXPECT_NE(record.find("lunch"), std::string::npos) << record;
  EXPECT_NE(record.find("tenant-admin of shop"), std::string::npos) << record;
}

TEST_F(ServerRunsTest, RunsAreFilteredByVersionPrefixErrorAndTime) {
  const auto ids = [&](const std::string& query) {
    std::string found;
    const Value runs = Get("/v1/runs?" + query).Json().Get("runs");
    for (const Value& run : runs.list()) found += ToText(run.Get("runId")) + " ";
    return found;
  };
  const auto start = [&](const std::string& id, const std::string& version, const char* kind) {
    const std::string plan = "metadata: {planId: p, planVersion: '" + version +
                             "'}\nsteps: [{stepId: a, kind: " + kind + "}]\n";
    EXPECT_EQ(Start(WithPlan(plan, ",\"runId\":\"" + id + "\"")).status, 201);
    bench_.EndOf(token_, id);
  };
  start("order-1", "1", "noop");
  start("order-2", "2", "noop");
  start("other-3", "2", "shell");
  EXPECT_EQ(ids("planVersion=2"), "other-3 order-2 ");
  EXPECT_EQ(ids("runIdPrefix=order-"), "order-2 order-1 ");
  const std::string code = Get("/v1/runs/other-3").Text("errorCode");
  ASSERT_FALSE(code.empty());
  EXPECT_EQ(ids("errorCode=" + code), "other-3 ");
  EXPECT_NE(Get("/v1/runs?errorCode=" + code).body.find("\"errorCode\":\"" + code + "\""),
            std::string::npos);
  EXPECT_EQ(ids("errorCode=NO_SUCH"), "");
  const Value list = Get("/v1/runs?runIdPrefix=order-2").Json().Get("runs");
  const std::string at = ToText(list.At(0).Get("updatedAt"));
  EXPECT_NE(ids("updatedFrom=" + at).find("order-2"), std::string::npos);
  EXPECT_EQ(ids("updatedUntil=" + at).find("order-2"), std::string::npos);
  EXPECT_EQ(Get("/v1/runs?updatedFrom=yesterday").status, 400);
}

TEST_F(ServerRunsTest, EveryReadOfARunHasItsWatermark) {
  const std::string run = Waiting();
  for (const char* view : {"", "/snapshot", "/steps", "/why", "/events", "/signals"}) {
    const ServerReply reply = Get("/v1/runs/" + run + view);
    EXPECT_EQ(reply.status, 200) << view;
    EXPECT_FALSE(reply.Header("everstep-last-event-seq").empty()) << view;
  }
}

TEST_F(ServerRunsTest, SomeSignalsNeedMoreThanThePermissionToSend) {
  const std::string run = Waiting();
  const ServerReply reply =
      bench_.Post(bench_.Token("shop", "operator"), "/v1/runs/" + run + "/signals",
                  R"({"type":"EMERGENCY_STOP","payload":{"reason":"x"}})");
  EXPECT_EQ(reply.status, 403) << reply.body;
  EXPECT_EQ(Get("/v1/runs/" + run).Text("status"), "RUNNING");
}

TEST_F(ServerRunsTest, ACancelEndsTheRunAndIsIdempotent) {
  const std::string run = Waiting();
  const HttpHeaders key = {{"Idempotency-Key", "stop-it"}};
  const ServerReply first = Post("/v1/runs/" + run + "/cancel", R"({"reason":"no more"})", key);
  EXPECT_EQ(first.Text("decision"), "ACCEPTED") << first.body;
  EXPECT_EQ(bench_.EndOf(token_, run), "CANCELLED");
  EXPECT_EQ(Post("/v1/runs/" + run + "/cancel", R"({"reason":"no more"})", key).body, first.body);
  EXPECT_EQ(Post("/v1/runs/" + run + "/cancel", "{}").status, 409);
}

TEST_F(ServerRunsTest, ARunThatNeedsApprovalStartsWhenApproved) {
  const std::string run =
      bench_.StartRun(token_,
                      "metadata: {planId: ask, planVersion: '1', requiresApproval: true}\n"
                      "steps: [{stepId: go, kind: noop}]\n");
  EXPECT_EQ(Get("/v1/runs/" + run + "?wait=10ms").Text("status"), "PENDING");
  const ServerReply approved = Post("/v1/runs/" + run + "/approve", R"({"reason":"fine"})");
  EXPECT_EQ(approved.status, 200) << approved.body;
  EXPECT_EQ(bench_.EndOf(token_, run), "COMPLETED");
  EXPECT_EQ(Post("/v1/runs/" + run + "/approve", "{}").status, 409);
}

TEST_F(ServerRunsTest, CountsCoverTheCallersTenantOnly) {
  bench_.EndOf(token_, bench_.StartRun(token_, kEcho));
  Waiting();
  const Value counts = Get("/v1/counts").Json();
  EXPECT_EQ(ToJson(counts.Get("runs")), "[0,0,0,1,0,1,0,0]");
  const std::string other = bench_.Token("cafe", "viewer");
  EXPECT_EQ(ToJson(bench_.Get(other, "/v1/counts").Json().Get("runs")), "[0,0,0,0,0,0,0,0]");
}

}  // namespace
}  // namespace everstep
