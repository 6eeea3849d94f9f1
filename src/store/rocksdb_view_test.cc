#include "store/rocksdb_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/key_value.h"
#include "store/rocksdb_key_value.h"
#include "store/state_store.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kFiles = 5;
constexpr int kRowsPerFile = 40;

std::string Key(int row) {
  char key[16];
  std::snprintf(key, sizeof(key), "row%08d", row);
  return key;
}

struct Walked {
  std::vector<std::string> keys;
  Status end = Ok();
};

// Rows in several table files of one level: a walk moves from file to file.
class RocksdbWalk : public testing::Test {
 protected:
  RocksdbWalk() {
    const auto tables = Open(path_);
    std::mt19937 random(7);
    for (int file = 0; file < kFiles; ++file) {
      const auto batch = tables->NewBatch();
      for (int i = 0; i < kRowsPerFile; ++i) {
        std::string value(4000, '\0');  // cannot be compressed
        std::ranges::generate(value, [&] { return static_cast<char>(random()); });
        batch->Put(Table::kEvents, Key(file * kRowsPerFile + i), value);
      }
      EXPECT_TRUE(tables->Write(*batch));
      EXPECT_TRUE(tables->Compact());
    }
  }

  static std::unique_ptr<KeyValue> Open(const std::string& path) {
    auto tables = OpenRocksdbKeyValue(path, {}, SystemClock());
    EXPECT_TRUE(tables) << ToString(tables.error());
    return std::move(*tables);
  }
  static Walked Forward(KeyValue& tables) {
    const auto view = tables.View();
    Walked walk;
    const auto row = view->Seek(Table::kEvents, {});
    for (; row->Valid(); row->Next()) walk.keys.emplace_back(row->key());
    walk.end = row->status();
    return walk;
  }
  static Walked Backward(KeyValue& tables) {
    const auto view = tables.View();
    Walked walk;
    const auto row = view->SeekForPrev(Table::kEvents, "z");
    for (; row->Valid(); row->Prev()) walk.keys.emplace_back(row->key());
    walk.end = row->status();
    return walk;
  }
  // The table files with rows, in the order of their keys.
  static std::vector<fs::path> Files(const std::string& path) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path)) {
      const bool has_rows = entry.path().extension() == ".sst" && entry.file_size() > 100'000;
      if (has_rows) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
  }
  static void Overwrite(const fs::path& path, std::uintmax_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.write("\x55\xaa\x55\xaa", 4);
  }
  // Opens a copy of the tables, damages it, and walks over it in both directions.
  void ExpectDamage(const std::string& what,
                    const std::function<void(const std::string& path)>& damage) {
    const std::string copy = directory_ / "copy";
    for (const auto& walk : {&Forward, &Backward}) {
      fs::remove_all(copy);
      fs::copy(path_, copy);
      const auto tables = Open(copy);
      damage(copy);
      const Walked walked = walk(*tables);
      ASSERT_FALSE(walked.end) << what << ": " << walked.keys.size() << " rows without an error";
      EXPECT_EQ(walked.end.error().code, ErrorCode::kStoreCorrupt) << what;
      EXPECT_THAT(walked.end.error().message, HasSubstr(".sst")) << what;
      EXPECT_FALSE(tables->Health()) << what;
    }
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "tables";
};

TEST_F(RocksdbWalk, AWalkFailsAtADamagedBlockOfAnyFile) {
  ASSERT_EQ(Files(path_).size(), kFiles);
  for (int file = 0; file < kFiles; ++file) {
    const std::uintmax_t size = fs::file_size(Files(path_)[static_cast<std::size_t>(file)]);
    // In the first block of rows, in one of the middle, and in the last one.
    for (const std::uintmax_t at : {std::uintmax_t{10}, size / 2, size - 9000}) {
      ExpectDamage("file " + std::to_string(file) + " byte " + std::to_string(at),
                   [&](const std::string& path) {
                     Overwrite(Files(path)[static_cast<std::size_t>(file)], at);
                   });
    }
  }
}

TEST_F(RocksdbWalk, AWalkFailsAtAFileThatIsCutOff) {
  for (int file = 0; file < kFiles; ++file) {
    ExpectDamage("file " + std::to_string(file), [&](const std::string& path) {
      fs::resize_file(Files(path)[static_cast<std::size_t>(file)], 10);
    });
  }
}

TEST_F(RocksdbWalk, RowsOfADeletedRangeAreHidden) {
  {
    const auto tables = Open(path_);
    const auto batch = tables->NewBatch();
    batch->DeleteRange(Table::kEvents, Key(30), Key(130));
    batch->DeleteRange(Table::kEvents, Key(190), Key(200));
    ASSERT_TRUE(tables->Write(*batch));
  }
  std::vector<std::string> expected;
  for (int row = 0; row < 190; ++row) {
    if (row < 30 || row >= 130) expected.push_back(Key(row));
  }
  const Walked forward = Forward(*Open(path_));
  EXPECT_TRUE(forward.end);
  EXPECT_EQ(forward.keys, expected);
  std::ranges::reverse(expected);
  const Walked backward = Backward(*Open(path_));
  EXPECT_TRUE(backward.end);
  EXPECT_EQ(backward.keys, expected);
}

}  // namespace
}  // namespace everstep
