#include "store/salvage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "store/state_store.h"
#include "testing/store_workbench.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using enum EventType;

// A store of which some column families have no table: its runs have no rows in `keys`.
class Salvage : public testing::Test {
 protected:
  Salvage() {
    StoreWorkbench bench(Open(path_));
    for (int i = 0; i < 5; ++i) Start(bench);
    EXPECT_TRUE(bench.store().Compact());
    for (int i = 0; i < 5; ++i) Start(bench);
  }

  static std::unique_ptr<StateStore> Open(const std::string& path) {
    auto store = OpenRocksdbStore(path, {});
    EXPECT_TRUE(store) << ToString(store.error());
    return store ? std::move(*store) : nullptr;
  }
  void Start(StoreWorkbench& bench) { bench.StartedRun("run-" + std::to_string(runs_++)); }
  // Removes the files with names that begin and end so.
  int Remove(const std::string& begin, const std::string& end = "") {
    int removed = 0;
    for (const fs::path& file : std::vector<fs::path>{fs::directory_iterator(path_), {}}) {
      const std::string name = file.filename();
      if (name.starts_with(begin) && name.ends_with(end)) removed += fs::remove(file) ? 1 : 0;
    }
    return removed;
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(path_ + "/" + name) << text;
  }
  Result<SalvageReport> Run() {
    return SalvageStore(path_, directory_ / "new", [](const StoredRun&, const Event&) {});
  }
  // Root reads every file. Without these capabilities of the calling thread, permissions count for
  // it too.
  Error RunWithoutPrivileges() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {};
    EXPECT_EQ(::syscall(SYS_capget, &header, caps), 0);
    const std::uint32_t held = caps[0].effective;
    caps[0].effective &= ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));
    EXPECT_EQ(::syscall(SYS_capset, &header, caps), 0);
    const auto report = Run();
    caps[0].effective = held;
    EXPECT_EQ(::syscall(SYS_capset, &header, caps), 0);
    EXPECT_FALSE(report);
    return report ? Error{} : report.error();
  }
  void ExpectAll() {
    const auto opened = OpenRocksdbStore(path_, {});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kStoreCorrupt) << ToString(opened.error());
    const auto report = Run();
    ASSERT_TRUE(report) << ToString(report.error());
    EXPECT_EQ(report->runs, static_cast<std::uint64_t>(runs_));
    EXPECT_THAT(report->incomplete, IsEmpty());
    EXPECT_FALSE(report->damage.empty());
    EXPECT_FALSE(report->rows_lost) << testing::PrintToString(report->damage);
    StoreWorkbench made(Open(directory_ / "new"));
    EXPECT_THAT(made.Faults(), IsEmpty());
    for (int i = 0; i < runs_; ++i) {
      EXPECT_TRUE(*made.Read()->FindRun(RunId("run-" + std::to_string(i)))) << i;
    }
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "store";
  int runs_ = 0;
};

TEST_F(Salvage, NeedsNoCurrent) {
  ASSERT_EQ(Remove("CURRENT"), 1);
  ExpectAll();
}

TEST_F(Salvage, KeepsTombstonesWithTheirTenants) {
  {
    StoreWorkbench bench(Open(path_));
    const std::vector<RunId> purged = {bench.StartedRun("gone").run_id()};
    ASSERT_TRUE(bench.store().Purge(purged, bench.now(), {}));
  }
  ASSERT_EQ(Remove("CURRENT"), 1);
  ExpectAll();
  const auto tombstone = Open(directory_ / "new")->Read()->FindTombstone(RunId("gone"));
  ASSERT_TRUE(tombstone && *tombstone);
  EXPECT_EQ((*tombstone)->tenant_id, "acme");
}

TEST_F(Salvage, NeedsNoManifest) {
  ASSERT_EQ(Remove("MANIFEST"), 1);
  ExpectAll();
}

TEST_F(Salvage, NeedsNeitherFormatNorCurrentNorMark) {
  ASSERT_EQ(Remove("CURRENT") + Remove("FORMAT") + Remove("MARK"), 3);
  ExpectAll();
}

TEST_F(Salvage, ReadsAStoreWhoseFormatWasReplacedByAnEarlierOne) {
  Write("FORMAT", "everstep log 1\n");
  ExpectAll();
}

TEST_F(Salvage, ReadsAllTablesIfTheManifestIsCutOff) {
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("MANIFEST")) fs::resize_file(entry.path(), entry.file_size() / 2);
  }
  ExpectAll();
}

TEST_F(Salvage, SaysThatRowsAreLostWithATable) {
  ASSERT_GT(Remove("", ".sst"), 0);
  const auto report = Run();
  ASSERT_TRUE(report) << ToString(report.error());
  EXPECT_EQ(report->runs, 5U);  // from the log files
  EXPECT_TRUE(report->rows_lost);
  EXPECT_THAT(report->damage, Contains(HasSubstr("No such file or directory")));
}

TEST_F(Salvage, SaysThatRowsAreLostWithALog) {
  for (const auto& entry : fs::directory_iterator(path_)) {
    if (entry.path().extension() != ".log" || entry.file_size() == 0) continue;
    std::ofstream(entry.path(), std::ios::binary) << std::string(entry.file_size(), '\0');
  }
  const auto report = Run();
  ASSERT_TRUE(report) << ToString(report.error());
  EXPECT_EQ(report->runs, 5U);
  EXPECT_TRUE(report->rows_lost);
}

TEST_F(Salvage, RefusesAStoreOfANewerFormat) {
  Write("FORMAT", "everstep log 9\n");
  const auto report = Run();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kStoreFormatNewer);
  EXPECT_FALSE(fs::exists(directory_ / "new"));
}

TEST_F(Salvage, DistinguishesMissingPermissionFromDamage) {
  ASSERT_EQ(::chmod((path_ + "/CURRENT").c_str(), 0), 0);
  const Error unreadable = RunWithoutPrivileges();
  ASSERT_EQ(::chmod(path_.c_str(), 0), 0);
  const Error closed = RunWithoutPrivileges();
  ASSERT_EQ(::chmod(path_.c_str(), 0700), 0);
  EXPECT_EQ(unreadable.code, ErrorCode::kStoreIo);
  EXPECT_THAT(unreadable.message, HasSubstr("CURRENT: Permission denied"));
  EXPECT_EQ(closed.code, ErrorCode::kStoreIo);
  EXPECT_THAT(closed.message, HasSubstr(path_ + ": Permission denied"));
  EXPECT_FALSE(fs::exists(directory_ / "new"));
}

}  // namespace
}  // namespace everstep
