#include "engine/embedded_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/json.h"
#include "engine/event_view.h"
#include "store/keyed_store.h"
#include "store/memory_key_value.h"
#include "testing/manual_clock.h"

namespace everstep {
namespace {

std::string Contract(const std::string& run, const std::string& type, const std::string& step = "",
                     int attempt = 1, const std::string& payload = "") {
  return R"({"eventType":")" + type + R"(","emittedAt":"2026-02-12T00:00:00.000Z","runId":")" +
         run +
         R"(","tenantId":"default","projectId":"p","environmentId":"dev","planId":"plan",)"
         R"("planVersion":"1","engineAttemptId":1,"logicalAttemptId":)" +
         std::to_string(attempt) + (step.empty() ? "" : R"(,"stepId":")" + step + "\"") +
         (payload.empty() ? "" : R"(,"payload":)" + payload) + "}";
}

class EmbeddedLogTest : public testing::Test {
 protected:
  Appended Must(const std::string& event, Dialect dialect = Dialect::kContract) {
    const auto appended = log_.Append(dialect, event, {});
    if (!appended) {
      ADD_FAILURE() << ToString(appended.error());
      return {};
    }
    return *appended;
  }
  void SmallRun(const std::string& run) {
    Must(Contract(run, "RunStarted"));
    Must(Contract(run, "StepStarted", "a"));
    Must(Contract(run, "StepCompleted", "a", 1, R"({"result":{"n":1},"durationMs":5})"));
    Must(Contract(run, "RunCompleted"));
  }

  ManualClock clock_;
  SeededRandom random_{7};
  EmbeddedLog log_{OpenMemoryStore(), clock_, random_, {}};
};

TEST_F(EmbeddedLogTest, SnapshotsShowTheCurrentOrAnEarlierState) {
  SmallRun("r");
  EXPECT_EQ(log_.Snapshot("r", {})->status, "COMPLETED");
  EXPECT_EQ(log_.Snapshot("r", 2)->status, "RUNNING");
  EXPECT_EQ(log_.Snapshot("r", 2)->steps[0].status, "RUNNING");
  EXPECT_EQ(log_.Snapshot("r", 3)->steps[0].status, "SUCCESS");
  EXPECT_EQ(*log_.Snapshot("r", 4), *log_.Snapshot("r", {}));
  EXPECT_EQ(log_.Snapshot("r", 5).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(log_.Snapshot("r", 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(log_.Snapshot("nobody", {}).error().code, ErrorCode::kRunNotFound);
}

TEST_F(EmbeddedLogTest, InvalidEventsOfABatchAreRejectedAndTheOthersAppended) {
  const std::string good = Contract("r", "RunStarted");
  const std::string wrong = Contract("r", "StepStarted");  // no stepId
  const std::string next = Contract("r", "StepStarted", "a");
  const std::vector<std::string_view> events = {good, "{", wrong, next};
  const auto answers = log_.AppendAll(Dialect::kContract, events, {});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0]->run_seq, 1U);
  EXPECT_EQ(answers[1].error().code, ErrorCode::kInvalidJson);
  EXPECT_EQ(answers[2].error().code, ErrorCode::kSchemaValidationFailed);
  EXPECT_EQ(answers[2].error().faults[0].pointer, "/stepId");
  EXPECT_EQ(answers[3]->run_seq, 2U);
}

TEST_F(EmbeddedLogTest, ExternalEventsForARunOfTheEngineAreRejected) {
  EventWrite queued;
  queued.type = EventType::kRunQueued;
  queued.run_id = RunId("own");
  queued.facts.engine_run_ref = kOwnEngine;
  const AppendOrder order{RunId("own"), {queued}};
  const RunScope scope{"default", "p", "dev", "plan", "1"};
  ASSERT_TRUE(log_.authority().Await(log_.authority().Submit(std::span(&order, 1), scope))[0]);
  const auto refused = log_.Append(Dialect::kContract, Contract("own", "RunStarted"), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kRunOwnedByEngine);
  EXPECT_EQ(log_.Snapshot("own", {})->status, "PENDING");
}

TEST_F(EmbeddedLogTest, ATenantOnlyWriterDoesNotLearnOfOtherTenantsRuns) {
  SmallRun("theirs");
  AppendDefaults acme;
  acme.tenant_id = "acme";
  acme.tenant_only = true;
  const auto append = [&](const std::string& event) {
    const auto appended = log_.Append(Dialect::kDevkit, event, acme);
    return appended ? "ok" : ToString(appended.error());
  };
  const auto step = [](const std::string& run) {
    return R"({"eventType":"step_created","runId":")" + run +
           R"(","correlationId":"s","eventData":{"stepName":"s","input":[]}})";
  };
  std::string absent = append(step("nobody"));
  EXPECT_TRUE(absent.starts_with("RUN_NOT_FOUND")) << absent;
  absent.replace(absent.find("nobody"), 6, "theirs");
  EXPECT_EQ(append(step("theirs")), absent);
  const auto named = log_.Append(Dialect::kContract, Contract("mine", "RunStarted"), acme);
  ASSERT_FALSE(named.has_value()) << "the event names tenant default";
  EXPECT_EQ(named.error().code, ErrorCode::kAuthzTenantForbidden);
}

TEST_F(EmbeddedLogTest, OneLogIsWrittenInFourVocabulariesAndReadInAll) {
  Must(R"({"runId":"wrun_1","eventType":"run_created",)"
       R"("eventData":{"deploymentId":"d","workflowName":"w","input":[1]}})",
       Dialect::kDevkit);
  Must(R"({"runId":"wrun_1","eventType":"run_started"})", Dialect::kDevkit);
  Must(R"({"event_id":"e1","event_type":"step.started",)"
       R"("timestamp":"2026-01-17T23:11:22Z","execution_id":"wrun_1",)"
       R"("entity_type":"step","entity_id":"fetch"})",
       Dialect::kNoetl);
  Must(R"({"executionId":"wrun_1","county":"Cook",)"
       R"("status":"IN_PROGRESS","phase":"Transform","step":"fetch"})",
       Dialect::kElephant);
  Must(R"({"eventType":"StepCompleted","runId":"wrun_1","stepId":"fetch"})", Dialect::kNative);
  const auto read = [&](Dialect dialect) {
    EventRequest request;
    request.run_id = "wrun_1";
    request.dialect = dialect;
    std::vector<std::string> types;
    const auto page = log_.Read(request);
    for (const LogEvent& event : page->events) types.push_back(event.type);
    return types;
  };
  const std::vector<std::string> all = {"RunQueued", "RunStarted", "StepScheduled", "StepStarted",
                                        "StepCompleted"};
  EXPECT_EQ(read(Dialect::kNative), all);
  EXPECT_EQ(read(Dialect::kDevkit), all);
  EXPECT_EQ(read(Dialect::kCloudEvents), all);
  EXPECT_EQ(read(Dialect::kContract).size(), 4U) << "the contract has no StepScheduled";
  EXPECT_GE(read(Dialect::kNoetl).size(), 4U);
  EXPECT_EQ(read(Dialect::kElephant).size(), 3U) << "steps only";
}

TEST_F(EmbeddedLogTest, AStepMayRunAgainButARedeliveredDocumentIsADuplicate) {
  const auto document = [](const std::string& id, const std::string& status) {
    return R"({"id":")" + id + R"(","source":"elephant.workflow","detail-type":"WorkflowEvent",)" +
           R"("detail":{"executionId":"exec-1","county":"Cook","phase":"Transform",)" +
           R"("step":"Transform","status":")" + status + "\"}}";
  };
  for (const char* id : {"1", "2"}) {
    Must(document("scheduled-" + std::string(id), "SCHEDULED"), Dialect::kElephant);
    Must(document("started-" + std::string(id), "IN_PROGRESS"), Dialect::kElephant);
    Must(document("done-" + std::string(id), "SUCCEEDED"), Dialect::kElephant);
  }
  EXPECT_EQ(log_.Snapshot("exec-1")->steps[0].logical_attempt, 2U);
  for (const char* id : {"scheduled-1", "scheduled-2"}) {
    EXPECT_TRUE(Must(document(id, "SCHEDULED"), Dialect::kElephant).idempotent);
  }
  EXPECT_TRUE(Must(document("done-1", "SUCCEEDED"), Dialect::kElephant).idempotent);
  EXPECT_EQ(log_.Snapshot("exec-1")->last_event_seq, 7U);
  EXPECT_TRUE(log_.Verify()->findings.empty());
}

TEST_F(EmbeddedLogTest, ReadingContinuesAfterAPage) {
  SmallRun("r");
  EventRequest request;
  request.run_id = "r";
  request.limit = 3;
  const auto first = log_.Read(request);
  EXPECT_EQ(first->events.size(), 3U);
  EXPECT_TRUE(first->more);
  request.after = first->next_after;
  const auto second = log_.Read(request);
  EXPECT_EQ(second->events.size(), 1U);
  EXPECT_FALSE(second->more);
}

TEST_F(EmbeddedLogTest, EventsAreFoundByTypeAndByEntity) {
  SmallRun("r");
  EventRequest request;
  request.run_id = "r";
  request.event_type = "StepCompleted";
  EXPECT_EQ(log_.Read(request)->events.size(), 1U);
  request.event_type = "";
  request.entity_kind = "step";
  request.entity_id = "a";
  EXPECT_EQ(log_.Read(request)->events.size(), 2U);
  request.entity_kind = "spoon";
  EXPECT_EQ(log_.Read(request).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(EmbeddedLogTest, EventsOfTheLastFiveMinutesAreFoundByPersistedAt) {
  SmallRun("old");
  clock_.Advance(std::chrono::minutes(10));
  SmallRun("new");
  const auto recent =
      log_.ReadSince(clock_.Now() - std::chrono::minutes(5), "default", Dialect::kNative, 100);
  ASSERT_EQ(recent->size(), 4U);
  for (const LogEvent& event : *recent) EXPECT_EQ(*RawMember(event.json, "runId"), "\"new\"");
  EXPECT_TRUE(log_.ReadSince(clock_.Now() - std::chrono::minutes(5), "other", Dialect::kNative, 100)
                  ->empty());
}

TEST_F(EmbeddedLogTest, RunsAreListedByStatusWithCursors) {
  for (int i = 0; i < 5; ++i) SmallRun("done-" + std::to_string(i));
  Must(Contract("going", "RunStarted"));
  RunFilter filter;
  filter.status = "COMPLETED";
  filter.limit = 2;
  std::vector<std::string> seen;
  do {
    const auto page = log_.Runs(filter);
    for (const RunSummary& run : page->runs) seen.push_back(run.run_id);
    filter.cursor = page->cursor;
  } while (!filter.cursor.empty());
  EXPECT_EQ(seen, (std::vector<std::string>{"done-4", "done-3", "done-2", "done-1", "done-0"}));
  EXPECT_EQ(log_.Health("default").runs_by_status[static_cast<int>(RunStatus::kRunning)], 1U);
  EXPECT_EQ(log_.Health("default").events, 21U);
}

TEST_F(EmbeddedLogTest, RetentionRemovesWholeRunsThatEndedLongAgo) {
  SmallRun("old");
  Must(Contract("going", "RunStarted"));
  clock_.Advance(std::chrono::hours(24 * 40));
  SmallRun("new");
  RetentionPolicy policy;
  policy.older_than = std::chrono::hours(24 * 30);
  EXPECT_EQ(*log_.ApplyRetention(policy), 1U);
  EXPECT_EQ(log_.Snapshot("old", {}).error().code, ErrorCode::kRunExpired);
  EXPECT_TRUE(log_.Snapshot("going", {}).has_value());
  EXPECT_EQ(log_.Append(Dialect::kContract, Contract("old", "RunStarted"), {}).error().code,
            ErrorCode::kRunExpired);
  clock_.Advance(std::chrono::hours(24 * 40));
  Must(Contract("other", "RunStarted"));
  ASSERT_TRUE(log_.ApplyRetention(policy).has_value());
  EXPECT_TRUE(log_.Append(Dialect::kContract, Contract("old", "RunStarted"), {}).has_value())
      << "the tombstone's window is over";
  EXPECT_TRUE(log_.Verify({})->findings.empty());
}

TEST_F(EmbeddedLogTest, ARemovedRunOfAnotherTenantLooksLikeOneThatNeverWas) {
  SmallRun("old");
  clock_.Advance(std::chrono::hours(24 * 40));
  RetentionPolicy policy;
  policy.older_than = std::chrono::hours(24 * 30);
  ASSERT_EQ(*log_.ApplyRetention(policy), 1U);
  const auto reader = log_.store().Read();
  EXPECT_EQ(RequireRun(*reader, RunId("old"), "default").error().code, ErrorCode::kRunExpired);
  const Error others = RequireRun(*reader, RunId("old"), "other").error();
  EXPECT_EQ(others.code, ErrorCode::kRunNotFound);
  EXPECT_EQ(others.message, "there is no run old");
  const auto append = [this](const std::string& tenant, const std::string& run) {
    AppendDefaults defaults;
    defaults.tenant_id = tenant;
    defaults.tenant_only = true;
    const auto appended =
        log_.Append(Dialect::kNative,
                    R"({"eventType":"StepStarted","stepId":"s","runId":")" + run + "\"}", defaults);
    return appended ? std::string() : ToString(appended.error());
  };
  EXPECT_NE(append("default", "old").find("RUN_EXPIRED"), std::string::npos);
  std::string missing = append("other", "never");
  ASSERT_NE(missing.find("never"), std::string::npos) << missing;
  EXPECT_EQ(append("other", "old"), missing.replace(missing.find("never"), 5, "old"));
}

TEST_F(EmbeddedLogTest, RetentionKeepsRunsThatASinkStillNeeds) {
  SmallRun("old");
  clock_.Advance(std::chrono::seconds(1));
  SmallRun("later");
  clock_.Advance(std::chrono::hours(24 * 40));
  RetentionPolicy policy;
  policy.older_than = std::chrono::hours(24 * 30);
  const SinkKey sink{"default", "hook"};
  const auto outbox = log_.store().Read()->ReadOutbox(Position(), 100);
  const auto later = std::ranges::find(*outbox, RunId("later"), &OutboxEntry::run_id);
  SinkMove move{.mark = {sink, Position(later->position.value() - 1)}, .died = {}, .gone = {}};
  move.died.push_back({RunId("old"), EventSeq(1), EventType::kRunStarted, {}, {}, 1, "no"});
  ASSERT_TRUE(log_.store().MoveSink(move));
  EXPECT_EQ(*log_.ApplyRetention(policy), 0U) << "one run has a dead letter, one is undelivered";
  move.gone = {{RunId("old"), EventSeq(1)}};
  move.died.clear();
  ASSERT_TRUE(log_.store().MoveSink(move));
  EXPECT_EQ(*log_.ApplyRetention(policy), 1U);
  move.mark.open = false;
  ASSERT_TRUE(log_.store().MoveSink(move));
  EXPECT_EQ(*log_.ApplyRetention(policy), 1U) << "nothing waits for a closed sink";
}

TEST_F(EmbeddedLogTest, RetentionKeepsRunsThatASinkStillNeedsIfTheClockWasAhead) {
  clock_.Advance(std::chrono::hours(24 * 50));
  SmallRun("ahead");
  clock_.JumpBack(std::chrono::hours(24 * 50));
  SmallRun("right");
  clock_.Advance(std::chrono::hours(24 * 40));
  RetentionPolicy policy;
  policy.older_than = std::chrono::hours(24 * 30);
  SinkMove move{.mark = {{"default", "hook"}, Position()}, .died = {}, .gone = {}};
  ASSERT_TRUE(log_.store().MoveSink(move));
  EXPECT_EQ(*log_.ApplyRetention(policy), 0U);
  move.mark.position = log_.store().LastPosition();
  ASSERT_TRUE(log_.store().MoveSink(move));
  EXPECT_EQ(*log_.ApplyRetention(policy), 1U) << "the run without future timestamps";
}

TEST_F(EmbeddedLogTest, ReadSinceIsCorrectIfTheClockWasAhead) {
  clock_.Advance(std::chrono::hours(3));
  SmallRun("ahead");
  clock_.JumpBack(std::chrono::hours(3));
  SmallRun("early");
  clock_.Advance(std::chrono::hours(1));
  const Timestamp since = clock_.Now();
  SmallRun("late");
  const auto events = log_.ReadSince(since, "", Dialect::kNative, 100);
  ASSERT_TRUE(events);
  const auto of = [&](std::string_view run) {
    return std::ranges::count_if(*events, [run](const LogEvent& event) {
      return event.json.find(run) != std::string::npos;
    });
  };
  EXPECT_GT(of("\"ahead\""), 0);
  EXPECT_EQ(of("\"early\""), 0);
  EXPECT_GT(of("\"late\""), 0);
}

TEST_F(EmbeddedLogTest, AHookIsFoundByItsToken) {
  Must(Contract("r", "RunStarted"));
  Must(R"({"runId":"r","eventType":"hook_created",)"
       R"("correlationId":"h1","eventData":{"token":"order-7"}})",
       Dialect::kDevkit);
  EXPECT_EQ(**log_.RunOfHook("default", "order-7"), "r");
  EXPECT_FALSE(log_.RunOfHook("other", "order-7")->has_value());
}

TEST_F(EmbeddedLogTest, DefaultsOfNewRunsAreChecked) {
  AppendDefaults defaults;
  defaults.tenant_id = "a|b";
  const auto refused = log_.Append(Dialect::kContract, Contract("r", "RunStarted"), defaults);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().faults[0].pointer, "/tenantId");
}

TEST_F(EmbeddedLogTest, SubscriptionReturnsPastAndThenNewEvents) {
  Must(Contract("r", "RunStarted"));
  const auto subscription = log_.Subscribe("r", 0, Dialect::kNative);
  EXPECT_EQ((*subscription)->Next(10, std::chrono::milliseconds(0))->size(), 1U);
  EXPECT_TRUE((*subscription)->Next(10, std::chrono::milliseconds(0))->empty());
  std::thread writer([&] { Must(Contract("r", "StepStarted", "a")); });
  const auto next = (*subscription)->Next(10, std::chrono::minutes(1));
  writer.join();
  ASSERT_EQ(next->size(), 1U);
  EXPECT_EQ(next->front().type, "StepStarted");
  EXPECT_EQ((*subscription)->position(), 2U);
}

TEST_F(EmbeddedLogTest, SubscriptionReportsItsLag) {
  SmallRun("r");
  for (const char* run : {"r", ""}) {
    const auto subscription = log_.Subscribe(run, 1, Dialect::kNative);
    EXPECT_EQ((*subscription)->Lag()->events, 3U);
    EXPECT_FALSE((*subscription)->Lag()->alert.has_value());
    clock_.Advance(std::chrono::seconds(6));
    EXPECT_EQ((*subscription)->Lag()->alert->code, "PROJECTOR_LAG_HIGH");
    ASSERT_EQ((*subscription)->Next(10, std::chrono::milliseconds(0))->size(), 3U);
    EXPECT_EQ((*subscription)->Lag()->events, 0U);
    clock_.JumpBack(std::chrono::seconds(6));
  }
}

TEST_F(EmbeddedLogTest, SubscriptionResumesAfterTheEventsSeen) {
  SmallRun("r");
  const auto subscription = log_.Subscribe("r", 2, Dialect::kNative);
  EXPECT_EQ((*subscription)->Next(10, std::chrono::milliseconds(0))->size(), 2U);
}

TEST_F(EmbeddedLogTest, SubscriptionToAllRunsFollowsTheCommitOrder) {
  SmallRun("a");
  SmallRun("b");
  const auto all = log_.Subscribe("", 0, Dialect::kNative);
  std::vector<std::string> runs;
  while (true) {
    const auto events = (*all)->Next(3, std::chrono::milliseconds(0));
    if (events->empty()) break;
    for (const LogEvent& event : *events) runs.emplace_back(*RawMember(event.json, "runId"));
  }
  const std::vector<std::string> expected = {"\"a\"", "\"a\"", "\"a\"", "\"a\"",
                                             "\"b\"", "\"b\"", "\"b\"", "\"b\""};
  EXPECT_EQ(runs, expected);
}

TEST_F(EmbeddedLogTest, SubscriptionEndsWhenItIsClosed) {
  Must(Contract("r", "RunStarted"));
  const auto subscription = log_.Subscribe("r", 1, Dialect::kNative);
  std::thread closer([&] { (*subscription)->Close(); });
  EXPECT_TRUE((*subscription)->Next(1, std::chrono::minutes(1))->empty());
  closer.join();
}

TEST_F(EmbeddedLogTest, SubscriptionMissesNothingUnderConcurrentAppends) {
  Must(Contract("r", "RunStarted"));
  constexpr int kSteps = 300;
  std::thread writer([&] {
    for (int i = 0; i < kSteps; ++i) Must(Contract("r", "StepStarted", "s" + std::to_string(i)));
  });
  const auto subscription = log_.Subscribe("r", 0, Dialect::kNative);
  std::uint64_t expected = 1;
  while (expected <= kSteps + 1) {
    const auto events = (*subscription)->Next(50, std::chrono::minutes(1));
    ASSERT_TRUE(events.has_value());
    for (const LogEvent& event : *events) EXPECT_EQ(event.run_seq, expected++);
  }
  writer.join();
}

class EmbeddedLogOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "embedded_log_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::unique_ptr<Log> Open(const std::string& name) {
    LogOptions options;
    options.directory = directory_ + "/" + name;
    auto log = Log::Open(options);
    EXPECT_TRUE(log.has_value()) << (log ? "" : ToString(log.error()));
    return log ? std::move(*log) : nullptr;
  }

  std::string directory_;
};

TEST_F(EmbeddedLogOnDisk, KeepsItsRunsWhenReopened) {
  {
    const auto log = Open("log");
    ASSERT_TRUE(log->Append(Dialect::kContract, Contract("r", "RunStarted")).has_value());
    ASSERT_TRUE(log->Append(Dialect::kContract, Contract("r", "StepStarted", "a")).has_value());
  }
  const auto log = Open("log");
  EXPECT_TRUE(log->Append(Dialect::kContract, Contract("r", "StepStarted", "a"))->idempotent);
  EXPECT_EQ(log->Append(Dialect::kContract, Contract("r", "StepCompleted", "a"))->run_seq, 3U);
  EXPECT_TRUE(log->Verify()->findings.empty());
}

TEST_F(EmbeddedLogOnDisk, ABackupRestoresToTheSameLog) {
  const auto log = Open("log");
  ASSERT_TRUE(log->Append(Dialect::kContract, Contract("r", "RunStarted")).has_value());
  ASSERT_TRUE(log->Backup(directory_ + "/backup").has_value());
  ASSERT_TRUE(log->Append(Dialect::kContract, Contract("r", "StepStarted", "a")).has_value());
  ASSERT_TRUE(RestoreLog(directory_ + "/backup", directory_ + "/restored").has_value());
  const auto restored = Open("restored");
  EXPECT_EQ(restored->Snapshot("r")->last_event_seq, 1U);
  EXPECT_TRUE(restored->Verify()->findings.empty());
  EXPECT_EQ(RestoreLog(directory_ + "/backup", directory_ + "/restored").error().code,
            ErrorCode::kStoreExists);
  EXPECT_EQ(RestoreLog(directory_ + "/nowhere", directory_ + "/x").error().code,
            ErrorCode::kStoreNotFound);
}

TEST_F(EmbeddedLogOnDisk, ReadOnlyLogsSeeWhatTheOwnerAppends) {
  const auto owner = Open("log");
  ASSERT_TRUE(owner->Append(Dialect::kContract, Contract("r", "RunStarted")).has_value());
  LogOptions options;
  options.directory = directory_ + "/log";
  EXPECT_EQ(Log::Open(options).error().code, ErrorCode::kStoreLocked);
  options.read_only = true;
  const auto reader = Log::Open(options);
  ASSERT_TRUE(reader.has_value()) << ToString(reader.error());
  EXPECT_EQ((*reader)->Snapshot("r")->last_event_seq, 1U);
  ASSERT_TRUE(owner->Append(Dialect::kContract, Contract("r", "StepStarted", "a")).has_value());
  ASSERT_TRUE((*reader)->Refresh().has_value());
  EXPECT_EQ((*reader)->Snapshot("r")->last_event_seq, 2U);
  EXPECT_EQ((*reader)->Append(Dialect::kContract, Contract("x", "RunStarted")).error().code,
            ErrorCode::kStoreReadOnly);
}

}  // namespace
}  // namespace everstep
