// Damages log files that hold a single write each, so that nothing in a damaged file proves that it
// held one. The other files and the mark have to.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "store/key_value.h"
#include "store/rocksdb_key_value.h"
#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

constexpr StoreOptions kSmallBuffers{.write_buffer_bytes = 2 << 20};

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A store whose log files hold one write each, which is still needed from there, as a killed
// process leaves it. No write follows in the same file that could prove that there was one.
class StoreDamageOfLogs : public testing::Test {
 protected:
  StoreDamageOfLogs() {
    auto store = OpenRocksdbKeyValue(directory_ / "owned", kSmallBuffers, clock_);
    EXPECT_TRUE(store) << ToString(store.error());
    for (int row = 0; row < kRows; ++row) {
      const auto batch = (*store)->NewBatch();
      // The first row fills a table, so that the next write goes to a new log file. The second one
      // stays in the log.
      batch->Put(Table::kEvents, Key(row), std::string(600'000, 'x'));
      batch->Put(Table::kIndex, Key(row), "here");
      EXPECT_TRUE((*store)->Write(*batch));
    }
    EXPECT_TRUE((*store)->Health());
    for (int attempt = 0; attempt < 100 && !fs::exists(killed_); ++attempt) {
      std::error_code failed;
      fs::copy(directory_ / "owned", scratch_, failed);
      if (!failed && OpenRocksdbKeyValue(scratch_, {.read_only = true}, clock_)) {
        fs::rename(scratch_, killed_);
      }
      fs::remove_all(scratch_);
    }
    EXPECT_TRUE(fs::exists(killed_));
    for (const auto& entry : fs::directory_iterator(killed_)) {
      if (entry.path().extension() != ".log") continue;
      const std::string bytes = ReadFile(entry.path());
      if (bytes.find_first_not_of('\0') != std::string::npos)
        logs_.push_back(entry.path().filename());
    }
    std::ranges::sort(logs_);
  }

  static std::string Key(int row) { return "row-" + std::to_string(row); }

  // Damages a copy. It must be refused, and by a reader, too, or lack nothing.
  void Try(const std::string& what, const std::function<void(const fs::path& store)>& damage) {
    fs::remove_all(scratch_);
    fs::copy(killed_, scratch_);
    damage(scratch_);
    ++cases_;
    for (const bool read_only : {true, false}) {
      StoreOptions options = kSmallBuffers;
      options.read_only = read_only;
      const auto store = OpenRocksdbKeyValue(scratch_, options, clock_);
      if (!store) {
        EXPECT_EQ(store.error().code, ErrorCode::kStoreCorrupt) << what;
        refused_ += read_only ? 0 : 1;
        continue;
      }
      for (int row = 0; row < kRows; ++row) {
        const auto value = (*store)->View()->Get(Table::kIndex, Key(row));
        EXPECT_TRUE(value && *value == "here")
            << what << ": row " << row << " is missing without an error"
            << (read_only ? " in a reader" : "");
      }
    }
  }
  static void Zero(const fs::path& file) {
    WriteFile(file, std::string(fs::file_size(file), '\0'));
  }

  static constexpr int kRows = 20;
  TemporaryDirectory directory_;
  ManualClock clock_;
  const std::string killed_ = directory_ / "killed";
  const std::string scratch_ = directory_ / "scratch";
  std::vector<std::string> logs_;  // those with a write, oldest first
  int cases_ = 0;
  int refused_ = 0;
};

TEST_F(StoreDamageOfLogs, WithOneWriteEachIsNoticed) {
  ASSERT_GE(logs_.size(), 3U);
  Try("nothing", [](const fs::path&) {});
  ASSERT_EQ(refused_, 0);
  std::mt19937 random(1);
  for (const std::string& name : logs_) {
    Try(name + " zeroed", [&](const fs::path& store) { Zero(store / name); });
    Try(name + " removed", [&](const fs::path& store) { fs::remove(store / name); });
    const std::string bytes = ReadFile(fs::path(killed_) / name);
    const std::size_t end = bytes.find_last_not_of('\0') + 1;
    for (int i = 0; i < 20; ++i) {
      const std::size_t at = i < 12 ? static_cast<std::size_t>(i) : random() % end;
      const std::size_t length = random() % end;
      Try(name + " bit flipped at " + std::to_string(at), [&](const fs::path& store) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
        WriteFile(store / name, damaged);
      });
      Try(name + " cut off at " + std::to_string(length),
          [&](const fs::path& store) { fs::resize_file(store / name, length); });
    }
  }
  for (int i = 0; i < 30; ++i) {
    Try("some zeroed, round " + std::to_string(i), [&](const fs::path& store) {
      const std::string& one = logs_[random() % logs_.size()];
      for (const std::string& name : logs_) {
        if (name == one || random() % 2 == 0) Zero(store / name);
      }
    });
  }
  EXPECT_EQ(refused_, cases_ - 1);
  std::printf("%d of %d stores with damaged log files were refused\n", refused_, cases_);
}

}  // namespace
}  // namespace everstep
