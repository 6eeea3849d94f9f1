// What the owner of a store does when its files are moved, removed or replaced while it is open.

#include "store/held_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/state_store.h"
#include "testing/store_workbench.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using enum EventType;

class LiveFiles : public testing::Test {
 protected:
  LiveFiles() : bench_(Open(path_)) {
    bench_.StartedRun("run-1");
    EXPECT_TRUE(bench_.store().Health());
  }

  static std::unique_ptr<StateStore> Open(const std::string& path, StoreOptions options = {}) {
    auto store = OpenRocksdbStore(path, options);
    EXPECT_TRUE(store) << path << ": " << ToString(store.error());
    return store ? std::move(*store) : nullptr;
  }
  // The paths of the files whose names begin and end so, oldest first.
  std::set<fs::path> Files(const std::string& begin, const std::string& end) const {
    std::set<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(begin) && name.ends_with(end)) found.insert(entry.path());
    }
    return found;
  }
  std::set<fs::path> Logs() const { return Files("", ".log"); }
  static std::map<std::string, std::string> Contents(const std::string& path) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::directory_iterator(path)) {
      std::ifstream file(entry.path(), std::ios::binary);
      contents[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return contents;
  }
  static std::vector<std::string> Names(const std::map<std::string, std::string>& contents) {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : contents) names.push_back(name);
    return names;
  }
  static void ReplaceByItsCopy(const fs::path& file) {
    const fs::path copy = file.parent_path().parent_path() / "copy";
    fs::copy_file(file, copy);
    fs::rename(copy, file);
  }
  // Appends until there are two log files with rows that are in no table.
  void BeginSecondLog() {
    RunScribe& run = bench_.StartedRun("run-2");
    for (int i = 0; Logs().size() < 2 && i < 100; ++i) {
      const EventFacts facts{.error_message = std::string(100'000, 'x')};
      ASSERT_TRUE(bench_.Append(run, kStepStarted, "s" + std::to_string(i), facts));
    }
    ASSERT_EQ(Logs().size(), 2U);
  }
  // Nothing more may be acknowledged, and the reason must say that nothing is lost.
  void ExpectStoppedWithoutLoss(const std::string& lost) {
    const Status health = bench_.store().Health();
    ASSERT_FALSE(health);
    EXPECT_EQ(health.error().code, ErrorCode::kStoreStopped);
    EXPECT_THAT(health.error().message, HasSubstr(lost + " was removed, replaced or cut off"));
    EXPECT_THAT(health.error().message, HasSubstr("Nothing that was acknowledged is lost"));
    RunScribe& late = bench_.NewRun("late");
    EXPECT_FALSE(bench_.Append(late, kRunQueued));
    EXPECT_EQ(bench_.store().Health().error().code, ErrorCode::kStoreStopped);
  }
  void ExpectAllThereWhenReopened(std::initializer_list<const char*> runs) {
    bench_.Take(Open(path_));
    for (const char* run : runs) {
      EXPECT_TRUE(*bench_.Read()->FindRun(RunId(run))) << run;
    }
    EXPECT_FALSE(*bench_.Read()->FindRun(RunId("late")));
    EXPECT_THAT(bench_.Faults(), IsEmpty());
    bench_.StartedRun("after");
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "store";
  StoreWorkbench bench_;
};

TEST_F(LiveFiles, ALogThatIsRemovedLosesNothing) {
  const fs::path log = *Logs().rbegin();
  fs::remove(log);
  ExpectStoppedWithoutLoss(log.filename());
  bench_.Close();
  ExpectAllThereWhenReopened({"run-1"});
}

TEST_F(LiveFiles, NothingIsAcknowledgedIntoALogThatWasReplaced) {
  const fs::path log = *Logs().rbegin();
  ReplaceByItsCopy(log);
  RunScribe& late = bench_.NewRun("late");
  const Status written = bench_.Append(late, kRunQueued);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr(log.filename().string()));
  bench_.Close();
  ExpectAllThereWhenReopened({"run-1"});
}

TEST_F(LiveFiles, AnOlderLogThatIsRemovedLosesNothing) {
  bench_.Close();
  bench_.Take(Open(path_, {.write_buffer_bytes = 1 << 20}));
  BeginSecondLog();
  const fs::path log = *Logs().begin();
  fs::remove(log);
  ExpectStoppedWithoutLoss(log.filename());
  bench_.Close();
  ExpectAllThereWhenReopened({"run-1", "run-2"});
}

TEST_F(LiveFiles, ALogThatIsCutOffLosesNothing) {
  const fs::path log = *Logs().rbegin();
  fs::resize_file(log, 10);
  ExpectStoppedWithoutLoss(log.filename());
  bench_.Close();
  ExpectAllThereWhenReopened({"run-1"});
}

TEST_F(LiveFiles, WithoutAManifestNothingMoreIsWritten) {
  const fs::path manifest = *Files("MANIFEST", "").begin();
  fs::remove(manifest);
  const Status health = bench_.store().Health();
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code, ErrorCode::kStoreCorrupt);
  EXPECT_THAT(health.error().message, HasSubstr(manifest.filename().string()));
  EXPECT_THAT(health.error().message, HasSubstr("Stop this process"));
  EXPECT_THAT(health.error().message, HasSubstr("everstep log salvage"));
  RunScribe& late = bench_.NewRun("late");
  EXPECT_FALSE(bench_.Append(late, kRunQueued));
}

TEST_F(LiveFiles, FilesThatAreOverwrittenAreNoticed) {
  for (const char* name : {"CURRENT", "FORMAT", "MARK"}) {
    const std::string before = Contents(path_)[name];
    std::ofstream(path_ + "/" + name) << "everstep log 1\n";
    const Status health = bench_.store().Health();
    ASSERT_FALSE(health) << name;
    EXPECT_EQ(health.error().code, ErrorCode::kStoreCorrupt);
    EXPECT_THAT(health.error().message, HasSubstr(name));
    std::ofstream(path_ + "/" + name) << before;
    EXPECT_TRUE(bench_.store().Health()) << name;
  }
}

TEST_F(LiveFiles, ADirectoryThatIsReplacedBelongsToItsNewOwnerAlone) {
  bench_.StartedRun("run-2");
  fs::copy(path_, directory_ / "restored");
  fs::rename(path_, directory_ / "moved");
  fs::rename(directory_ / "restored", path_);
  // RocksDB refuses to open a path twice in one process.
  StoreWorkbench second(Open(directory_ / "./store"));
  second.StartedRun("second");
  ASSERT_TRUE(second.store().Compact());  // nothing is left to be done in the background
  const auto before = Contents(path_);

  RunScribe& late = bench_.NewRun("late");
  const Status written = bench_.Append(late, kRunQueued);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr(path_ + " was moved, removed or replaced"));
  EXPECT_EQ(bench_.store().Health().error().code, ErrorCode::kStoreStopped);
  (void)bench_.store().Compact();
  EXPECT_FALSE(bench_.store().Backup(directory_ / "backup"));
  bench_.Close();
  EXPECT_EQ(Names(Contents(path_)), Names(before));
  for (const auto& [name, bytes] : Contents(path_)) {
    EXPECT_TRUE(before.contains(name) && before.at(name) == bytes) << name;
  }

  second.StartedRun("third");
  second.Close();
  second.Take(Open(path_));
  for (const char* run : {"run-1", "run-2", "second", "third"}) {
    const auto found = second.Read()->FindRun(RunId(run));
    ASSERT_TRUE(found) << ToString(found.error());
    EXPECT_TRUE(*found) << run;
  }
  EXPECT_THAT(second.Faults(), IsEmpty());
  StoreWorkbench moved(Open(directory_ / "moved"));
  EXPECT_TRUE(*moved.Read()->FindRun(RunId("run-2")));
}

TEST_F(LiveFiles, ADirectoryThatIsMovedIsNoticedWithoutAWrite) {
  fs::rename(path_, directory_ / "moved");
  const Status health = bench_.store().Health();
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code, ErrorCode::kStoreStopped);
  fs::rename(directory_ / "moved", path_);
  bench_.Close();
  ExpectAllThereWhenReopened({"run-1"});
}

TEST_F(LiveFiles, ADirectoryThatIsRemovedStaysRemoved) {
  fs::remove_all(path_);
  RunScribe& late = bench_.NewRun("late");
  EXPECT_FALSE(bench_.Append(late, kRunQueued));
  (void)bench_.store().Compact();
  bench_.Close();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(LiveFiles, ABackupIsNoPartOfTheStore) {
  ASSERT_TRUE(bench_.store().Backup(directory_ / "backup"));
  fs::remove_all(directory_ / "backup");
  EXPECT_TRUE(bench_.store().Health());
  bench_.StartedRun("after");
}

}  // namespace
}  // namespace everstep
