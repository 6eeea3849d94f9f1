#include "bus/sink_pump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/embedded_log.h"
#include "testing/forwarding_store.h"
#include "testing/manual_clock.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Answers when the test asks for it.
class ScriptedSink final : public Sink {
 public:
  bool takes_whole_batches() const override { return whole; }
  void Deliver(std::vector<Message> batch, Done done) override {
    under_way.push_back({std::move(batch), std::move(done)});
  }
  struct Order {
    std::vector<Message> batch;
    Done done;
  };
  std::deque<Order> under_way;
  bool whole = true;
};

// A store that can refuse what a sink writes for lack of space.
class FullStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Status MoveSink(const SinkMove& move) override {
    if (is_full) return Error{ErrorCode::kStoreFull, "no space", {}};
    return ForwardingStore::MoveSink(move);
  }

  bool is_full = false;
};

class SinkPumpTest : public testing::Test {
 protected:
  static SinkDefinition Definition() {
    SinkDefinition sink;
    sink.sink_id = "hook";
    sink.kind = "webhook";
    sink.delivery.attempts = 2;
    sink.delivery.backoff_initial = milliseconds(10);
    sink.delivery.batch = 10;
    return sink;
  }
  void Open(const SinkDefinition& definition) {
    pump_.reset();
    sink_ = ScriptedSink();
    const auto kept = log_.store().Read()->FindSink(key_);
    const SinkMark mark = *kept ? **kept : SinkMark{key_, Position()};
    pump_.emplace(
        SinkPump::Parts{.store = log_.store(),
                        .committer = log_.committer(),
                        .clock = clock_,
                        .random = random_,
                        .sink = sink_,
                        .keep_payload =
                            [this](const std::string&, std::string_view payload) {
                              kept_.emplace_back(payload);
                              return Result<std::string>(R"({"$artifact":{"n":1}})");
                            },
                        .on_alert = [this](const Alert& alert) { alerts_.push_back(alert); },
                        .wake = [] {}},
        mark, definition);
  }
  void Append(const std::string& run, const std::string& type, const std::string& step = "",
              const std::string& payload = "") {
    const std::string event = R"({"eventType":")" + type + R"(","runId":")" + run + "\"" +
                              (step.empty() ? "" : R"(,"stepId":")" + step + "\"") +
                              (payload.empty() ? "" : R"(,"payload":)" + payload) + "}";
    const auto appended = log_.Append(Dialect::kNative, event, {});
    ASSERT_TRUE(appended) << ToString(appended.error());
  }
  SinkPump::Next Turn(milliseconds later = milliseconds(0)) {
    now_ += later;
    return pump_->Turn(now_);
  }
  // "run:seq" of each message.
  static std::vector<std::string> Names(const ScriptedSink::Order& order) {
    std::vector<std::string> names;
    for (const Message& message : order.batch) {
      const std::string run(RawMember(message.body, "runId").value_or("\"?\""));
      names.push_back(run.substr(1, run.size() - 2) + ":" +
                      std::string(RawMember(message.body, "runSeq").value_or("?")));
    }
    return names;
  }
  void Answer(Verdict verdict) {
    ASSERT_FALSE(sink_.under_way.empty());
    const ScriptedSink::Order order = std::move(sink_.under_way.front());
    sink_.under_way.pop_front();
    if (verdict == Verdict::kDelivered) {
      for (const std::string& name : Names(order)) received_.push_back(name);
    }
    order.done(std::vector<Outcome>(order.batch.size(), {verdict, "no"}));
  }
  // Turns until the sink has nothing left to do; `fate` decides the outcome of each batch.
  template <typename F>
  void Run(F fate) {
    for (int i = 0; i < 400; ++i) {
      const SinkPump::Next next = Turn();
      if (!sink_.under_way.empty()) {
        Answer(fate(Names(sink_.under_way.front())));
        continue;
      }
      if (!next.at) return;
      now_ = std::max(now_, *next.at);
    }
    FAIL() << "the pump never becomes idle";
  }
  void RunWell() {
    Run([](const auto&) { return Verdict::kDelivered; });
  }
  std::vector<std::string> Letters() {
    std::vector<std::string> names;
    const auto letters = log_.store().Read()->ListDeadLetters({.sink = key_});
    for (const DeadLetter& letter : *letters) {
      names.push_back(letter.run_id.value() + ":" + std::to_string(letter.seq.value()) + "/" +
                      std::to_string(letter.attempts));
    }
    return names;
  }
  std::vector<std::pair<RunId, EventSeq>> Places() {
    std::vector<std::pair<RunId, EventSeq>> places;
    const auto letters = log_.store().Read()->ListDeadLetters({.sink = key_});
    for (const DeadLetter& letter : *letters) {
      places.emplace_back(letter.run_id, letter.seq);
    }
    return places;
  }
  SinkMark Mark() { return **log_.store().Read()->FindSink(key_); }

  ManualClock clock_;
  SeededRandom random_{7};
  FullStore* store_ = new FullStore(OpenMemoryStore());
  EmbeddedLog log_{std::unique_ptr<StateStore>(store_), clock_, random_, {}};
  const SinkKey key_{"default", "hook"};
  ScriptedSink sink_;
  std::vector<Alert> alerts_;
  std::vector<std::string> kept_;
  std::vector<std::string> received_;
  SinkPump::Moment now_{std::chrono::hours(1)};
  std::optional<SinkPump> pump_;
};

TEST_F(SinkPumpTest, EventsAreDeliveredAndThePositionIsSaved) {
  Append("a", "RunStarted");
  Append("b", "RunStarted");
  Open(Definition());
  RunWell();
  EXPECT_THAT(received_, ElementsAre("a:1", "b:1"));
  EXPECT_EQ(Mark().position, log_.store().LastPosition());
  Append("a", "RunCompleted");
  RunWell();
  EXPECT_THAT(received_, ElementsAre("a:1", "b:1", "a:2"));
}

TEST_F(SinkPumpTest, AfterACrashOnlyUnsavedDeliveriesAreRepeated) {
  Append("a", "RunStarted");
  Open(Definition());
  RunWell();
  Append("a", "StepStarted", "s");
  Turn();
  Answer(Verdict::kDelivered);
  Append("b", "RunStarted");
  Open(Definition());  // the delivery was never saved
  RunWell();
  EXPECT_THAT(received_, ElementsAre("a:1", "a:2", "a:2", "b:1"));
}

TEST_F(SinkPumpTest, ThePositionIsNotSavedForEveryBatch) {
  Open(Definition());
  Append("a", "RunStarted");
  Turn();
  Answer(Verdict::kDelivered);
  const Position before = log_.store().LastPosition();
  Turn();
  EXPECT_FALSE(*log_.store().Read()->FindSink(key_));
  Turn(SinkPump::kSaveEvery);
  EXPECT_EQ(Mark().position, before);
}

TEST_F(SinkPumpTest, ADeadLetterIsSavedBeforeThePositionPassesItAndRaisesAnAlert) {
  Open(Definition());
  Append("bad", "RunStarted");
  Append("good", "RunStarted");
  Append("bad", "RunCompleted");
  const auto fate = [](const std::vector<std::string>& names) {
    return std::ranges::count(names, "bad:1") > 0 ? Verdict::kRefused : Verdict::kDelivered;
  };
  Run(fate);
  EXPECT_THAT(received_, ElementsAre("good:1"));
  EXPECT_THAT(Letters(), ElementsAre("bad:1/2", "bad:2/0"));
  EXPECT_EQ(Mark().position, log_.store().LastPosition());
  ASSERT_EQ(alerts_.size(), 1U);
  EXPECT_EQ(alerts_[0].code, "EVENT_BUS_DELIVERY_FAILED");
  EXPECT_EQ(alerts_[0].severity, "P1");
  EXPECT_EQ(alerts_[0].run_id, "bad");
  // Later events of the run are held, also after a restart.
  Open(Definition());
  Append("other", "RunStarted");
  RunWell();
  EXPECT_THAT(received_, ElementsAre("good:1", "other:1"));
}

TEST_F(SinkPumpTest, LaterEventsAreHeldAndAReplaySendsAllInOrder) {
  Open(Definition());
  Append("bad", "RunStarted");
  const auto refuse = [](const std::vector<std::string>&) { return Verdict::kRefused; };
  Run(refuse);
  Append("bad", "StepStarted", "s");
  RunWell();
  EXPECT_THAT(Letters(), ElementsAre("bad:1/2", "bad:2/0"));
  EXPECT_THAT(received_, IsEmpty());
  ASSERT_TRUE(pump_->Begin({Places(), 0}));
  EXPECT_FALSE(pump_->Begin({Places(), 0})) << "a replay is in progress";
  Turn();
  Append("bad", "StepCompleted", "s");  // while its run is being replayed
  RunWell();
  EXPECT_THAT(received_, ElementsAre("bad:1", "bad:2", "bad:3"));
  EXPECT_THAT(Letters(), IsEmpty());
  EXPECT_EQ(Mark().dead_letters, 0U);
  Append("bad", "RunCompleted");
  RunWell();
  EXPECT_EQ(received_.back(), "bad:4");
}

TEST_F(SinkPumpTest, AReplayThatFailsLeavesTheLettersInOrder) {
  Open(Definition());
  Append("bad", "RunStarted");
  Append("bad", "RunCompleted");
  const auto refuse = [](const std::vector<std::string>&) { return Verdict::kRefused; };
  Run(refuse);
  ASSERT_TRUE(pump_->Begin({Places(), 0}));
  Run(refuse);
  EXPECT_THAT(Letters(), ElementsAre("bad:1/3", "bad:2/0"));
  EXPECT_EQ(alerts_.size(), 2U);
  ASSERT_TRUE(pump_->Begin({Places(), 0}));
  RunWell();
  EXPECT_THAT(received_, ElementsAre("bad:1", "bad:2"));
}

TEST_F(SinkPumpTest, AReplayKeepsToItsRate) {
  SinkDefinition definition = Definition();
  definition.delivery.later_events = "pass";
  definition.delivery.attempts = 1;
  definition.delivery.batch = 1;
  Open(definition);
  for (const char* run : {"a", "b", "c"}) Append(run, "RunStarted");
  Run([](const std::vector<std::string>&) { return Verdict::kRefused; });
  ASSERT_EQ(Letters().size(), 3U);
  ASSERT_TRUE(pump_->Begin({Places(), 10}));
  const auto begun = now_;
  RunWell();
  EXPECT_EQ(received_.size(), 3U);
  EXPECT_GE(now_ - begun, milliseconds(200));
}

TEST_F(SinkPumpTest, PurgedLettersAreGone) {
  Open(Definition());
  Append("bad", "RunStarted");
  Append("bad", "StepStarted", "s");
  Run([](const std::vector<std::string>&) { return Verdict::kRefused; });
  ASSERT_TRUE(pump_->Purge(Places()));
  EXPECT_THAT(Letters(), IsEmpty());
  Append("bad", "RunCompleted");
  RunWell();
  EXPECT_THAT(received_, ElementsAre("bad:3"));
}

TEST_F(SinkPumpTest, LettersThatCannotBeWrittenAreNeitherCountedNorLost) {
  Open(Definition());
  Append("bad", "RunStarted");
  store_->is_full = true;
  for (int i = 0; i < 30; ++i) {
    Turn(milliseconds(100));
    while (!sink_.under_way.empty()) Answer(Verdict::kRefused);
  }
  EXPECT_THAT(Letters(), IsEmpty());
  EXPECT_EQ(pump_->progress().dead_letters, 0U);
  EXPECT_TRUE(pump_->progress().failing);
  EXPECT_TRUE(alerts_.empty());
  store_->is_full = false;
  Run([](const std::vector<std::string>&) { return Verdict::kRefused; });
  EXPECT_THAT(Letters(), ElementsAre("bad:1/2"));
  EXPECT_EQ(alerts_.size(), 1U);
}

TEST_F(SinkPumpTest, LettersWhosePurgeCannotBeWrittenStay) {
  Open(Definition());
  Append("bad", "RunStarted");
  Run([](const std::vector<std::string>&) { return Verdict::kRefused; });
  store_->is_full = true;
  EXPECT_EQ(pump_->Purge(Places()).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(pump_->progress().dead_letters, 1U);
  store_->is_full = false;
  Append("good", "RunStarted");
  RunWell();
  EXPECT_THAT(received_, ElementsAre("good:1"));
  EXPECT_THAT(Letters(), ElementsAre("bad:1/2")) << "they did not go with the next write";
  ASSERT_TRUE(pump_->Purge(Places()));
  EXPECT_EQ(pump_->progress().dead_letters, 0U);
}

TEST_F(SinkPumpTest, TheDefinitionControlsFilterRedactionAndPayloadSize) {
  SinkDefinition definition = Definition();
  definition.filter.entities = {"step"};
  definition.filter.when = "event.payload.result.kind != 'dull'";
  definition.redact = {"/payload/result/card"};
  definition.payload_bytes = 1'000;
  Open(definition);
  Append("a", "RunStarted");
  Append("a", "StepStarted", "s");
  Append("a", "StepCompleted", "s", R"({"result":{"kind":"fine","card":"4711"}})");
  Append("a", "StepStarted", "t");
  Append("a", "StepCompleted", "t", R"({"result":{"kind":"dull"}})");
  Append("a", "StepStarted", "u");
  Append("a", "StepCompleted", "u",
         R"({"result":{"kind":"big","card":"4711","text":")" + std::string(2'000, 'x') + "\"}}");
  Turn();
  ASSERT_EQ(sink_.under_way.size(), 1U);
  EXPECT_THAT(Names(sink_.under_way.front()), ElementsAre("a:2", "a:3", "a:4", "a:6", "a:7"));
  const std::vector<Message>& batch = sink_.under_way.front().batch;
  EXPECT_EQ(RawMember(batch[1].body, "payload"),
            R"({"result":{"kind":"fine","card":"[redacted]"}})");
  EXPECT_EQ(RawMember(batch[4].body, "payload"), R"({"$artifact":{"n":1}})");
  ASSERT_EQ(kept_.size(), 1U);
  EXPECT_EQ(kept_[0].find("4711"), std::string::npos);
}

TEST_F(SinkPumpTest, AFilterThatFailsMakesADeadLetter) {
  SinkDefinition definition = Definition();
  definition.filter.when = "event.payload.n / 0 > 1";
  Open(definition);
  Append("a", "RunStarted", "", "");
  RunWell();
  EXPECT_THAT(received_, IsEmpty());
  EXPECT_THAT(Letters(), ElementsAre("a:1/1"));
}

TEST_F(SinkPumpTest, AReceiverThatIsGoneClosesTheSink) {
  Open(Definition());
  Append("a", "RunStarted");
  Run([](const std::vector<std::string>&) { return Verdict::kGone; });
  EXPECT_FALSE(Mark().open);
  EXPECT_EQ(Mark().position, Position(0)) << "it is still undelivered";
  ASSERT_EQ(alerts_.size(), 1U);
  EXPECT_EQ(alerts_[0].code, "SINK_DISABLED");
}

TEST_F(SinkPumpTest, RemovedRunsDoNotHoldThePosition) {
  Append("a", "RunStarted");
  Append("a", "RunCompleted");
  Append("b", "RunStarted");
  Append("b", "RunCompleted");
  clock_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(log_.ApplyRetention({}));
  Open(Definition());
  RunWell();
  EXPECT_THAT(received_, IsEmpty());
  EXPECT_EQ(Mark().position, log_.store().LastPosition());
}

}  // namespace
}  // namespace everstep
