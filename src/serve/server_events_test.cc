// Events, streams, hooks and webhooks over HTTP.

#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"
#include "bus/webhook_signature.h"
#include "net/content_coding.h"
#include "net/gunzip_stream.h"
#include "testing/server_workbench.h"

namespace everstep {
namespace {

constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kWaiting =
    "metadata: {planId: patient, planVersion: '1'}\n"
    "steps: [{stepId: door, waitFor: {hook: {token: knock}}}]\n"
    "outputs: {came: '{{ steps.door.result }}'}\n";

std::string Event(const std::string& type, const std::string& run_id,
                  const std::string& step_id = "") {
  std::string text = R"({"eventType":")" + type + R"(","runId":")" + run_id + "\"";
  if (!step_id.empty()) text += R"(,"stepId":")" + step_id + "\"";
  return text + "}";
}

class ServerEventsTest : public testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options;
    options.api.webhook_secrets["shop"].push_back(*WebhookSecret::Parse(kSecret));
    return options;
  }
  void SetUp() override { token_ = bench_.Token("shop", "tenant-admin"); }

  ServerReply Get(const std::string& path, HttpHeaders headers = {}) {
    return bench_.Get(token_, path, std::move(headers));
  }
  ServerReply Append(const std::string& body, const std::string& query = "",
                     HttpHeaders headers = {}) {
    return bench_.Post(token_, "/v1/events" + query, body, std::move(headers));
  }
  SocketClient Follow(const std::string& path, const std::string& last_id = "") {
    SocketClient client = bench_.Connect();
    HttpHeaders headers = {{"Accept", "text/event-stream"}};
    if (!last_id.empty()) headers.emplace_back("Last-Event-ID", last_id);
    client.Send(RequestText({.path = path, .headers = headers, .token = token_}));
    return client;
  }
  // Reads until `text` has arrived, and returns what was read.
  static std::string ReadUntil(SocketClient& client, const std::string& text) {
    std::string all;
    while (all.find(text) == std::string::npos) {
      const std::string before = all;
      all += client.ReadSome();
      if (all.size() == before.size()) {
        ADD_FAILURE() << "no " << text << " in " << all;
        break;
      }
    }
    return all;
  }
  ServerReply Webhook(const std::string& id, std::int64_t seconds, const std::string& body,
                      const std::string& token = "knock") {
    const auto secret = WebhookSecret::Parse(kSecret);
    return bench_.Post("", "/webhooks/shop/" + token, body,
                       {{"webhook-id", id},
                        {"webhook-timestamp", std::to_string(seconds)},
                        {"webhook-signature", secret->Sign(id, seconds, body)}});
  }
  static std::int64_t Now() {
    return std::chrono::duration_cast<std::chrono::seconds>(SystemClock().Now().time_since_epoch())
        .count();
  }

  ServerWorkbench bench_{Options()};
  std::string token_;
};

TEST_F(ServerEventsTest, OneEventIsAppendedOnce) {
  const std::string event = Event("RunStarted", "x");
  const ServerReply first = Append(event);
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(first.Text("runSeq"), "1");
  const ServerReply again = Append(event);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.Text("idempotent"), "true");
  EXPECT_EQ(again.Text("eventId"), first.Text("eventId"));
  EXPECT_EQ(Append(Event("RunCompleted", "none")).status, 404);
  EXPECT_EQ(Append("").status, 400);
  EXPECT_EQ(Append("not json").Code(), "INVALID_JSON");
}

TEST_F(ServerEventsTest, ABatchIsAnsweredEventByEvent) {
  const std::string good = Event("RunStarted", "b-1");
  const std::string bad = Event("StepCompleted", "b-1", "never-started");
  const std::string last = Event("StepStarted", "b-1", "s");
  const std::string listed = "[" + good + ",\n " + bad + "," + last + "]";
  const Value results = Append(listed).Json().Get("results");
  ASSERT_EQ(results.list().size(), 3U);
  EXPECT_EQ(ToText(results.At(0).Get("appended").Get("runSeq")), "1");
  EXPECT_FALSE(ToText(results.At(1).Get("code")).empty());
  EXPECT_TRUE(results.At(1).Get("appended").undefined());
  EXPECT_EQ(ToText(results.At(2).Get("appended").Get("runSeq")), "2");
  const ServerReply lines =
      Append(Event("RunStarted", "b-2") + "\n\n{broken\n" + Event("StepStarted", "b-2", "s") + "\n",
             "", {{"Content-Type", "application/x-ndjson"}});
  ASSERT_EQ(lines.Json().Get("results").list().size(), 3U) << lines.body;
  EXPECT_EQ(ToText(lines.Json().Get("results").At(1).Get("code")), "INVALID_JSON");
  EXPECT_EQ(Append("[").Code(), "INVALID_JSON");
  EXPECT_EQ(Append("[]").status, 400);
}

TEST_F(ServerEventsTest, EventsAreWrittenAndReadInEveryDialect) {
  EXPECT_EQ(Append(Event("RunStarted", "d"), "?dialect=devkit&planId=p").status, 422);
  ASSERT_EQ(Append(Event("RunStarted", "d")).status, 201);
  ASSERT_EQ(Append(Event("StepStarted", "d", "s")).status, 201);
  for (const char* dialect : {"native", "contract", "devkit", "noetl", "elephant", "cloudevents"}) {
    for (const char* path : {"/v1/runs/d/events", "/v1/events"}) {
      const ServerReply page = Get(std::string(path) + "?dialect=" + dialect);
      EXPECT_EQ(page.status, 200) << dialect << page.body;
      EXPECT_FALSE(page.Json().Get("events").list().empty()) << dialect << path;
    }
  }
  EXPECT_EQ(Append(Event("StepStarted", "d", "s"), "?dialect=cloudevents").status, 400);
  EXPECT_EQ(Get("/v1/events?dialect=latin").status, 400);
}

TEST_F(ServerEventsTest, ReadingContinuesAfterTheLastPage) {
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(Append(Event("RunStarted", "p-" + std::to_string(run))).status, 201);
  }
  for (int step = 0; step < 7; ++step) {
    ASSERT_EQ(Append(Event("StepStarted", "p-1", "s" + std::to_string(step))).status, 201);
  }
  const auto count = [&](const std::string& path) {
    std::size_t seen = 0;
    std::string after = "0";
    for (int pages = 0; pages < 20; ++pages) {
      const Value page = Get(path + "limit=3&after=" + after).Json();
      seen += page.Get("events").list().size();
      after = page.Get("nextAfter").undefined() ? after : ToText(page.Get("nextAfter"));
      if (page.Get("more").undefined()) break;
    }
    return seen;
  };
  EXPECT_EQ(count("/v1/runs/p-1/events?"), 8U);
  EXPECT_EQ(count("/v1/events?"), 10U);
  EXPECT_EQ(count("/v1/events?type=RunStarted&"), 3U);
  EXPECT_EQ(count("/v1/runs/p-1/events?type=StepStarted&"), 7U);
  EXPECT_EQ(count("/v1/runs/p-1/events?entityKind=step&entityId=s3&"), 1U);
  EXPECT_EQ(Get("/v1/runs/p-1/events?until=2").Json().Get("events").list().size(), 2U);
  EXPECT_EQ(Get("/v1/events?since=2001-01-01T00:00:00Z").Json().Get("events").list().size(), 10U);
  EXPECT_EQ(Get("/v1/events?since=2001-01-01T00:00:00Z&after=1").status, 400);
}

TEST_F(ServerEventsTest, AStreamOfARunResumesAndEndsWithTheRun) {
  const std::string run = bench_.StartRun(token_, kWaiting);
  const std::string path = "/v1/runs/" + run + "/events";
  SocketClient first = Follow(path);
  const std::string begun = ReadUntil(first, "event: HookCreated");
  EXPECT_NE(begun.find("text/event-stream"), std::string::npos);
  EXPECT_NE(begun.find("id: 1\nevent: RunQueued\ndata: {"), std::string::npos) << begun;
  first.Reset();
  ASSERT_EQ(bench_.Post(token_, "/v1/hooks/knock", R"({"n":1})").status, 200);
  ASSERT_EQ(bench_.EndOf(token_, run), "COMPLETED");
  SocketClient second = Follow(path, "1");
  const SocketClient::Answer rest = second.ReadAnswer();
  EXPECT_TRUE(rest.whole);
  EXPECT_EQ(rest.body.find("id: 1\n"), std::string::npos) << rest.body;
  EXPECT_NE(rest.body.find("id: 2\n"), std::string::npos) << rest.body;
  EXPECT_NE(rest.body.find("event: RunCompleted"), std::string::npos) << rest.body;
  // A client that has seen everything need not reconnect.
  const std::size_t last = rest.body.rfind("id: ") + 4;
  const std::string id = rest.body.substr(last, rest.body.find('\n', last) - last);
  EXPECT_EQ(Follow(path, id).ReadAnswer().status, 204);
}

TEST_F(ServerEventsTest, AStreamOfARunRefusesPageFilters) {
  const std::string run = bench_.StartRun(token_, kWaiting);
  for (const char* query : {"until=5", "entityKind=step&entityId=door", "entityId=nonsense"}) {
    const std::string path = "/v1/runs/" + run + "/events?" + query;
    EXPECT_EQ(Get(path, {{"Accept", "text/event-stream"}}).status, 400) << query;
  }
}

TEST_F(ServerEventsTest, AStreamOfATenantShowsItsRunsAndNoOthers) {
  SocketClient client = Follow("/v1/events?after=0");
  ReadUntil(client, "retry:");
  const std::string other = bench_.Token("cafe", "tenant-admin");
  ASSERT_EQ(bench_.Post(other, "/v1/events", Event("RunStarted", "theirs")).status, 201);
  ASSERT_EQ(Append(Event("RunStarted", "ours-1")).status, 201);
  const std::string seen = ReadUntil(client, "ours-1");
  EXPECT_EQ(seen.find("theirs"), std::string::npos);
  const std::size_t id_at = seen.rfind("id: ") + 4;
  const std::string id = seen.substr(id_at, seen.find('\n', id_at) - id_at);
  client.Reset();
  ASSERT_EQ(Append(Event("RunStarted", "ours-2")).status, 201);
  SocketClient again = Follow("/v1/events", id);
  const std::string rest = ReadUntil(again, "ours-2");
  EXPECT_EQ(rest.find("ours-1"), std::string::npos) << rest;
}

TEST_F(ServerEventsTest, AStreamFromNowOnShowsNoEarlierEvents) {
  ASSERT_EQ(Append(Event("RunStarted", "before")).status, 201);
  SocketClient client = Follow("/v1/events?type=RunStarted");
  ReadUntil(client, "retry:");
  ASSERT_EQ(Append(Event("RunStarted", "after-1")).status, 201);
  EXPECT_EQ(ReadUntil(client, "after-1").find("before"), std::string::npos);
}

TEST_F(ServerEventsTest, AStreamThatWasCutOffBeforeItsFirstEventMissesNothing) {
  ASSERT_EQ(Append(Event("RunStarted", "before")).status, 201);
  SocketClient client = Follow("/v1/events");
  const std::string begun = ReadUntil(client, "\n\n\r\n");
  const std::size_t id_at = begun.find("id: ");
  ASSERT_NE(id_at, std::string::npos) << begun;
  EXPECT_EQ(begun.find("data:"), std::string::npos) << "sets the id and is no event";
  const std::string id = begun.substr(id_at + 4, begun.find('\n', id_at) - id_at - 4);
  client.Reset();
  ASSERT_EQ(Append(Event("RunStarted", "meanwhile")).status, 201);
  SocketClient again = Follow("/v1/events", id);
  EXPECT_EQ(ReadUntil(again, "meanwhile").find("before"), std::string::npos);
}

TEST_F(ServerEventsTest, AnInvalidLastEventIdIsRefused) {
  const std::string run = bench_.StartRun(token_, kWaiting);
  for (const std::string& path : {std::string("/v1/events"), "/v1/runs/" + run + "/events",
                                  "/v1/runs/" + run + "/streams/out"}) {
    for (const char* id : {"garbage", "-1", "1x", "99999999999999999999"}) {
      const ServerReply reply = Get(path, {{"Accept", "text/event-stream"}, {"Last-Event-ID", id}});
      EXPECT_EQ(reply.status, 400) << path << id;
    }
  }
}

TEST_F(ServerEventsTest, NoEventOfALargeCommitIsMissedAfterAReconnect) {
  std::string batch = "[" + Event("RunStarted", "many");
  for (int i = 0; i < 600; ++i)
    batch += "," + Event("StepStarted", "many", "s" + std::to_string(i));
  ASSERT_EQ(Append(batch + "]").status, 200);
  SocketClient client = Follow("/v1/events?after=0");
  const std::string seen = ReadUntil(client, R"("stepId":"s599")");
  for (int i = 0; i < 600; ++i) {
    const std::string mark = R"("stepId":"s)" + std::to_string(i) + "\"";
    const std::size_t at = seen.find(mark);
    ASSERT_NE(at, std::string::npos) << i;
    EXPECT_EQ(seen.find(mark, at + 1), std::string::npos) << i;
  }
  // A client that saw only the first of them resumes without missing the others.
  const std::string frame = seen.substr(0, seen.find("\n\n", seen.find("event: ")));
  const std::size_t id_at = frame.find("id: ");
  const std::string id = id_at == std::string::npos
                             ? "0"
                             : frame.substr(id_at + 4, frame.find('\n', id_at) - id_at - 4);
  SocketClient again = Follow("/v1/events?after=0", id);
  EXPECT_NE(ReadUntil(again, R"("stepId":"s599")").find(R"("stepId":"s0")"), std::string::npos);
}

TEST_F(ServerEventsTest, EventsOfAllRunsAreFilteredByPlanAndScope) {
  Append("[" + Event("RunStarted", "a") + "]", "?planId=load&projectId=shop&environmentId=live");
  Append("[" + Event("RunStarted", "b") + "]", "?planId=load&projectId=shop&environmentId=test");
  Append("[" + Event("RunStarted", "c") + "]", "?planId=sort&projectId=desk&environmentId=live");
  const auto runs = [&](const std::string& query) {
    std::string found;
    const Value events = Get("/v1/events?after=0&" + query).Json().Get("events");
    for (const Value& event : events.list()) found += ToText(event.Get("event").Get("runId"));
    return found;
  };
  EXPECT_EQ(runs("planId=load"), "ab");
  EXPECT_EQ(runs("environmentId=live"), "ac");
  EXPECT_EQ(runs("projectId=shop&environmentId=test"), "b");
  EXPECT_EQ(runs("planId=none"), "");
  SocketClient stream = Follow("/v1/events?after=0&planId=sort");
  const std::string seen = ReadUntil(stream, R"("runId":"c")");
  EXPECT_EQ(seen.find(R"("runId":"a")"), std::string::npos) << seen;
}

TEST_F(ServerEventsTest, AHookIsShownAndAcceptsOnePayload) {
  const std::string run = bench_.StartRun(token_, kWaiting);
  const ServerReply hook = Get("/v1/hooks/knock");
  EXPECT_EQ(hook.Text("runId"), run) << hook.body;
  EXPECT_EQ(hook.Text("stepId"), "door");
  EXPECT_EQ(hook.Text("planId"), "patient");
  EXPECT_EQ(hook.Text("kind"), "hook");
  EXPECT_FALSE(hook.Text("createdAt").empty());
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/knock", "{broken").status, 400);
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/none", "{}").Code(), "HOOK_NOT_FOUND");
  const HttpHeaders key = {{"Idempotency-Key", "once"}};
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/knock", R"({"n":7})", key).Text("runId"), run);
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/knock", R"({"n":7})", key).Text("runId"), run);
  EXPECT_EQ(bench_.EndOf(token_, run), "COMPLETED");
  EXPECT_EQ(ToJson(Get("/v1/runs/" + run).Json().Get("result")), R"({"came":{"n":7}})");
  EXPECT_EQ(Get("/v1/hooks/knock").Code(), "HOOK_NOT_FOUND");
}

TEST_F(ServerEventsTest, AHookAcceptsHeartbeatsAndAFailure) {
  const std::string run = bench_.StartRun(token_, kWaiting);
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/knock/heartbeat", "").Text("runId"), run);
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/none/heartbeat", "").Code(), "HOOK_NOT_FOUND");
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/knock/fail", "{}").status, 422);
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/knock/fail", R"({"code":"a|b"})").status, 400);
  const std::string failure = R"({"code":"NOBODY_HOME","message":"the shop is closed"})";
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/none/fail", failure).Code(), "HOOK_NOT_FOUND");
  const HttpHeaders key = {{"Idempotency-Key", "once"}};
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/knock/fail", failure, key).Text("runId"), run);
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/knock/fail", failure, key).Text("runId"), run);
  EXPECT_EQ(bench_.EndOf(token_, run), "FAILED");
  EXPECT_EQ(Get("/v1/runs/" + run).Text("errorCode"), "NOBODY_HOME");
  EXPECT_EQ(Get("/v1/runs/" + run).Text("errorMessage"), "step door: the shop is closed");
}

TEST_F(ServerEventsTest, TheEngineDeliversToTheHookOfAnApplication) {
  const std::string start = R"({"eventType":"RunStarted","runId":"app-1",)"
                            R"("payload":{"status":"RUNNING","engineRunRef":"devkit/7"}})";
  ASSERT_EQ(Append(start, "?dialect=native&planId=flow").status, 201);
  const std::string hook = R"({"eventType":"HookCreated","runId":"app-1",)"
                           R"("correlationId":"hook-1","payload":{"token":"app-hook"}})";
  ASSERT_EQ(Append(hook, "?dialect=native").status, 201);
  HookDelivery delivery{"shop", "app-hook", R"({"n":1})", "d-1"};
  const auto taken = bench_.engine().Deliver(delivery);
  ASSERT_TRUE(taken) << ToString(taken.error());
  EXPECT_EQ(*taken, "app-1");
  EXPECT_NE(Get("/v1/runs/app-1/events").body.find("HookReceived"), std::string::npos);
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/app-hook", "2").Text("runId"), "app-1");
  delivery.kind = HookDelivery::Kind::kHeartbeat;
  EXPECT_EQ(bench_.engine().Deliver(delivery).error().code, ErrorCode::kCapabilityNotSupported);
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/app-hook/heartbeat", "").Code(),
            "CAPABILITY_NOT_SUPPORTED");
  const std::string pause = R"({"type":"PAUSE"})";
  EXPECT_EQ(bench_.Post(token_, "/v1/runs/app-1/signals", pause).Text("decision"), "ACCEPTED");
  EXPECT_EQ(Get("/v1/runs/app-1").Text("status"), "PAUSED") << "its work is given out here";
}

TEST_F(ServerEventsTest, AnApprovalIsShownWithItsQuestion) {
  bench_.StartRun(token_,
                  "metadata: {planId: ask, planVersion: '1'}\n"
                  "inputs: {what: {type: string, default: lunch}}\n"
                  "steps: [{stepId: go, waitFor: {approval: {token: ok-1, timeout: 1h,\n"
                  "  prompt: 'Pay for {{ inputs.what }}?'}}}]\n");
  const ServerReply hook = Get("/v1/hooks/ok-1");
  EXPECT_EQ(hook.Text("kind"), "approval") << hook.body;
  EXPECT_EQ(hook.Text("prompt"), "Pay for lunch?");
  EXPECT_FALSE(hook.Text("until").empty());
}

TEST_F(ServerEventsTest, AnApprovalNeedsAClearYesOrNo) {
  const std::string run =
      bench_.StartRun(token_,
                      "metadata: {planId: ask, planVersion: '1'}\n"
                      "steps: [{stepId: go, waitFor: {approval: {token: ok-1}}}]\n");
  const ServerReply unclear = bench_.Post(token_, "/v1/hooks/ok-1", R"({"aproved":false})");
  EXPECT_EQ(unclear.status, 422);
  EXPECT_NE(unclear.body.find("\"/approved\""), std::string::npos) << unclear.body;
  EXPECT_EQ(bench_.Post(token_, "/v1/hooks/ok-1", R"({"approved":true})").status, 200);
  EXPECT_EQ(bench_.EndOf(token_, run), "COMPLETED");
}

TEST_F(ServerEventsTest, ASignedWebhookNeedsNoTokenAndAnUnsignedOneIsRefused) {
  const std::string run = bench_.StartRun(token_, kWaiting);
  const ServerReply unsigned_one = bench_.Post("", "/webhooks/shop/knock", "{}");
  EXPECT_EQ(unsigned_one.status, 401);
  EXPECT_EQ(unsigned_one.Code(), "WEBHOOK_SIGNATURE_INVALID");
  EXPECT_EQ(Webhook("m-0", Now() - 600, "{}").status, 401);
  EXPECT_EQ(Webhook("m-1", Now(), "{}", "none").Code(), "HOOK_NOT_FOUND");
  EXPECT_EQ(Webhook("m-2", Now(), R"({"n":9})").status, 200);
  EXPECT_EQ(Webhook("m-2", Now(), R"({"n":9})").status, 200);
  EXPECT_EQ(bench_.EndOf(token_, run), "COMPLETED");
}

TEST_F(ServerEventsTest, LargeAnswersAndBodiesMayBeCompressed) {
  std::string batch = "[" + Event("RunStarted", "z");
  for (int i = 0; i < 50; ++i) batch += "," + Event("StepStarted", "z", "s" + std::to_string(i));
  const ServerReply sent = Append(Gzip(batch + "]"), "", {{"Content-Encoding", "gzip"}});
  ASSERT_EQ(sent.status, 200) << sent.body;
  const ServerReply packed = Get("/v1/runs/z/events", {{"Accept-Encoding", "gzip"}});
  ASSERT_EQ(packed.Header("content-encoding"), "gzip");
  std::string text;
  std::string_view body = packed.body;
  ASSERT_EQ(GunzipStream().Read(body, 1 << 20, text), GunzipStream::Outcome::kDone);
  EXPECT_EQ(text, Get("/v1/runs/z/events").body);
}

TEST_F(ServerEventsTest, HeadIsGetWithoutItsBodyAndOtherMethodsAreNamed) {
  const ServerReply get = Get("/v1/runs");
  const ServerReply head = bench_.Send({.method = "HEAD", .path = "/v1/runs", .token = token_});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.Header("content-length"), get.Header("content-length"));
  const ServerReply put = bench_.Send({.method = "PUT", .path = "/v1/runs", .token = token_});
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.Header("allow"), "POST, GET, HEAD");
  EXPECT_EQ(Get("/v1/nowhere").Code(), "NOT_FOUND");
  EXPECT_EQ(Get("/v1/runs/%zz").status, 400);
}

TEST_F(ServerEventsTest, HeadOfAStreamReturnsHeadersOnly) {
  const std::string run = bench_.StartRun(token_, kWaiting);
  for (const std::string& path : {std::string("/v1/events"), "/v1/runs/" + run + "/events"}) {
    SocketClient client = bench_.Connect();
    client.Send(RequestText({.method = "HEAD",
                             .path = path,
                             .headers = {{"Accept", "text/event-stream"}},
                             .token = token_}));
    EXPECT_EQ(client.ReadAnswer(true).status, 200) << path;
    client.Send(GetText("/livez"));
    EXPECT_EQ(client.ReadAnswer().body, "ok\n") << path;
  }
}

}  // namespace
}  // namespace everstep
