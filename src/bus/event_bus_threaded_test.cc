#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/json.h"
#include "bus/event_bus.h"
#include "testing/forwarding_store.h"
#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A store whose sink removals fail, or block until released, and that can refuse definitions of
// sinks and the removal of dead letters.
class StubbornStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override {
    const bool defines = std::ranges::any_of(documents, [](const TenantDocument* document) {
      return document->key.kind == DocumentKind::kSink;
    });
    if (is_full && defines) return Error{ErrorCode::kStoreFull, "no space", {}};
    return ForwardingStore::Commit(changes, documents);
  }
  Status MoveSink(const SinkMove& move) override {
    if (is_full && (move.definition || !move.gone.empty())) {
      return Error{ErrorCode::kStoreFull, "no space", {}};
    }
    return ForwardingStore::MoveSink(move);
  }
  Status RemoveSink(const SinkKey& key) override {
    waiting = true;
    while (held) std::this_thread::yield();
    if (fails) return Error{ErrorCode::kStoreIo, "no", {}};
    return ForwardingStore::RemoveSink(key);
  }

  std::atomic<bool> waiting = false;
  std::atomic<bool> held = false;
  std::atomic<bool> fails = false;
  std::atomic<bool> is_full = false;
};

class EventBusThreadedTest : public testing::Test {
 protected:
  EventBusThreadedTest() { Open(); }

  void Open(std::vector<SinkDefinition> server_sinks = {}) {
    bus_.reset();
    EventBusOptions options;
    options.directory = directory_ / "sinks";
    options.sinks_max = sinks_max_;
    options.tenant_share = tenant_share_;
    options.server_sinks = std::move(server_sinks);
    auto bus = EventBus::Open({.log = log_,
                               .artifacts = artifacts_,
                               .secrets = std::make_shared<const Secrets>(),
                               .clock = clock_,
                               .random = SystemRandom(),
                               .on_alert =
                                   [this](const Alert& alert) {
                                     const std::lock_guard lock(alerts_mutex_);
                                     alerts_.push_back(alert);
                                   }},
                              std::move(options));
    ASSERT_TRUE(bus) << ToString(bus.error());
    bus_ = *std::move(bus);
  }
  void Append(const std::string& run, const std::string& type, const std::string& tenant) {
    AppendDefaults defaults;
    defaults.tenant_id = tenant;
    const auto appended = log_.Append(
        Dialect::kNative, R"({"eventType":")" + type + R"(","runId":")" + run + "\"}", defaults);
    ASSERT_TRUE(appended) << ToString(appended.error());
  }
  // Polls the bus until its thread has caught up.
  void WaitUntilIdle(const EventBus::Caller& caller) {
    const auto behind = [&] {
      for (const SinkView& sink : bus_->List(caller)) {
        if (sink.state == "ACTIVE" && sink.lag > 0) return true;
      }
      return false;
    };
    while (behind()) std::this_thread::yield();
  }
  std::vector<std::string> Lines(const std::string& sink) {
    std::ifstream file(directory_ / ("sinks/" + sink + "/events.ndjson"));
    std::vector<std::string> names;
    for (std::string line; std::getline(file, line);) {
      const std::string run(RawMember(line, "runId").value_or("\"?\""));
      names.push_back(run.substr(1, run.size() - 2) + ":" +
                      std::string(RawMember(line, "runSeq").value_or("?")));
    }
    return names;
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
  SeededRandom random_{3};
  StubbornStore* store_ = new StubbornStore(OpenMemoryStore());
  EmbeddedLog log_{std::unique_ptr<StateStore>(store_), clock_, SystemRandom(), {}};
  ArtifactStore artifacts_{directory_ / "artifacts"};
  std::mutex alerts_mutex_;
  std::vector<Alert> alerts_;
  std::unique_ptr<EventBus> bus_;
  std::uint32_t sinks_max_ = 3;
  std::uint32_t tenant_share_ = 100;
  const EventBus::Caller acme_{"acme", false};
  const EventBus::Caller other_{"other", false};
  const EventBus::Caller operator_{"acme", true};
};

TEST_F(EventBusThreadedTest, ASinkStartsFromNowOrFromTheBeginning) {
  Append("a", "RunStarted", "acme");
  ASSERT_TRUE(bus_->Put(acme_, "all", "---\n{kind: file, from: beginning}"));
  ASSERT_TRUE(bus_->Put(acme_, "new", "---\n{kind: file}"));
  Append("b", "RunStarted", "acme");
  Append("c", "RunStarted", "other");
  WaitUntilIdle(acme_);
  EXPECT_THAT(Lines("acme/all"), ElementsAre("a:1", "b:1"));
  EXPECT_THAT(Lines("acme/new"), ElementsAre("b:1"));
}

TEST_F(EventBusThreadedTest, ASinkContinuesAfterARestartAPauseOrAChange) {
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
  Append("a", "RunStarted", "acme");
  WaitUntilIdle(acme_);
  Open();
  Append("a", "RunCompleted", "acme");
  WaitUntilIdle(acme_);
  ASSERT_TRUE(bus_->SetPaused(acme_, "s", true));
  Append("b", "RunStarted", "acme");
  Open();
  EXPECT_EQ(bus_->Get(acme_, "s")->state, "PAUSED");
  EXPECT_THAT(Lines("acme/s"), ElementsAre("a:1", "a:2"));
  ASSERT_TRUE(bus_->SetPaused(acme_, "s", false));
  WaitUntilIdle(acme_);
  const auto put = bus_->Put(acme_, "s", "---\n{kind: file, filter: {types: [RunStarted]}}");
  EXPECT_TRUE(put && put->existing);
  Append("b", "RunCompleted", "acme");
  Append("c", "RunStarted", "acme");
  WaitUntilIdle(acme_);
  EXPECT_THAT(Lines("acme/s"), ElementsAre("a:1", "a:2", "b:1", "c:1"));
}

TEST_F(EventBusThreadedTest, TenantsSeeTheirOwnSinksAndOperatorsThoseOfTheServer) {
  SinkDefinition own;
  own.sink_id = "audit";
  own.kind = "file";
  own.from = "beginning";
  Open({own});
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
  Append("a", "RunStarted", "acme");
  Append("b", "RunStarted", "other");
  WaitUntilIdle(operator_);
  EXPECT_THAT(Lines("_server/audit"), ElementsAre("a:1", "b:1"));
  EXPECT_THAT(Lines("acme/s"), ElementsAre("a:1"));
  EXPECT_EQ(bus_->List(acme_).size(), 1U);
  EXPECT_EQ(bus_->List(operator_).size(), 2U);
  EXPECT_THAT(bus_->List(other_), IsEmpty());
  EXPECT_EQ(bus_->Get(other_, "s").error().code, ErrorCode::kSinkNotFound);
  EXPECT_EQ(bus_->Get(acme_, "audit").error().code, ErrorCode::kSinkNotFound);
  EXPECT_EQ(bus_->Remove(operator_, "audit").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(EventBusThreadedTest, ARemovedSinkLeavesNothingAndTheNumberIsLimited) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(bus_->Put(acme_, name, "---\n{kind: file}"));
  EXPECT_EQ(bus_->Put(acme_, "d", "---\n{kind: file}").error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(bus_->Remove(acme_, "b"));
  EXPECT_EQ(log_.store().Read()->ListSinks()->size(), 2U);
  Open();
  EXPECT_EQ(bus_->List(acme_).size(), 2U);
  EXPECT_TRUE(bus_->Put(acme_, "d", "---\n{kind: file}"));
}

TEST_F(EventBusThreadedTest, ATenantTakesItsShareOfTheSinksAndTheOperatorHasAReserve) {
  sinks_max_ = 10;
  tenant_share_ = 50;
  Open();
  const auto fill = [this](const EventBus::Caller& caller) {
    int made = 0;
    while (bus_->Put(caller, "s" + std::to_string(made), "---\n{kind: file}")) ++made;
    return made;
  };
  EXPECT_EQ(fill(acme_), 5);
  EXPECT_EQ(fill(other_), 4);
  EXPECT_EQ(fill({"third", false}), 0);
  EXPECT_TRUE(bus_->Put(operator_, "of-the-operator", "---\n{kind: file}"));
  EXPECT_FALSE(bus_->Put(operator_, "too-many", "---\n{kind: file}"));
  // Changing a sink does not count as a new one.
  EXPECT_TRUE(bus_->Put(acme_, "s0", "---\n{kind: file, from: beginning}"));
}

TEST_F(EventBusThreadedTest, ASinkStaysWhenItsRemovalCannotBeWritten) {
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
  Append("a", "RunStarted", "acme");
  WaitUntilIdle(acme_);
  store_->fails = true;
  EXPECT_EQ(bus_->Remove(acme_, "s").error().code, ErrorCode::kStoreIo);
  ASSERT_TRUE(bus_->Get(acme_, "s"));
  // It continues as if the removal had not been requested.
  Append("a", "RunCompleted", "acme");
  WaitUntilIdle(acme_);
  EXPECT_THAT(Lines("acme/s"), ElementsAre("a:1", "a:2"));
}

TEST_F(EventBusThreadedTest, AChangeThatCannotBeWrittenChangesNothing) {
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
  store_->is_full = true;
  EXPECT_EQ(bus_->Put(acme_, "new", "---\n{kind: file}").error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(bus_->Put(acme_, "s", "---\n{kind: file, filter: {types: [StepStarted]}}").error().code,
            ErrorCode::kStoreFull);
  EXPECT_EQ(bus_->SetPaused(acme_, "s", true).error().code, ErrorCode::kStoreFull);
  for (const bool reopened : {false, true}) {
    if (reopened) Open();
    EXPECT_EQ(bus_->Get(acme_, "new").error().code, ErrorCode::kSinkNotFound) << reopened;
    ASSERT_TRUE(bus_->Get(acme_, "s")) << reopened;
    EXPECT_EQ(bus_->Get(acme_, "s")->state, "ACTIVE") << reopened;
  }
  Append("a", "RunStarted", "acme");
  WaitUntilIdle(acme_);
  EXPECT_THAT(Lines("acme/s"), ElementsAre("a:1"));
  store_->is_full = false;
  EXPECT_TRUE(bus_->Put(acme_, "new", "---\n{kind: file}"));
  EXPECT_TRUE(bus_->SetPaused(acme_, "s", true));
  Open();
  EXPECT_EQ(bus_->Get(acme_, "new")->state, "ACTIVE");
  EXPECT_EQ(bus_->Get(acme_, "s")->state, "PAUSED");
}

TEST_F(EventBusThreadedTest, DeadLettersStayIfTheirRemovalCannotBeWritten) {
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file, filter: {when: event.payload.n / 0 > 1}}"));
  Append("a", "RunStarted", "acme");
  WaitUntilIdle(acme_);
  store_->is_full = true;
  EXPECT_EQ(bus_->PurgeLetters(acme_, "s", {}, false).error().code, ErrorCode::kStoreFull);
  store_->is_full = false;
  Append("a", "RunCompleted", "acme");
  WaitUntilIdle(acme_);
  EXPECT_EQ(bus_->Get(acme_, "s")->progress.dead_letters, 2U) << "none goes with a later write";
  EXPECT_EQ(*bus_->PurgeLetters(acme_, "s", {{"a:2"}, "", "", ""}, false), 1U);
  ASSERT_TRUE(bus_->SetPaused(acme_, "s", true));
  ASSERT_EQ(bus_->Get(acme_, "s")->progress.dead_letters, 1U);
  store_->is_full = true;
  EXPECT_EQ(bus_->PurgeLetters(acme_, "s", {}, false).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(bus_->Get(acme_, "s")->progress.dead_letters, 1U);
  store_->is_full = false;
  EXPECT_EQ(*bus_->PurgeLetters(acme_, "s", {}, false), 1U);
  EXPECT_EQ(bus_->Get(acme_, "s")->progress.dead_letters, 0U);
}

TEST_F(EventBusThreadedTest, ASinkWhoseDefinitionIsDamagedIsReportedAndCanBePutAgain) {
  for (const std::optional<std::string>& damage :
       {std::optional<std::string>("{\"definition\":{\"kind"), std::optional<std::string>("{}"),
        std::optional<std::string>()}) {
    ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
    Append("a", "RunStarted", "acme");
    WaitUntilIdle(acme_);
    bus_.reset();
    const std::size_t sinks = log_.store().Read()->ListSinks()->size();
    ASSERT_TRUE(log_.committer().Put({{SinkDocumentKey({"acme", "s"}), damage}}));
    Open();
    EXPECT_EQ(log_.store().Read()->ListSinks()->size(), sinks) << "its position must stay";
    const auto view = bus_->Get(acme_, "s");
    ASSERT_TRUE(view);
    EXPECT_EQ(view->state, "FAILING");
    EXPECT_THAT(view->progress.last_failure, testing::HasSubstr("put it again"));
    ASSERT_FALSE(alerts_.empty());
    EXPECT_EQ(alerts_.back().code, "STORE_CORRUPT");
    EXPECT_EQ(alerts_.back().tenant_id, "acme");
    EXPECT_EQ(bus_->SetPaused(acme_, "s", true).error().code, ErrorCode::kStoreCorrupt);
  }
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
  EXPECT_EQ(bus_->Get(acme_, "s")->state, "ACTIVE");
  EXPECT_TRUE(bus_->Remove(acme_, "s"));
  EXPECT_TRUE(log_.store().Read()->ListSinks()->empty());
}

TEST_F(EventBusThreadedTest, TheBusAnswersWhileAChangeWaitsForTheDisk) {
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
  ASSERT_TRUE(bus_->Put(other_, "s", "---\n{kind: file}"));
  store_->held = true;
  std::thread remover([this] { EXPECT_TRUE(bus_->Remove(acme_, "s")); });
  while (!store_->waiting) std::this_thread::yield();
  EXPECT_TRUE(bus_->Get(acme_, "s"));
  EXPECT_TRUE(bus_->Get(other_, "s"));
  EXPECT_EQ(bus_->List({.tenant_id = "", .server = true}).size(), 2U);
  store_->held = false;
  remover.join();
  EXPECT_EQ(bus_->Get(acme_, "s").error().code, ErrorCode::kSinkNotFound);
}

TEST_F(EventBusThreadedTest, DeadLettersCanBeListedReplayedAndPurged) {
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file, filter: {when: event.payload.n / 0 > 1}}"));
  Append("a", "RunStarted", "acme");
  Append("a", "RunCompleted", "acme");
  Append("b", "RunStarted", "acme");
  WaitUntilIdle(acme_);
  const auto page = bus_->Letters(acme_, "s", {}, "", 2);
  ASSERT_TRUE(page) << ToString(page.error());
  ASSERT_EQ(page->letters.size(), 2U);
  EXPECT_EQ(LetterId(page->letters[0]), "a:1");
  EXPECT_EQ(page->cursor, "a:2");
  EXPECT_EQ(bus_->Letters(acme_, "s", {}, page->cursor, 2)->letters.size(), 1U);
  EXPECT_EQ(bus_->Letters(acme_, "s", {{}, "", "RunCompleted", ""}, "", 9)->letters.size(), 1U);
  EXPECT_THAT(bus_->Letter(acme_, "s", "a:1")->fault, testing::HasSubstr("filter"));
  EXPECT_EQ(bus_->Letter(acme_, "s", "a:9").error().code, ErrorCode::kDeadLetterNotFound);
  EXPECT_EQ(*bus_->ReplayLetters(acme_, "s", {}, 0, true), 3U);
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
  EXPECT_EQ(*bus_->PurgeLetters(acme_, "s", {{"b:1"}, "", "", ""}, false), 1U);
  // Replaying one letter includes the others of its run.
  EXPECT_EQ(*bus_->ReplayLetters(acme_, "s", {{"a:2"}, "", "", ""}, 0, false), 2U);
  while (bus_->Get(acme_, "s")->progress.dead_letters > 0) std::this_thread::yield();
  EXPECT_THAT(Lines("acme/s"), ElementsAre("a:1", "a:2"));
}

TEST_F(EventBusThreadedTest, ASinkKeepsUpWithManyWriters) {
  ASSERT_TRUE(bus_->Put(acme_, "s", "---\n{kind: file}"));
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([this, writer] {
      for (int run = 0; run < 40; ++run) {
        const std::string id = std::to_string(writer) + "-" + std::to_string(run);
        Append(id, "RunStarted", "acme");
        Append(id, "RunCompleted", "acme");
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  WaitUntilIdle(acme_);
  std::map<std::string, std::string> last;
  const std::vector<std::string> lines = Lines("acme/s");
  EXPECT_EQ(lines.size(), 240U);
  for (const std::string& line : lines) {
    const std::string run = line.substr(0, line.rfind(':'));
    EXPECT_EQ(line.substr(line.rfind(':')), last[run].empty() ? ":1" : ":2");
    last[run] = line;
  }
}

}  // namespace
}  // namespace everstep
