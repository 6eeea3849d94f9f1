// What the store does when the tables below it fail, and what a commit costs.

#include "store/keyed_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory_key_value.h"
#include "store/row_keys.h"
#include "testing/faulty_key_value.h"
#include "testing/store_workbench.h"

namespace everstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using enum EventType;

class FailingStore : public testing::Test {
 protected:
  FailingStore() : bench_(Open({})) {}

  std::unique_ptr<StateStore> Open(MemoryTables survivors) {
    auto tables = std::make_unique<FaultyKeyValue>(random_, std::move(survivors));
    tables_ = tables.get();
    return std::move(*OpenKeyedStore(std::move(tables)));
  }
  void CrashAndReopen() {
    MemoryTables survivors = tables_->Crash();
    bench_.Take(Open(std::move(survivors)));
  }
  EventSeq LastSeq(const RunScribe& run) {
    return (*bench_.Read()->FindRun(run.run_id()))->state.last_seq;
  }

  SeededRandom random_{1};
  FaultyKeyValue* tables_ = nullptr;
  StoreWorkbench bench_;
};

TEST_F(FailingStore, AFullDiskChangesNothingAndTheStoreRecovers) {
  RunScribe& run = bench_.StartedRun("run-1");
  bench_.Write(run, kStepStarted, "a");
  const RunChange change = run.Finish(Position(2));
  const std::vector<const RunChange*> changes = {&change};
  tables_->PlanFault(WriteFault::kDiskFull);
  EXPECT_EQ(bench_.store().Commit(changes).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(bench_.store().LastPosition(), Position(1));
  EXPECT_EQ(bench_.Read()->Counts("acme").events, 2U);
  EXPECT_TRUE(bench_.store().Commit(changes));
  EXPECT_EQ(bench_.Read()->Counts("acme").events, 3U);
  EXPECT_THAT(bench_.Faults(), IsEmpty());
}

TEST_F(FailingStore, ChangesAndDocumentsAreOneWrite) {
  RunScribe& run = bench_.StartedRun("run-1");
  bench_.Write(run, kStepStarted, "a");
  const RunChange change = run.Finish(Position(2));
  const std::vector<const RunChange*> changes = {&change};
  const TenantDocument message{{DocumentKind::kMessage, "", "m1"}, "text"};
  const std::vector<const TenantDocument*> documents = {&message};
  tables_->PlanFault(WriteFault::kDiskFull);
  EXPECT_EQ(bench_.store().Commit(changes, documents).error().code, ErrorCode::kStoreFull);
  EXPECT_LT(LastSeq(run), change.state.last_seq);
  EXPECT_FALSE(bench_.Read()->FindDocument(message.key)->has_value());
  const auto writes = tables_->writes();
  EXPECT_TRUE(bench_.store().Commit(changes, documents));
  EXPECT_EQ(tables_->writes(), writes + 1);
  EXPECT_EQ(LastSeq(run), change.state.last_seq);
  EXPECT_EQ(**bench_.Read()->FindDocument(message.key), "text");
  EXPECT_THAT(bench_.Faults(), IsEmpty());
}

TEST_F(FailingStore, AfterAnyOtherFailureEveryWriteIsRefused) {
  for (const WriteFault fault :
       {WriteFault::kNothingWritten, WriteFault::kWrittenAnyway, WriteFault::kSyncFails}) {
    RunScribe& run = bench_.StartedRun("run-" + std::to_string(static_cast<int>(fault)));
    tables_->PlanFault(fault);
    EXPECT_TRUE(bench_.store().Health());
    EXPECT_EQ(bench_.Append(run, kStepStarted, "a").error().code, ErrorCode::kIndeterminate);
    EXPECT_EQ(bench_.store().Health().error().code, ErrorCode::kStoreStopped);
    const std::vector<RunId> runs = {run.run_id()};
    const auto writes = tables_->writes();
    EXPECT_EQ(bench_.store().Commit({}).error().code, ErrorCode::kStoreStopped);
    EXPECT_EQ(bench_.store().Purge(runs, bench_.now(), {}).error().code, ErrorCode::kStoreStopped);
    EXPECT_EQ(bench_.store().Quarantine(run.run_id(), "x").error().code, ErrorCode::kStoreStopped);
    EXPECT_EQ(tables_->writes(), writes);
    CrashAndReopen();
    EXPECT_THAT(bench_.Faults(), IsEmpty());
  }
}

TEST_F(FailingStore, ALostWriteIsGoneAfterTheCrashAndAHiddenOneIsThere) {
  RunScribe& lost = bench_.StartedRun("lost");
  tables_->PlanFault(WriteFault::kNothingWritten);
  EXPECT_FALSE(bench_.Append(lost, kStepStarted, "a"));
  CrashAndReopen();
  EXPECT_EQ(LastSeq(lost), EventSeq(2));

  RunScribe& hidden = bench_.StartedRun("hidden");
  tables_->PlanFault(WriteFault::kWrittenAnyway);
  EXPECT_FALSE(bench_.Append(hidden, kStepStarted, "a"));
  CrashAndReopen();
  EXPECT_EQ(LastSeq(hidden), EventSeq(3));
}

TEST_F(FailingStore, AFailedSyncCanBeReadAndSurvivesByChance) {
  int survived = 0;
  constexpr int kCrashes = 40;
  for (int i = 0; i < kCrashes; ++i) {
    RunScribe& run = bench_.StartedRun("run-" + std::to_string(i));
    tables_->PlanFault(WriteFault::kSyncFails);
    EXPECT_FALSE(bench_.Append(run, kStepStarted, "a"));
    EXPECT_EQ(LastSeq(run), EventSeq(3));
    CrashAndReopen();
    survived += LastSeq(run) == EventSeq(3) ? 1 : 0;
  }
  EXPECT_GT(survived, 0);
  EXPECT_LT(survived, kCrashes);
  EXPECT_THAT(bench_.Faults(), IsEmpty());
}

TEST_F(FailingStore, AFaultMayBePlannedForALaterWrite) {
  tables_->PlanFault(WriteFault::kDiskFull, 1);
  RunScribe& run = bench_.StartedRun("run-1");
  EXPECT_TRUE(tables_->FaultPlanned());
  EXPECT_FALSE(bench_.Append(run, kStepStarted, "a"));
  EXPECT_FALSE(tables_->FaultPlanned());
}

TEST_F(FailingStore, WhatWasAcknowledgedSurvivesACrash) {
  RunScribe& run = bench_.StartedRun("run-1");
  ASSERT_TRUE(bench_.Append(run, kStepStarted, "a"));
  CrashAndReopen();
  EXPECT_EQ(*bench_.Read()->ReadEvents(run.stored(), {}), run.log());
}

// Counts what a batch is asked to do.
class CountingTables final : public KeyValue {
 public:
  struct Costs {
    int writes = 0;
    int puts[kTableCount] = {};
    int others = 0;
  };
  explicit CountingTables(Costs& costs) : costs_(costs) {}

  std::unique_ptr<TableView> View() override { return tables_.View(); }
  std::unique_ptr<WriteBatch> NewBatch() override {
    return std::make_unique<Batch>(costs_, tables_.NewBatch());
  }
  Status Write(WriteBatch& batch) override {
    ++costs_.writes;
    return tables_.Write(*static_cast<Batch&>(batch).below);
  }
  Status Refresh() override { return Ok(); }
  Status Backup(const std::string&) override { return Ok(); }
  Status Compact() override { return Ok(); }
  std::uint64_t DiskBytes() override { return 0; }

 private:
  struct Batch final : WriteBatch {
    Batch(Costs& c, std::unique_ptr<WriteBatch> b) : costs(c), below(std::move(b)) {}
    void Put(Table table, std::string_view key, std::string_view value) override {
      ++costs.puts[static_cast<int>(table)];
      below->Put(table, key, value);
    }
    void Delete(Table table, std::string_view key) override {
      ++costs.others;
      below->Delete(table, key);
    }
    void DeleteRange(Table table, std::string_view begin, std::string_view end) override {
      ++costs.others;
      below->DeleteRange(table, begin, end);
    }
    Costs& costs;
    std::unique_ptr<WriteBatch> below;
  };

  Costs& costs_;
  MemoryKeyValue tables_;
};

TEST(CommitCosts, AStepsEventIsThreePutsAndACommitOneRowForTheOutboxAndOneForTheCounts) {
  CountingTables::Costs costs;
  StoreWorkbench bench(std::move(*OpenKeyedStore(std::make_unique<CountingTables>(costs))));
  RunScribe& one = bench.StartedRun("run-1");
  RunScribe& two = bench.StartedRun("run-2");
  bench.Write(one, kStepStarted, "a");
  bench.Write(two, kStepStarted, "a");
  costs = {};
  ASSERT_TRUE(bench.Commit({&one, &two}));
  EXPECT_EQ(costs.writes, 1);
  for (const Table table : {Table::kEvents, Table::kEntities, Table::kRuns}) {
    EXPECT_EQ(costs.puts[static_cast<int>(table)], 2);
  }
  EXPECT_EQ(costs.puts[static_cast<int>(Table::kIndex)], 1);
  EXPECT_EQ(costs.puts[static_cast<int>(Table::kKeys)], 0) << "a step does not repeat";
  EXPECT_EQ(costs.puts[static_cast<int>(Table::kMeta)], 1);
  EXPECT_EQ(costs.others, 0);
}

TEST(CommitCosts, NeighboursArePurgedByOneDeletionPerTable) {
  CountingTables::Costs costs;
  StoreWorkbench bench(std::move(*OpenKeyedStore(std::make_unique<CountingTables>(costs))));
  std::vector<RunId> runs;
  for (int i = 0; i < 10; ++i) runs.push_back(bench.StartedRun("r" + std::to_string(i)).run_id());
  costs = {};
  ASSERT_TRUE(bench.store().Purge(runs, bench.now(), {}));
  // Ages, three tables, the outbox; then each run's id, row, quarantine and four list rows.
  EXPECT_EQ(costs.others, 1 + 3 + 1 + 10 * 7);
  EXPECT_EQ(costs.writes, 1);
}

TEST(OpenKeyed, RowsWithoutAFormatVersionAreNotAStore) {
  auto tables = std::make_unique<MemoryKeyValue>();
  const auto batch = tables->NewBatch();
  batch->Put(Table::kEvents, "x", "y");
  ASSERT_TRUE(tables->Write(*batch));
  const auto store = OpenKeyedStore(std::move(tables));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kStoreCorrupt);
}

TEST(OpenKeyed, EmptyTablesCannotBeOpenedForReadingOnly) {
  const auto store = OpenKeyedStore(std::make_unique<MemoryKeyValue>(), StoreAccess::kReadOnly);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kStoreNotFound);
}

TEST(OpenKeyed, AKeyRowThatLeadsToAnotherEventIsDamage) {
  auto owned = std::make_unique<MemoryKeyValue>();
  MemoryKeyValue& tables = *owned;
  StoreWorkbench bench(std::move(*OpenKeyedStore(std::move(owned))));
  RunScribe& run = bench.StartedRun("run-1");
  ASSERT_TRUE(bench.Append(run, EventType::kErrorRecorded, "E1"));
  const Event& event = run.log().back();
  RowKeys keys;
  const auto batch = tables.NewBatch();
  batch->Put(Table::kKeys, keys.Key(RunNo(1), run.KeyOf(event)), "\x01");
  ASSERT_TRUE(tables.Write(*batch));
  const auto found = bench.Read()->FindByKey(run.stored(), event, run.KeyOf(event));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kStoreCorrupt);
  EXPECT_THAT(found.error().message, HasSubstr("table keys, run run-1, run no 1, seq 1"));
}

}  // namespace
}  // namespace everstep
