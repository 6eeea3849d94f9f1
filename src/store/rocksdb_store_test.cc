#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "store/directory_lock.h"
#include "store/key_value.h"
#include "store/rocksdb_key_value.h"
#include "store/row_keys.h"
#include "store/state_store.h"
#include "store/store_mark.h"
#include "testing/manual_clock.h"
#include "testing/store_workbench.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum EventType;

class RocksdbStore : public testing::Test {
 protected:
  std::unique_ptr<StateStore> Open(StoreOptions options = {}) {
    auto store = OpenRocksdbStore(path_, options);
    EXPECT_TRUE(store) << ToString(store.error());
    return store ? std::move(*store) : nullptr;
  }
  Error OpenFails(const StoreOptions& options = {}) {
    auto store = OpenRocksdbStore(path_, options);
    EXPECT_FALSE(store);
    return store ? Error{} : store.error();
  }
  void WriteFile(const std::string& name, const std::string& text) {
    std::ofstream(path_ + "/" + name) << text;
  }
  // Changes rows while the store is closed.
  void Tamper(const std::function<void(KeyValue&, WriteBatch&)>& change) {
    auto tables = OpenRocksdbKeyValue(path_, {}, SystemClock());
    ASSERT_TRUE(tables) << ToString(tables.error());
    const auto batch = (*tables)->NewBatch();
    change(**tables, *batch);
    ASSERT_TRUE((*tables)->Write(*batch));
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "log";
  RowKeys keys_;
};

TEST_F(RocksdbStore, TheDirectorySaysWhatItIs) {
  Open();
  std::ifstream file(path_ + "/FORMAT");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "everstep log 2");
}

TEST_F(RocksdbStore, AMissingStoreIsCreatedOnlyIfAllowed) {
  EXPECT_EQ(OpenFails({.create_if_missing = false}).code, ErrorCode::kStoreNotFound);
  EXPECT_EQ(OpenFails({.read_only = true}).code, ErrorCode::kStoreNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RocksdbStore, AForeignDirectoryIsLeftAlone) {
  std::filesystem::create_directory(path_);
  WriteFile("letters.txt", "dear");
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/CURRENT"));
}

TEST_F(RocksdbStore, ANewerFormatIsRefusedByItsFile) {
  Open();
  WriteFile("FORMAT", "everstep log 7\n");
  const Error error = OpenFails();
  EXPECT_EQ(error.code, ErrorCode::kStoreFormatNewer);
  EXPECT_THAT(error.message, HasSubstr("format 7"));
  EXPECT_THAT(error.message, HasSubstr("format 2"));
  WriteFile("FORMAT", "everstep log one\n");
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreCorrupt);
}

TEST_F(RocksdbStore, ANewerFormatIsRefusedByItsRow) {
  Open();
  Tamper([&](KeyValue&, WriteBatch& batch) { batch.Put(Table::kMeta, keys_.Format(), "\x09"); });
  const Error error = OpenFails();
  EXPECT_EQ(error.code, ErrorCode::kStoreFormatNewer);
  EXPECT_THAT(error.message, HasSubstr("format 9"));
  EXPECT_THAT(error.message, HasSubstr("format 2"));
}

TEST_F(RocksdbStore, AStoreThatLostItsEntryPointIsNotCleared) {
  {
    StoreWorkbench bench(Open());
    bench.StartedRun("run-1");
    ASSERT_TRUE(bench.store().Compact());
  }
  std::filesystem::remove(path_ + "/CURRENT");
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreCorrupt);
}

TEST_F(RocksdbStore, ABackupOpensAsAStore) {
  StoreWorkbench bench(Open());
  const RunScribe& run = bench.StartedRun("run-1");
  ASSERT_TRUE(bench.store().Backup(directory_ / "copy"));
  bench.StartedRun("run-2");
  EXPECT_EQ(bench.store().Backup(directory_ / "copy").error().code, ErrorCode::kStoreExists);

  auto copy = OpenRocksdbStore(directory_ / "copy", {.create_if_missing = false});
  ASSERT_TRUE(copy) << ToString(copy.error());
  EXPECT_EQ(*(*copy)->Read()->ReadEvents(run.stored(), {}), run.log());
  EXPECT_FALSE(*(*copy)->Read()->FindRun(RunId("run-2")));
  EXPECT_THAT(StoreWorkbench(std::move(*copy)).Faults(), IsEmpty());
}

TEST_F(RocksdbStore, AReaderBesideTheOwnerSeesNewEventsAfterRefresh) {
  StoreWorkbench bench(Open());
  RunScribe& run = bench.StartedRun("run-1");
  const auto reader = Open({.read_only = true});
  ASSERT_NE(reader, nullptr);
  const auto seen = [&] { return reader->Read()->ReadEvents(run.stored(), {})->size(); };
  EXPECT_EQ(seen(), 2U);
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = run.log().size();
    ASSERT_TRUE(bench.Append(run, kStepStarted, "s" + std::to_string(round)));
    EXPECT_EQ(seen(), before);
    ASSERT_TRUE(reader->Refresh());
    EXPECT_EQ(seen(), before + 1);
    EXPECT_EQ(reader->LastPosition(), bench.store().LastPosition());
    EXPECT_EQ(reader->Read()->Counts("acme").events, before + 1);
    ASSERT_TRUE(bench.store().Compact());  // the reader's files are replaced
  }
  EXPECT_EQ(reader->Quarantine(run.run_id(), "x").error().code, ErrorCode::kStoreReadOnly);
  EXPECT_EQ(reader->Backup(directory_ / "copy").error().code, ErrorCode::kStoreReadOnly);
}

TEST_F(RocksdbStore, AReaderSeesPurgesToo) {
  StoreWorkbench bench(Open());
  bench.StartedRun("run-1");
  const auto reader = Open({.read_only = true});
  const std::vector<RunId> runs = {RunId("run-1")};
  ASSERT_TRUE(bench.store().Purge(runs, bench.now(), {}));
  bench.StartedRun("run-2");
  ASSERT_TRUE(reader->Refresh());
  EXPECT_FALSE(*reader->Read()->FindRun(RunId("run-1")));
  EXPECT_TRUE(*reader->Read()->FindRun(RunId("run-2")));
  EXPECT_EQ(reader->LastRunNo(), RunNo(2));
}

TEST_F(RocksdbStore, ADamagedEventIsNamedAndOtherRunsGoOn) {
  {
    StoreWorkbench bench(Open());
    RunScribe& run = bench.StartedRun("run-1");
    ASSERT_TRUE(bench.Append(run, kStepStarted, "a"));
    bench.StartedRun("run-2");
  }
  Tamper([&](KeyValue& tables, WriteBatch& batch) {
    const std::string key(keys_.Event(RunNo(1), EventSeq(2)));
    std::string row = **tables.View()->Get(Table::kEvents, key);
    row[row.size() / 2] = static_cast<char>(row[row.size() / 2] ^ 0x40);
    batch.Put(Table::kEvents, key, row);
  });
  StoreWorkbench bench(Open());
  const StoredRun run = **bench.Read()->FindRun(RunId("run-1"));
  const auto events = bench.Read()->ReadEvents(run, {});
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().code, ErrorCode::kStoreCorrupt);
  EXPECT_THAT(events.error().message, HasSubstr("table events, run run-1, run no 1, seq 2"));
  EXPECT_FALSE(bench.Read()->ReadEvents(run, {.type = kRunStarted}));
  EXPECT_EQ(bench.Read()->ReadEvents(run, {.entity = EntityKey{EntityKind::kStep, "a"}})->size(),
            1U);
  const StoredRun other = **bench.Read()->FindRun(RunId("run-2"));
  EXPECT_EQ(bench.Read()->ReadEvents(other, {})->size(), 2U);
}

TEST_F(RocksdbStore, AMissingEventIsNamed) {
  {
    StoreWorkbench bench(Open());
    bench.StartedRun("run-1");
  }
  Tamper([&](KeyValue&, WriteBatch& batch) {
    batch.Delete(Table::kEvents, keys_.Event(RunNo(1), EventSeq(1)));
  });
  const auto store = Open();
  const StoredRun run = **store->Read()->FindRun(RunId("run-1"));
  EXPECT_THAT(store->Read()->ReadEvents(run, {}).error().message, HasSubstr("seq 1"));
  EXPECT_EQ(store->Read()->ReadEvents(run, {.type = kRunQueued}).error().code,
            ErrorCode::kStoreCorrupt);
}

TEST_F(RocksdbStore, ADamagedRunRowIsPassedOverAndCanBeQuarantinedAndPurged) {
  {
    StoreWorkbench bench(Open());
    for (const char* id : {"run-1", "run-2", "run-3"}) {
      RunScribe& run = bench.StartedRun(id);
      ASSERT_TRUE(bench.Append(run, kHookCreated, "h", {.token = std::string("tok-") + id}));
    }
  }
  Tamper([&](KeyValue&, WriteBatch& batch) {
    batch.Put(Table::kRuns, keys_.RunByNo(RunNo(2)), "\xff\xff nonsense");
  });
  StoreWorkbench bench(Open());
  std::vector<std::string> visited;
  ASSERT_TRUE(bench.store().VisitRuns([&](const StoredRun& run) {
    visited.push_back(run.run_id.value() + (run.quarantine.empty() ? "" : "!"));
    return Ok();
  }));
  EXPECT_THAT(visited, ElementsAre("run-1", "run-2!", "run-3"));
  const RunId damaged("run-2");
  const auto found = bench.Read()->FindRun(damaged);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kStoreCorrupt);
  EXPECT_THAT(found.error().message, HasSubstr("table runs"));
  EXPECT_EQ(bench.Read()->ListRuns({.tenant_id = "acme"})->runs.size(), 3U);
  EXPECT_EQ(bench.Read()->ReadOutbox({}, 100)->size(), 6U);

  ASSERT_TRUE(bench.store().Quarantine(damaged, "damaged"));
  EXPECT_EQ((*bench.Read()->FindRun(damaged))->quarantine, "damaged");
  EXPECT_THAT(bench.Faults(), ElementsAre(HasSubstr("run-2: the run's row cannot be read")));

  const std::vector<RunId> runs = {damaged};
  ASSERT_TRUE(bench.store().Purge(runs, bench.now(), {}));
  EXPECT_FALSE(*bench.Read()->FindRun(damaged));
  EXPECT_FALSE(*bench.Read()->FindHook("acme", "tok-run-2"));
  EXPECT_EQ((*bench.Read()->FindTombstone(damaged))->last_seq, EventSeq(3));
  EXPECT_THAT(bench.Faults(), IsEmpty());
}

TEST_F(RocksdbStore, AWriteToAFullDiskWritesNothing) {
  ManualClock clock;
  auto full = OpenRocksdbKeyValue(path_, {.free_bytes_min = UINT64_MAX}, clock);
  ASSERT_TRUE(full);
  const auto batch = (*full)->NewBatch();
  batch->Put(Table::kMeta, "x", "y");
  const Status refused = (*full)->Write(*batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreFull);
  EXPECT_FALSE(*(*full)->View()->Get(Table::kMeta, "x"));
}

TEST_F(RocksdbStore, AStoreOnAFullDiskIsNotStopped) {
  { Open(); }
  StoreWorkbench bench(Open({.free_bytes_min = UINT64_MAX}));
  for (int i = 0; i < 2; ++i) {
    RunScribe& run = bench.NewRun("run-" + std::to_string(i));
    EXPECT_EQ(bench.Append(run, kRunQueued).error().code, ErrorCode::kStoreFull);
    EXPECT_EQ(bench.store().LastPosition(), Position());
  }
}

TEST_F(RocksdbStore, WhatIsAcknowledgedIsThereWithoutAnOrderlyClose) {
  StoreWorkbench bench(Open());
  RunScribe& run = bench.StartedRun("run-1");
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(bench.Append(run, kStepStarted, "s" + std::to_string(i)));
  }
  // The files as a process that is killed here would leave them.
  std::filesystem::copy(path_, directory_ / "left");
  auto left = OpenRocksdbStore(directory_ / "left", {.create_if_missing = false});
  ASSERT_TRUE(left) << ToString(left.error());
  EXPECT_EQ(*(*left)->Read()->ReadEvents(run.stored(), {}), run.log());
  EXPECT_THAT(StoreWorkbench(std::move(*left)).Faults(), IsEmpty());
}

}  // namespace
}  // namespace everstep
