// Checks that a remote engine returns the same results as the server's local engine.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "everstep/client.h"
#include "testing/loopback_http_server.h"
#include "testing/server_workbench.h"
#include "wire/engine_types.h"

namespace everstep {
namespace {

constexpr const char* kWaiting =
    "metadata: {planId: patient, planVersion: '1'}\n"
    "steps: [{stepId: one, kind: echo, inputs: {a: '{{ inputs.a }}'}},\n"
    "        {stepId: door, waitFor: {hook: {token: knock}}}]\n"
    "inputs: {a: {type: number, default: 1}}\n"
    "outputs: {came: '{{ steps.door.result }}'}\n";

ClientOptions To(const std::string& url, const std::string& token) {
  ClientOptions options;
  options.url = url;
  options.token = token;
  return options;
}

class RemoteEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto engine = Connect(To(bench_.url() + "/", bench_.admin()));
    ASSERT_TRUE(engine);
    remote_ = *std::move(engine);
  }
  Engine& local() { return bench_.engine(); }

  std::string StartWaiting() {
    StartRequest request;
    request.plan = kWaiting;
    request.inputs = R"({"a":2})";
    const auto run = remote_->Start(request);
    EXPECT_TRUE(run) << (run ? "" : ToString(run.error()));
    return run ? run->run_id : std::string();
  }
  // The result as text: the document, or the error's code.
  template <typename T>
  static std::string TextOf(const Result<T>& result) {
    if (!result) return std::string(Name(result.error().code));
    return ToWire(*result);
  }
  template <typename T>
  static void ExpectSame(const Result<T>& remote, const Result<T>& local) {
    EXPECT_EQ(TextOf(remote), TextOf(local));
  }

  ServerWorkbench bench_;
  std::unique_ptr<Engine> remote_;
};

TEST_F(RemoteEngineTest, ViewsOfARunAreTheSame) {
  const std::string waiting = StartWaiting();
  // Wait until the run has come to rest.
  while (local().View(waiting)->steps.back().hook_token.empty()) {
  }
  for (const std::string& run : {waiting, std::string("none")}) {
    ExpectSame(remote_->View(run), local().View(run));
    ExpectSame(remote_->Why(run), local().Why(run));
    const auto mine = remote_->log().Snapshot(run);
    const auto own = local().log().Snapshot(run);
    EXPECT_EQ(mine ? ToJson(*mine) : std::string(Name(mine.error().code)),
              own ? ToJson(*own) : std::string(Name(own.error().code)));
    EventRequest request;
    request.run_id = run;
    ExpectSame(remote_->log().Read(request), local().log().Read(request));
  }
  const auto early = remote_->log().Snapshot(waiting, 1);
  ASSERT_TRUE(early);
  EXPECT_EQ(ToJson(*early), ToJson(*local().log().Snapshot(waiting, 1)));
}

TEST_F(RemoteEngineTest, CommandsHaveTheSameEffect) {
  const std::string run = StartWaiting();
  SignalRequest pause;
  pause.run_id = run;
  pause.signal_id = "p-1";
  pause.type = "PAUSE";
  pause.reason = "lunch";
  const auto paused = remote_->Signal(pause);
  ASSERT_TRUE(paused) << ToString(paused.error());
  EXPECT_EQ(paused->decision, "ACCEPTED");
  EXPECT_EQ(local().View(run)->status, "PAUSED");
  pause.signal_id = "p-2";
  pause.type = "RESUME";
  EXPECT_EQ(remote_->Signal(pause)->decision, "ACCEPTED");
  EXPECT_FALSE(*remote_->WaitForEnd(run, std::chrono::milliseconds(10)));
  const auto hook = remote_->log().RunOfHook("default", "knock");
  ASSERT_TRUE(hook && *hook);
  EXPECT_EQ(**hook, run);
  HookDelivery delivery;
  delivery.token = "knock";
  delivery.payload = R"({"who":"me"})";
  EXPECT_EQ(*remote_->Deliver(delivery), run);
  // Longer than the server allows for one request.
  EXPECT_TRUE(*remote_->WaitForEnd(run, std::chrono::minutes(5)));
  ExpectSame(remote_->View(run), local().View(run));
  EXPECT_EQ(remote_->View(run)->result, R"({"came":{"who":"me"}})");
  EXPECT_FALSE(*remote_->log().RunOfHook("default", "knock"));
  delivery.token = "none";
  EXPECT_EQ(remote_->Deliver(delivery).error().code, ErrorCode::kHookNotFound);
  pause.run_id = "none";
  EXPECT_EQ(remote_->Signal(pause).error().code, ErrorCode::kRunNotFound);
}

TEST_F(RemoteEngineTest, AHookTakesHeartbeatsAndFailures) {
  const std::string run = StartWaiting();
  while (local().View(run)->steps.back().hook_token.empty()) {
  }
  HookDelivery delivery;
  delivery.token = "knock";
  delivery.kind = HookDelivery::Kind::kHeartbeat;
  EXPECT_EQ(*remote_->Deliver(delivery), run);
  EXPECT_EQ(*remote_->Deliver(delivery), run);
  delivery.kind = HookDelivery::Kind::kFailure;
  delivery.error_code = "NOBODY_HOME";
  delivery.error_message = "the shop is closed";
  delivery.delivery_id = "d-1";
  EXPECT_EQ(*remote_->Deliver(delivery), run);
  EXPECT_EQ(*remote_->Deliver(delivery), run) << "the same delivery again";
  EXPECT_TRUE(*remote_->WaitForEnd(run, std::chrono::minutes(5)));
  ExpectSame(remote_->View(run), local().View(run));
  EXPECT_EQ(remote_->View(run)->error_code, "NOBODY_HOME");
  EXPECT_EQ(remote_->View(run)->error_message, "step door: the shop is closed");
}

TEST_F(RemoteEngineTest, ErrorsKeepTheirCodesAndFaultPositions) {
  StartRequest request;
  request.plan = "metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kindd: noop}]\n";
  const auto mine = remote_->Start(request);
  const auto own = local().Start(request);
  ASSERT_FALSE(mine || own);
  EXPECT_EQ(mine.error().code, own.error().code);
  ASSERT_EQ(mine.error().faults.size(), own.error().faults.size());
  EXPECT_EQ(mine.error().faults[0].line, own.error().faults[0].line);
  EXPECT_EQ(mine.error().faults[0].message, own.error().faults[0].message);
  EXPECT_EQ(remote_->Approve("none", {}, "").error().code, ErrorCode::kRunNotFound);
  EXPECT_EQ(remote_->log().Backup("/nowhere").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(RemoteEngineTest, ARunIsStartedOnceForARequestId) {
  StartRequest request;
  request.plan = kWaiting;
  request.request_id = "order-1";
  const auto first = remote_->Start(request);
  const auto again = remote_->Start(request);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(again->run_id, first->run_id);
  EXPECT_TRUE(again->existing);
  EXPECT_FALSE(first->existing);
}

TEST_F(RemoteEngineTest, ARunWaitsForItsApproval) {
  StartRequest request;
  request.plan =
      "metadata: {planId: ask, planVersion: '1', requiresApproval: true}\n"
      "steps: [{stepId: go, kind: noop}]\n";
  const auto run = remote_->Start(request);
  ASSERT_TRUE(run);
  EXPECT_TRUE(remote_->Approve(run->run_id, {}, "fine"));
  EXPECT_TRUE(*remote_->WaitForEnd(run->run_id, std::chrono::seconds(9)));
}

TEST_F(RemoteEngineTest, AnInvalidEventDoesNotAffectTheOthersOfABatch) {
  const std::vector<std::string_view> events = {
      R"({"eventType":"RunStarted","runId":"x"})", R"({"eventType":"StepStarted",)",
      R"({"eventType":"StepStarted","runId":"x","stepId":"a"},)"
      R"({"eventType":"RunFailed","runId":"x"})",
      R"({"eventType":"StepCompleted","runId":"x","stepId":"never"})",
      R"({"eventType":"StepStarted","runId":"x","stepId":"a"})"};
  const auto answers = remote_->log().AppendAll(Dialect::kNative, events);
  ASSERT_EQ(answers.size(), events.size());
  EXPECT_TRUE(answers[0]);
  EXPECT_EQ(answers[1].error().code, ErrorCode::kInvalidJson);
  EXPECT_EQ(answers[2].error().code, ErrorCode::kInvalidJson);
  EXPECT_FALSE(answers[3]);
  ASSERT_TRUE(answers[4]);
  EXPECT_EQ(answers[4]->run_seq, 2U);
  const auto own = local().log().AppendAll(Dialect::kNative, events);
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(answers[i].has_value(), own[i].has_value()) << i;
    if (own[i] || answers[i]) continue;
    EXPECT_EQ(answers[i].error().code, own[i].error().code) << i;
  }
  EXPECT_TRUE(own[0]->idempotent);
}

TEST_F(RemoteEngineTest, LargeBatchesAreSplitIntoSeveralRequests) {
  std::vector<std::string> texts = {R"({"eventType":"RunStarted","runId":"many"})"};
  for (int i = 0; i < 10'050; ++i) {
    texts.push_back(R"({"eventType":"StepStarted","runId":"many","stepId":"s)" + std::to_string(i) +
                    "\"}");
  }
  const std::vector<std::string_view> events(texts.begin(), texts.end());
  const auto answers = remote_->log().AppendAll(Dialect::kNative, events);
  ASSERT_EQ(answers.size(), events.size());
  ASSERT_TRUE(answers.back()) << ToString(answers.back().error());
  EXPECT_EQ(answers.back()->run_seq, events.size());
}

TEST_F(RemoteEngineTest, ListsAndCountsAreTheSame) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(remote_->log().Append(
        Dialect::kNative, R"({"eventType":"RunStarted","runId":"r)" + std::to_string(i) + "\"}"));
  }
  RunFilter filter;
  filter.limit = 2;
  int seen = 0;
  do {
    const auto mine = remote_->log().Runs(filter);
    ExpectSame(mine, local().log().Runs(filter));
    ASSERT_TRUE(mine);
    seen += static_cast<int>(mine->runs.size());
    filter.cursor = mine->cursor;
  } while (!filter.cursor.empty());
  EXPECT_EQ(seen, 5);
  filter = {};
  filter.status = "COMPLETED";
  ExpectSame(remote_->log().Runs(filter), local().log().Runs(filter));
  const LogHealth mine = remote_->log().Health("default");
  const LogHealth own = local().log().Health("default");
  EXPECT_EQ(mine.events, own.events);
  EXPECT_TRUE(std::equal(std::begin(mine.runs_by_status), std::end(mine.runs_by_status),
                         std::begin(own.runs_by_status)));
  const auto since = remote_->log().ReadSince(SystemTime{}, "default", Dialect::kContract, 100);
  const auto own_since = local().log().ReadSince(SystemTime{}, "default", Dialect::kContract, 100);
  ASSERT_TRUE(since && own_since);
  ASSERT_EQ(since->size(), own_since->size());
  EXPECT_EQ(since->back().json, own_since->back().json);
}

TEST_F(RemoteEngineTest, ASubscriptionSeesWhatIsAppendedAndCanBeClosed) {
  const auto append = [&](const std::string& rest) {
    EXPECT_TRUE(remote_->log().Append(Dialect::kNative, "{\"runId\":\"s\"," + rest + "}"));
  };
  append(R"("eventType":"RunStarted")");
  for (const std::string run : {"s", ""}) {
    auto subscription = remote_->log().Subscribe(run, 0);
    ASSERT_TRUE(subscription);
    const auto first = (*subscription)->Next(10, std::chrono::seconds(9));
    ASSERT_TRUE(first && !first->empty());
    append(R"("eventType":"StepStarted","stepId":"in-)" + run + "\"");
    const auto second = (*subscription)->Next(10, std::chrono::seconds(9));
    ASSERT_TRUE(second && second->size() == 1U);
    EXPECT_NE(second->front().json.find("\"in-" + run + "\""), std::string::npos);
    EXPECT_TRUE((*subscription)->Next(10, std::chrono::milliseconds(1))->empty());
    (*subscription)->Close();
    EXPECT_TRUE((*subscription)->Next(10, std::chrono::hours(1))->empty());
  }
}

TEST_F(RemoteEngineTest, AnUnreachableServerIsReported) {
  bench_.Stop();
  EXPECT_EQ(remote_->View("x").error().code, ErrorCode::kServerUnavailable);
  EXPECT_TRUE(remote_->log().Health("default").stopped);
  EXPECT_FALSE(Connect(To("ftp://example", "")));
}

TEST_F(RemoteEngineTest, ATokenWithoutPermissionIsDenied) {
  const auto viewer = Connect(To(bench_.url(), bench_.Token("shop", "viewer")));
  StartRequest request;
  request.plan = kWaiting;
  EXPECT_EQ((*viewer)->Start(request).error().code, ErrorCode::kAuthzDenied);
  const auto nobody = Connect(To(bench_.url(), "est_no_body"));
  EXPECT_EQ((*nobody)->View("x").error().code, ErrorCode::kUnauthenticated);
}

// A server during a restart: it answers, then reports that it is stopping, then answers again.
class RestartedServerTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> ConnectPatiently(int patience) {
    ClientOptions options = To(server_.Url(""), "");
    options.ask_again = [this, patience](const Error& error, int tried) {
      waits_.push_back(std::string(Name(error.code)) + " " + std::to_string(tried));
      if (tried == patience) away_ = false;
      return tried <= patience;
    };
    return *Connect(std::move(options));
  }

  std::atomic<bool> away_ = false;
  std::vector<std::string> waits_;
  std::mutex mutex_;
  std::vector<std::string> asked_;  // key and target
  LoopbackHttpServer server_{[this](const LoopbackHttpServer::Request& request) {
    const std::lock_guard lock(mutex_);
    const auto key = request.headers.find("idempotency-key");
    asked_.push_back((key == request.headers.end() ? "" : key->second + " ") + request.target);
    if (away_) return LoopbackHttpServer::Response{503, {}, R"({"code":"ENGINE_STOPPED"})"};
    return LoopbackHttpServer::Response{
        200, {}, R"({"runId":"r","status":"RUNNING","events":[],"nextAfter":7})"};
  }};
};

TEST_F(RestartedServerTest, SafeRequestsAreRetried) {
  const auto remote = ConnectPatiently(2);
  EventRequest request;
  request.run_id = "r";
  request.after = 7;
  ASSERT_TRUE(remote->log().Read(request));
  away_ = true;
  ASSERT_TRUE(remote->log().Read(request));
  EXPECT_EQ(waits_, (std::vector<std::string>{"ENGINE_STOPPED 1", "ENGINE_STOPPED 2"}));
  for (const std::string& asked : asked_) EXPECT_EQ(asked, asked_.front());
}

TEST_F(RestartedServerTest, AStartIsRetriedWithTheSameIdempotencyKey) {
  const auto remote = ConnectPatiently(1);
  ASSERT_TRUE(remote->Start({}));
  asked_.clear();
  away_ = true;
  ASSERT_TRUE(remote->Start({}));
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[0], asked_[1]);
  EXPECT_GT(asked_[0].size(), std::string(" /v1/runs").size());
}

TEST_F(RestartedServerTest, GivingUpReturnsTheError) {
  const auto remote = ConnectPatiently(0);
  ASSERT_TRUE(remote->log().Read({}));
  away_ = true;
  EXPECT_EQ(remote->log().Read({}).error().code, ErrorCode::kEngineStopped);
  EXPECT_EQ(waits_.size(), 1U);
}

TEST(RemoteEngineAwayTest, AServerThatNeverAnsweredIsNotWaitedFor) {
  ClientOptions options = To("http://127.0.0.1:1", "");
  options.ask_again = [](const Error&, int) {
    ADD_FAILURE() << "the server never answered";
    return false;
  };
  EXPECT_EQ((*Connect(options))->View("x").error().code, ErrorCode::kServerUnavailable);
}

}  // namespace
}  // namespace everstep
