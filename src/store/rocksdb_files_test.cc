#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

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

// The newest log file that is not empty.
std::filesystem::path NewestLog(const std::filesystem::path& directory) {
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0) {
      newest = std::max(newest, entry.path());
    }
  }
  EXPECT_FALSE(newest.empty());
  return newest;
}

std::string FileText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Restores an earlier version of the mark, which every write updates: a power failure may lose the
// last updates.
class EarlierMark {
 public:
  explicit EarlierMark(const std::string& store) : text_(FileText(store + "/MARK")) {}
  void PutBack(const std::string& store) const {
    std::ofstream(store + "/MARK", std::ios::binary) << text_;
  }

 private:
  std::string text_;
};

// The offset after the last byte that is not zero. The last record may end with a few zeros.
std::size_t EndOfRecords(const std::string& log) { return log.find_last_not_of('\0') + 1; }

class RocksdbFiles : public testing::Test {
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
  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "log";
};

TEST_F(RocksdbFiles, AStoreIsOwnedOnceInAProcess) {
  const auto owner = Open();
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreLocked);
}

TEST_F(RocksdbFiles, AStoreIsOwnedByOneProcess) {
  { Open(); }
  int ready[2];
  int done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const std::string lock_path = path_ + "/LOCK";
  const pid_t other = ::fork();
  if (other == 0) {  // holds the lock as an owner does, until it is signalled to exit
    const int file = ::open(lock_path.c_str(), O_RDWR);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    char byte = ::fcntl(file, F_SETLK, &lock) == 0 ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1 || ::read(done[0], &byte, 1) != 1) ::_exit(1);
    ::_exit(0);
  }
  char byte = 'n';
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreLocked);
  ASSERT_EQ(::write(done[1], &byte, 1), 1);
  int outcome = 1;
  ASSERT_EQ(::waitpid(other, &outcome, 0), other);
  EXPECT_EQ(outcome, 0);
  EXPECT_NE(Open(), nullptr);
  for (const int end : {ready[0], ready[1], done[0], done[1]}) ::close(end);
}

TEST_F(RocksdbFiles, AStoreIsOwnedOnceWhateverHappensToItsLockFile) {
  const auto owner = Open();
  std::filesystem::remove(path_ + "/LOCK");
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreLocked);
  WriteFile("LOCK", "");
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreLocked);
  std::filesystem::rename(path_, directory_ / "moved");
  EXPECT_EQ(OpenRocksdbStore(directory_ / "moved", {}).error().code, ErrorCode::kStoreLocked);
  EXPECT_EQ(DirectoryLockOwner(directory_ / "moved"), ::getpid());
}

TEST_F(RocksdbFiles, AnOwnerOfAnEarlierVersionIsSeenByItsLockFile) {
  { Open(); }
  rocksdb::FileLock* held = nullptr;
  ASSERT_TRUE(rocksdb::Env::Default()->LockFile(path_ + "/LOCK", &held).ok());
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreLocked);
  ASSERT_TRUE(rocksdb::Env::Default()->UnlockFile(held).ok());
  EXPECT_NE(Open(), nullptr);
}

TEST_F(RocksdbFiles, ALockFileThatCannotBeOpenedIsNotAnotherOwner) {
  { Open(); }
  std::filesystem::remove(path_ + "/LOCK");
  std::filesystem::create_directory(path_ + "/LOCK");
  const Error error = OpenFails();
  EXPECT_EQ(error.code, ErrorCode::kStoreIo);
  EXPECT_THAT(error.message, HasSubstr("LOCK"));
}

TEST_F(RocksdbFiles, AStoreWithoutAMarkGetsOne) {
  {
    StoreWorkbench bench(Open());
    bench.StartedRun("run-1");
  }
  std::filesystem::remove(path_ + "/MARK");
  EXPECT_THAT(OpenFails().message, HasSubstr("MARK is missing"));
  // A store that was created before there were marks.
  WriteFile("FORMAT", "everstep log 1\n");
  EXPECT_TRUE(*Open()->Read()->FindRun(RunId("run-1")));
  EXPECT_EQ(FileText(path_ + "/FORMAT"), "everstep log 2\n");
  EXPECT_GT(ReadMark(path_)->last_row, 0U);
}

TEST_F(RocksdbFiles, AMarkInAStoreOfAFormatWithoutMarksIsIgnored) {
  // An open was killed after it had created a mark and before it wrote the new format.
  {
    StoreWorkbench bench(Open());
    bench.StartedRun("run-1");
  }
  WriteFile("FORMAT", "everstep log 1\n");
  ASSERT_TRUE(StoreMark::Create(path_, {.log_number = 99, .log_bytes = 7}));
  EXPECT_TRUE(*Open({.read_only = true})->Read()->FindRun(RunId("run-1")));
  EXPECT_TRUE(*Open()->Read()->FindRun(RunId("run-1")));
  EXPECT_LT(ReadMark(path_)->log_number, 99U);
}

TEST_F(RocksdbFiles, AFormatWithoutMarksInAStoreWhoseMarkCountsRowsIsDamage) {
  {
    StoreWorkbench bench(Open());
    bench.StartedRun("run-1");
  }
  WriteFile("FORMAT", "everstep log 1\n");
  for (const bool read_only : {false, true}) {
    const Error error = OpenFails({.read_only = read_only});
    EXPECT_EQ(error.code, ErrorCode::kStoreCorrupt);
    EXPECT_THAT(error.message, HasSubstr("FORMAT is damaged: it says format 1"));
    EXPECT_THAT(error.message, HasSubstr("everstep log salvage"));
  }
}

TEST_F(RocksdbFiles, AStoreWithoutFormatAndCurrentIsDamagedAndNotNew) {
  {
    StoreWorkbench bench(Open());
    bench.StartedRun("run-1");
  }
  std::filesystem::remove(path_ + "/FORMAT");
  std::filesystem::remove(path_ + "/CURRENT");
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreCorrupt);
  std::filesystem::remove(path_ + "/MARK");
  EXPECT_EQ(OpenFails().code, ErrorCode::kStoreCorrupt);
}

TEST_F(RocksdbFiles, AFileThatCannotBeReadIsNotDamaged) {
  { Open(); }
  for (const char* name : {"CURRENT", "FORMAT"}) {
    const std::string path = path_ + "/" + name;
    const std::string before = FileText(path);
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    const Error error = OpenFails();
    EXPECT_EQ(error.code, ErrorCode::kStoreIo);
    EXPECT_THAT(error.message, HasSubstr(path + ": Is a directory"));
    std::filesystem::remove(path);
    WriteFile(name, before);
  }
  EXPECT_NE(Open(), nullptr);
}

TEST_F(RocksdbFiles, TheNewFormatIsRecordedBeforeAnythingIsWrittenInIt) {
  StoreWorkbench bench(Open());
  EXPECT_EQ(FileText(path_ + "/FORMAT"), "everstep log 2\n");
}

TEST_F(RocksdbFiles, AReaderDoesNotKeepAnOwnerOut) {
  { Open(); }
  // Readers come and go while owners do: nobody is refused.
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load()) {
      const auto store = OpenRocksdbStore(path_, {.read_only = true});
      EXPECT_TRUE(store) << ToString(store.error());
    }
  });
  for (int i = 0; i < 30; ++i) {
    const auto owner = Open();
    if (owner == nullptr) break;
    EXPECT_TRUE(DirectoryLockHeld(path_));
  }
  stop.store(true);
  reader.join();
  EXPECT_FALSE(DirectoryLockHeld(path_));
}

TEST_F(RocksdbFiles, WhatAnOwnerIsWritingIsNotDamage) {
  StoreWorkbench bench(Open());
  RunScribe& run = bench.StartedRun("run-1");
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load()) {
      const auto store = OpenRocksdbStore(path_, {.read_only = true});
      EXPECT_TRUE(store) << ToString(store.error());
      if (!store) return;
      const Status checked =
          (*store)->Check([](const StoreFault& fault) { ADD_FAILURE() << fault.what; });
      EXPECT_TRUE(checked) << ToString(checked.error());
    }
  });
  for (int i = 0; i < 300; ++i) {
    const EventFacts facts{.error_message = std::string(20'000, 'x')};
    EXPECT_TRUE(bench.Append(run, kStepStarted, "s" + std::to_string(i), facts));
    if (i % 20 == 0) {
      EXPECT_TRUE(bench.store().Compact());
    }
  }
  stop.store(true);
  reader.join();
}

TEST_F(RocksdbFiles, DamageThatAReadMeetsIsKnownFromThenOn) {
  {
    StoreWorkbench bench(Open());
    bench.StartedRun("run-1");
    ASSERT_TRUE(bench.store().Compact());
  }
  StoreWorkbench bench(Open());
  EXPECT_TRUE(bench.store().Health());
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(10);
    file.write("\xff\xff\xff", 3);
  }
  EXPECT_THAT(bench.Faults(), Contains(HasSubstr(".sst")));
  const Status health = bench.store().Health();
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code, ErrorCode::kStoreCorrupt);
}

TEST_F(RocksdbFiles, ALostAcknowledgedEndOfTheLogIsDamage) {
  {
    StoreWorkbench bench(Open());
    RunScribe& run = bench.StartedRun("run-1");
    ASSERT_TRUE(bench.Append(run, kStepStarted, "a"));
  }
  const std::filesystem::path log = NewestLog(path_);
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 7);
  for (const bool read_only : {false, true}) {
    const Error error = OpenFails({.read_only = read_only});
    EXPECT_EQ(error.code, ErrorCode::kStoreCorrupt);
    EXPECT_THAT(error.message, HasSubstr(log.filename().string() + " is cut off at byte "));
    EXPECT_THAT(error.message, HasSubstr("everstep log salvage"));
  }
}

TEST_F(RocksdbFiles, AnOldestLogWithoutAReadableWriteIsDamage) {
  StoreWorkbench bench(Open({.write_buffer_bytes = 1 << 20}));
  RunScribe& run = bench.StartedRun("run-1");
  const std::string oldest = NewestLog(path_).filename();
  for (int i = 0; i < 100 && NewestLog(path_).filename() == oldest; ++i) {
    const EventFacts facts{.error_message = std::string(100'000, 'x')};
    ASSERT_TRUE(bench.Append(run, kStepStarted, "s" + std::to_string(i), facts));
  }
  // The files as a killed process leaves them. The store may write while they are copied, so the
  // mark must be older than all others.
  const std::string left = directory_ / "left";
  const EarlierMark mark(path_);
  std::filesystem::copy(path_, left);
  mark.PutBack(left);
  const std::string log = left + "/" + oldest;
  std::ofstream(log, std::ios::binary) << std::string(std::filesystem::file_size(log), '\0');
  for (const bool read_only : {true, false}) {
    const auto store = OpenRocksdbStore(left, {.read_only = read_only});
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::kStoreCorrupt);
    EXPECT_THAT(store.error().message, HasSubstr(oldest + " is damaged or missing"));
  }
}

TEST_F(RocksdbFiles, ATornEndOfTheLogThatWasNotAcknowledgedIsDropped) {
  std::optional<EarlierMark> mark;
  {
    StoreWorkbench bench(Open());
    RunScribe& run = bench.StartedRun("run-1");
    mark.emplace(path_);
    ASSERT_TRUE(bench.Append(run, kStepStarted, "a"));
  }
  mark->PutBack(path_);
  const std::filesystem::path log = NewestLog(path_);
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 7);
  StoreWorkbench bench(Open());
  EXPECT_EQ((*bench.Read()->FindRun(RunId("run-1")))->state.last_seq, EventSeq(2));
  EXPECT_THAT(bench.Faults(), IsEmpty());
}

TEST_F(RocksdbFiles, TheLogHasZerosAheadUntilItIsClosed) {
  std::uintmax_t open_bytes = 0;
  {
    StoreWorkbench bench(Open());
    bench.StartedRun("run-1");
    const std::string log = FileText(NewestLog(path_));
    open_bytes = log.size();
    EXPECT_EQ(log.back(), '\0');
    EXPECT_GT(open_bytes - EndOfRecords(log), 100'000U);
  }
  const std::string log = FileText(NewestLog(path_));
  EXPECT_LT(log.size(), open_bytes);
  EXPECT_LT(log.size() - EndOfRecords(log), 16U);
}

TEST_F(RocksdbFiles, ARecordThatWasHalfWrittenOverTheZerosIsNotRecovered) {
  StoreWorkbench owner(Open());
  RunScribe& run = owner.StartedRun("run-1");
  const EarlierMark mark(path_);
  ASSERT_TRUE(owner.Append(run, kStepStarted, "a"));
  // The files as a machine that stops here might leave them.
  std::filesystem::copy(path_, directory_ / "left");
  mark.PutBack(directory_ / "left");
  const std::filesystem::path log = NewestLog(directory_ / "left");
  std::string bytes = FileText(log);
  bytes[EndOfRecords(bytes) - 1] = '\0';
  std::ofstream(log, std::ios::binary) << bytes;
  auto left = OpenRocksdbStore(directory_ / "left", {.create_if_missing = false});
  ASSERT_TRUE(left) << ToString(left.error());
  StoreWorkbench bench(std::move(*left));
  EXPECT_EQ((*bench.Read()->FindRun(RunId("run-1")))->state.last_seq, EventSeq(2));
  EXPECT_THAT(bench.Faults(), IsEmpty());
  // What is written after it must not be lost after the zeros.
  bench.StartedRun("run-2");
  bench.Close();
  auto again = OpenRocksdbStore(directory_ / "left", {.create_if_missing = false});
  ASSERT_TRUE(again) << ToString(again.error());
  EXPECT_TRUE(*(*again)->Read()->FindRun(RunId("run-2")));
}

TEST_F(RocksdbFiles, AReaderFollowsTheLogRecordByRecord) {
  StoreWorkbench bench(Open());
  RunScribe& run = bench.StartedRun("run-1");
  const auto reader = Open({.read_only = true});
  ASSERT_NE(reader, nullptr);
  // Records that end in every part of a block of the log, some of which span several blocks.
  for (int round = 0; round < 120; ++round) {
    const std::size_t bytes = round % 20 == 19 ? 100'000 : static_cast<std::size_t>(round) * 97;
    const EventFacts facts{.error_message = std::string(bytes, 'x')};
    ASSERT_TRUE(bench.Append(run, kStepStarted, "s" + std::to_string(round), facts));
    ASSERT_TRUE(reader->Refresh());
    ASSERT_EQ(reader->LastPosition(), bench.store().LastPosition()) << round;
  }
  EXPECT_EQ(*reader->Read()->ReadEvents(run.stored(), {}), run.log());
}

TEST_F(RocksdbFiles, AReaderWaitsForARecordThatIsBeingWritten) {
  StoreWorkbench owner(Open());
  RunScribe& run = owner.StartedRun("run-1");
  const EarlierMark mark(path_);
  ASSERT_TRUE(owner.Append(run, kStepStarted, "a"));
  std::filesystem::copy(path_, directory_ / "left");
  mark.PutBack(directory_ / "left");
  const std::filesystem::path log = NewestLog(directory_ / "left");
  const std::string whole = FileText(log);
  std::string half = whole;
  half[EndOfRecords(half) - 1] = '\0';
  std::ofstream(log, std::ios::binary) << half;
  auto reader = OpenRocksdbStore(directory_ / "left", {.read_only = true});
  ASSERT_TRUE(reader) << ToString(reader.error());
  EXPECT_EQ((*(*reader)->Read()->FindRun(RunId("run-1")))->state.last_seq, EventSeq(2));
  std::fstream(log, std::ios::binary | std::ios::in | std::ios::out) << whole;
  ASSERT_TRUE((*reader)->Refresh());
  EXPECT_EQ((*(*reader)->Read()->FindRun(RunId("run-1")))->state.last_seq, EventSeq(3));
}

}  // namespace
}  // namespace everstep
