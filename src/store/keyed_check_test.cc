// Check must find each kind of inconsistency, so each is planted once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "event/event_record.h"
#include "store/keyed_store.h"
#include "store/memory_key_value.h"
#include "store/row_keys.h"
#include "store/row_values.h"
#include "testing/store_workbench.h"

namespace everstep {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using enum EventType;

class StoreCheckTest : public testing::Test {
 protected:
  StoreCheckTest() : bench_(OpenOwned()) {
    RunScribe& run = bench_.StartedRun("run-1");
    for (const char* step : {"a", "b", "a"}) {
      if (run.entities().contains({EntityKind::kStep, step})) {
        EXPECT_TRUE(bench_.Append(run, kStepCompleted, step));
      } else {
        EXPECT_TRUE(bench_.Append(run, kStepStarted, step));
      }
    }
    EXPECT_TRUE(bench_.Append(run, kHookCreated, "h", {.token = "tok"}));
    EXPECT_TRUE(bench_.Append(run, kWaitCreated, "w", {.due_at = due_}));
    EXPECT_TRUE(bench_.Append(run, kErrorRecorded, "E1"));
    RunScribe& gone = bench_.StartedRun("gone");
    bench_.StartedRun("run-3");
    const std::vector<RunId> purged = {gone.run_id()};
    EXPECT_TRUE(bench_.store().Purge(purged, bench_.now(), {}));
    EXPECT_THAT(bench_.Faults(), IsEmpty());
  }

  std::unique_ptr<StateStore> OpenOwned() {
    auto tables = std::make_unique<MemoryKeyValue>();
    tables_ = tables.get();
    return std::move(*OpenKeyedStore(std::move(tables)));
  }
  void Put(Table table, std::string_view key, std::string_view value) {
    const auto batch = tables_->NewBatch();
    batch->Put(table, key, value);
    EXPECT_TRUE(tables_->Write(*batch));
  }
  void Delete(Table table, std::string_view key) {
    EXPECT_TRUE(*tables_->View()->Get(table, key)) << "nothing there to delete";
    const auto batch = tables_->NewBatch();
    batch->Delete(table, key);
    EXPECT_TRUE(tables_->Write(*batch));
  }
  // Decodes the event, changes it and puts it back with a good checksum.
  void ChangeEvent(std::uint64_t seq, const std::function<void(Event&)>& change) {
    const std::string key(keys_.Event(run_, EventSeq(seq)));
    Event event = *DecodeEventRecord(**tables_->View()->Get(Table::kEvents, key));
    change(event);
    std::string row;
    EncodeEventRecord(event, row);
    Put(Table::kEvents, key, row);
  }
  void ChangeState(const std::function<void(RunState&)>& change) {
    RunState state = (*bench_.Read()->FindRun(RunId("run-1")))->state;
    change(state);
    std::string row;
    EncodeRunRow(RunId("run-1"), state, row);
    Put(Table::kRuns, keys_.RunByNo(run_), row);
  }
  void ChangeEntity(const EntityKey& entity, const std::function<void(EntityState&)>& change) {
    EntityState state = **bench_.Read()->FindEntity(run_, entity);
    change(state);
    std::string row;
    EncodeEntityState(state, row);
    Put(Table::kEntities, keys_.Entity(run_, entity), row);
  }
  StoredRun Run() { return **bench_.Read()->FindRun(RunId("run-1")); }
  std::string KeyRow(std::uint64_t seq) {
    const auto& run = Run();
    const auto events = bench_.Read()->ReadEvents(run, {});
    RunScribe scribe(run_, "run-1", run.state.scope);
    return std::string(keys_.Key(run_, scribe.KeyOf((*events)[seq - 1])));
  }
  static std::string Number(std::uint64_t number) {
    std::string bytes;
    EncodeNumber(number, bytes);
    return bytes;
  }
  void ExpectFault(const std::string& what) {
    EXPECT_THAT(bench_.Faults(), Contains(HasSubstr(what)));
  }

  const Timestamp due_ = FromMicros(1'800'000'000'000'000);
  const RunNo run_{1};
  MemoryKeyValue* tables_ = nullptr;
  StoreWorkbench bench_;
  RowKeys keys_;
};

TEST_F(StoreCheckTest, AnEventThatCannotBeRead) {
  Put(Table::kEvents, keys_.Event(run_, EventSeq(3)), "nonsense");
  ExpectFault("run-1: event 3 cannot be read");
}

TEST_F(StoreCheckTest, AnEventThatIsMissing) {
  Delete(Table::kEvents, keys_.Event(run_, EventSeq(3)));
  ExpectFault("run-1: event 3 is missing");
}

TEST_F(StoreCheckTest, TheLastEventIsMissing) {
  Delete(Table::kEvents, keys_.Event(run_, EventSeq(8)));
  ExpectFault("run-1: the run's row says that event 8 is the last, but it is 7");
}

TEST_F(StoreCheckTest, AnEventUnderAnothersKey) {
  const std::string row = **tables_->View()->Get(Table::kEvents, keys_.Event(run_, EventSeq(3)));
  Put(Table::kEvents, keys_.Event(run_, EventSeq(4)), row);
  ExpectFault("run-1: event 4 cannot be read: the record has a different seq");
}

TEST_F(StoreCheckTest, AChainOfATypeThatIsBroken) {
  ChangeEvent(4, [](Event& event) { event.previous_of_type = EventSeq(1); });
  ExpectFault("run-1: event 4 breaks the chain of its type");
}

TEST_F(StoreCheckTest, AChainOfAnEntityThatIsBroken) {
  ChangeEvent(5, [](Event& event) { event.previous_of_entity = EventSeq(2); });
  ExpectFault("run-1: event 5 breaks the chain of its entity");
}

TEST_F(StoreCheckTest, TimeThatGoesBackWithinARun) {
  ChangeEvent(5, [](Event& event) { event.persisted_at -= std::chrono::hours(1); });
  ExpectFault("run-1: event 5 was persisted before");
}

TEST_F(StoreCheckTest, AWrongHeadOfATypesChain) {
  ChangeState([](RunState& state) { state.last_of_type[10] = EventSeq(3); });
  ExpectFault("run-1: the run's row has the wrong last event of type StepStarted");
}

TEST_F(StoreCheckTest, AWrongHeadOfAnEntitysChain) {
  ChangeEntity({EntityKind::kStep, "a"}, [](EntityState& step) { step.last_seq = EventSeq(3); });
  ExpectFault("a has the wrong last event");
}

TEST_F(StoreCheckTest, AnEntityWithoutARow) {
  Delete(Table::kEntities, keys_.Entity(run_, {EntityKind::kStep, "b"}));
  ExpectFault("b has no row");
}

TEST_F(StoreCheckTest, AnEntityThatCannotBeRead) {
  Put(Table::kEntities, keys_.Entity(run_, {EntityKind::kStep, "b"}), "nonsense");
  ExpectFault("b cannot be read");
}

TEST_F(StoreCheckTest, AnEventWithoutAKeyRow) {
  Delete(Table::kKeys, KeyRow(8));
  ExpectFault("run-1: event 8 has no key row");
}

TEST_F(StoreCheckTest, AKeyRowThatLeadsElsewhere) {
  Put(Table::kKeys, KeyRow(8), Number(4));
  ExpectFault("run-1: the key row of event 8 points to another event");
  ExpectFault("run-1: a key row points to event 4, which has a different key");
}

TEST_F(StoreCheckTest, AKeyRowWithoutAnEvent) {
  Put(Table::kKeys, keys_.Key(run_, Sha256("stray")), Number(99));
  ExpectFault("run-1: a key row points to event 99");
}

TEST_F(StoreCheckTest, ARunRowThatCannotBeRead) {
  Put(Table::kRuns, keys_.RunByNo(run_), "nonsense");
  ExpectFault("run-1: the run's row cannot be read");
}

TEST_F(StoreCheckTest, AnIdThatLeadsNowhere) {
  Put(Table::kRuns, keys_.RunById(RunId("ghost")), Number(77));
  ExpectFault("ghost: the id maps to a run number that does not exist");
}

TEST_F(StoreCheckTest, AnIdThatLeadsToAnotherRun) {
  Put(Table::kRuns, keys_.RunById(RunId("run-1")), Number(3));
  ExpectFault("run-1: its id maps to another run number");
  ExpectFault("run-1: the id maps to the number of another run");
}

TEST_F(StoreCheckTest, ARunThatIsMissingInAList) {
  for (const RowKind index : kListIndexes) {
    const std::string key(keys_.Listed(index, Run().state, run_));
    Delete(Table::kIndex, key);
    ExpectFault(std::string("run-1: it is missing from list index ") + static_cast<char>(index));
    Put(Table::kIndex, key, {});
  }
  EXPECT_THAT(bench_.Faults(), IsEmpty());
}

TEST_F(StoreCheckTest, ARunThatIsListedInAWrongPlace) {
  RunState state = Run().state;
  state.status = RunStatus::kFailed;
  Put(Table::kIndex, keys_.Listed(RowKind::kByStatus, state, run_), {});
  ExpectFault("run-1: list index S lists it in the wrong place");
}

TEST_F(StoreCheckTest, AListedRunThatIsNotThere) {
  Put(Table::kIndex, keys_.Listed(RowKind::kByPlan, Run().state, RunNo(77)), {});
  ExpectFault("list index L: run no 77 does not exist");
}

TEST_F(StoreCheckTest, AnActiveHookWithoutItsToken) {
  Delete(Table::kIndex, keys_.Token("acme", "tok"));
  ExpectFault("h is active, but its token does not map to it");
}

TEST_F(StoreCheckTest, ATokenWithoutAnActiveHook) {
  std::string holder;
  EncodeHolder({RunId("run-1"), "h"}, holder);
  Put(Table::kIndex, keys_.Token("acme", "other"), holder);
  ExpectFault("run-1: a token refers to hook h, which is not active with this token");
}

TEST_F(StoreCheckTest, ATokenOfARunThatIsNotThere) {
  std::string holder;
  EncodeHolder({RunId("nobody"), "h"}, holder);
  Put(Table::kIndex, keys_.Token("acme", "other"), holder);
  ExpectFault("nobody: a token refers to hook h");
}

TEST_F(StoreCheckTest, AWaitWithoutItsTimer) {
  Delete(Table::kIndex, keys_.Timer(due_, run_, "w"));
  ExpectFault("w is waiting, but has no timer");
}

TEST_F(StoreCheckTest, ATimerWithoutAWait) {
  Put(Table::kIndex, keys_.Timer(due_, run_, "x"), {});
  ExpectFault("run-1: there is a timer for wait x");
  Put(Table::kIndex, keys_.Timer(due_, RunNo(77), "y"), {});
  ExpectFault("the timer of wait y belongs to a run that does not exist");
}

TEST_F(StoreCheckTest, ATimerForAnotherTime) {
  Put(Table::kIndex, keys_.Timer(due_ + std::chrono::seconds(1), run_, "w"), {});
  ExpectFault("run-1: there is a timer for wait w, which is not waiting for it");
}

TEST_F(StoreCheckTest, CountsThatDoNotAgree) {
  StoreCounts counts = bench_.Read()->Counts("acme");
  ++counts.events;
  std::string row;
  EncodeCounts(counts, row);
  Put(Table::kMeta, keys_.Counts("acme"), row);
  ExpectFault("the counts of tenant acme do not match");
  Delete(Table::kMeta, keys_.Counts("acme"));
  ExpectFault("tenant acme has no counts");
}

TEST_F(StoreCheckTest, BytesThatDoNotAgree) {
  StoreCounts counts = bench_.Read()->Counts("acme");
  ++counts.row_bytes;
  std::string row;
  EncodeCounts(counts, row);
  Put(Table::kMeta, keys_.Counts("acme"), row);
  ExpectFault("bytes of events and documents, but");
}

TEST_F(StoreCheckTest, BytesThatAnEarlierVersionDidNotCountAreNoFault) {
  const StoreCounts counts = bench_.Read()->Counts("acme");
  std::string row;
  ByteWriter writer(row);
  writer.Varint(counts.events);
  for (const std::uint64_t runs : counts.runs_by_status) writer.Varint(runs);
  Put(Table::kMeta, keys_.Counts("acme"), row);
  EXPECT_THAT(bench_.Faults(), testing::IsEmpty());
  const auto read = DecodeCounts(row);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->counts_bytes);
}

TEST_F(StoreCheckTest, AnEventThatTheOutboxDoesNotCover) {
  Delete(Table::kIndex, keys_.Outbox(Position(7)));
  ExpectFault("run-1: the outbox covers 7 of 8 events");
}

TEST_F(StoreCheckTest, AnEventThatTheOutboxCoversTwice) {
  std::string row;
  EncodeOutboxChange({run_, EventSeq(8), EventSeq(8), bench_.now()}, row);
  Put(Table::kIndex, keys_.Outbox(Position(99)), row);
  ExpectFault("run-1: outbox position 99 does not continue the events of its run");
}

TEST_F(StoreCheckTest, AnOutboxRowThatReachesIntoTheOneBefore) {
  const std::string last = **tables_->View()->Get(Table::kIndex, keys_.Outbox(Position(7)));
  std::string row;
  EncodeOutboxChange({run_, EventSeq(7), EventSeq(7), bench_.now()}, row);
  Put(Table::kIndex, keys_.Outbox(Position(7)), row + last);
  ExpectFault("outbox position 6 is in two rows");
}

TEST_F(StoreCheckTest, AnOutboxOutOfOrder) {
  std::string row;
  EncodeOutboxChange({run_, EventSeq(4), EventSeq(4), FromMicros(1)}, row);
  Put(Table::kIndex, keys_.Outbox(Position(3)), row);
  ExpectFault("outbox position 3 was committed before its predecessor");
}

TEST_F(StoreCheckTest, TombstonesAndTheirAges) {
  const Timestamp removed = (*bench_.Read()->FindTombstone(RunId("gone")))->removed_at;
  Delete(Table::kIndex, keys_.TombstoneAge(removed, "gone"));
  ExpectFault("gone: the tombstone would never expire");
  Put(Table::kIndex, keys_.TombstoneAge(removed, "else"), {});
  ExpectFault("else: there is an age row for a tombstone that does not exist");
}

TEST_F(StoreCheckTest, ASinkWithoutAMark) {
  const SinkKey sink{"acme", "hook"};
  ASSERT_TRUE(bench_.store().MoveSink({{sink, Position(1)}, {}, {}, "{}"}));
  EXPECT_THAT(bench_.Faults(), IsEmpty());
  Delete(Table::kMeta, keys_.SinkMark(sink));
  ExpectFault("sink hook of tenant acme has a definition but no mark");
}

TEST_F(StoreCheckTest, ATombstoneOfAnEarlierVersionHasNoTenant) {
  const Timestamp removed = (*bench_.Read()->FindTombstone(RunId("gone")))->removed_at;
  EXPECT_EQ((*bench_.Read()->FindTombstone(RunId("gone")))->tenant_id, "acme");
  Put(Table::kIndex, keys_.TombstoneAge(removed, "gone"), {});
  EXPECT_EQ((*bench_.Read()->FindTombstone(RunId("gone")))->tenant_id, "");
  EXPECT_THAT(bench_.Faults(), IsEmpty());
}

TEST_F(StoreCheckTest, RowsOfARunThatIsNotThere) {
  const std::string event = **tables_->View()->Get(Table::kEvents, keys_.Event(run_, EventSeq(1)));
  Put(Table::kEvents, keys_.Event(RunNo(2), EventSeq(1)), event);
  ExpectFault("table events: rows of run no 2, which does not exist");
  Put(Table::kKeys, keys_.Key(RunNo(77), Sha256("x")), Number(1));
  ExpectFault("table keys: rows of run no 77");
  Put(Table::kEntities, keys_.Entity(RunNo(78), {EntityKind::kStep, "a"}), "row");
  ExpectFault("table entities: rows of run no 78");
  Put(Table::kMeta, keys_.Quarantine(RunNo(79)), "why");
  ExpectFault("a quarantined run does not exist");
}

TEST_F(StoreCheckTest, RowsOfAnUnknownKind) {
  Put(Table::kMeta, "~", "");
  Put(Table::kRuns, "~", "");
  Put(Table::kIndex, "~", "");
  ExpectFault("table meta: a row of an unknown kind");
  ExpectFault("table runs: a row of an unknown kind");
  ExpectFault("table index: a row of an unknown kind");
}

}  // namespace
}  // namespace everstep
