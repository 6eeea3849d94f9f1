#include "store/store_mark.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

class StoreMarkFile : public testing::Test {
 protected:
  void Flip(std::streamoff at) {
    std::fstream file(path_ + "/MARK", std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(at);
    file.put(byte);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path();
};

TEST_F(StoreMarkFile, IsReadAsItWasWritten) {
  const HighWater from{1, 2, 3, 4, 5, 6};
  auto mark = StoreMark::Create(path_, from);
  ASSERT_TRUE(mark) << ToString(mark.error());
  EXPECT_EQ(*ReadMark(path_), from);
  (*mark)->LogSynced(7, 100, 3);
  EXPECT_EQ(*ReadMark(path_), from);  // kept in memory only
  ASSERT_TRUE((*mark)->RowsWritten(9));
  EXPECT_EQ(*ReadMark(path_), (HighWater{9, 7, 100, 4, 5, 6, 7, 3}));
  ASSERT_TRUE((*mark)->LogDropped(6));
  ASSERT_TRUE((*mark)->ManifestSynced(8, 50));
  ASSERT_TRUE((*mark)->ManifestInUse());
  const HighWater last{9, 7, 100, 6, 8, 50, 7, 3};
  EXPECT_EQ(*ReadMark(path_), last);
  mark->reset();
  EXPECT_EQ((*StoreMark::Open(path_))->high_water(), last);
}

TEST_F(StoreMarkFile, NamesAManifestWhenCurrentNamesIt) {
  auto mark = StoreMark::Create(path_, {1, 2, 3, 0, 5, 60});
  ASSERT_TRUE(mark);
  ASSERT_TRUE((*mark)->ManifestSynced(8, 50));
  EXPECT_EQ(ReadMark(path_)->manifest_number, 5U);
  ASSERT_TRUE((*mark)->ManifestSynced(8, 55));
  ASSERT_TRUE((*mark)->RowsWritten(2));
  EXPECT_EQ(ReadMark(path_)->manifest_bytes, 60U);
  ASSERT_TRUE((*mark)->ManifestInUse());
  EXPECT_EQ(*ReadMark(path_), (HighWater{2, 2, 3, 0, 8, 55}));
  ASSERT_TRUE((*mark)->ManifestInUse());
  ASSERT_TRUE((*mark)->ManifestSynced(8, 70));
  EXPECT_EQ(*ReadMark(path_), (HighWater{2, 2, 3, 0, 8, 70}));
}

TEST_F(StoreMarkFile, NeverGoesBack) {
  auto mark = StoreMark::Create(path_, {5, 5, 50, 3, 9, 90});
  ASSERT_TRUE(mark);
  (*mark)->LogSynced(4, 1000, 0);
  (*mark)->LogSynced(5, 40, 0);
  ASSERT_TRUE((*mark)->RowsWritten(4));
  ASSERT_TRUE((*mark)->LogDropped(2));
  ASSERT_TRUE((*mark)->ManifestSynced(8, 1000));
  EXPECT_EQ(*ReadMark(path_), (HighWater{5, 5, 50, 3, 9, 90}));
}

TEST_F(StoreMarkFile, SaysWithWhichRowTheOldestLogInUseBegins) {
  auto mark = StoreMark::Create(path_, {});
  ASSERT_TRUE(mark);
  const auto oldest = [&](std::uint64_t last_row) {
    EXPECT_TRUE((*mark)->RowsWritten(last_row));
    const HighWater at = *ReadMark(path_);
    return std::pair(at.first_log, at.first_row);
  };
  EXPECT_EQ(oldest(0), std::pair(0UL, 0UL));
  (*mark)->LogSynced(4, 0, 0);  // it has no row yet
  EXPECT_EQ(oldest(0), std::pair(0UL, 0UL));
  (*mark)->LogSynced(4, 10, 1);
  (*mark)->LogSynced(4, 20, 1);
  EXPECT_EQ(oldest(2), std::pair(4UL, 1UL));
  (*mark)->LogSynced(7, 10, 3);
  (*mark)->LogSynced(9, 10, 4);
  EXPECT_EQ(oldest(4), std::pair(4UL, 1UL));
  ASSERT_TRUE((*mark)->LogDropped(4));
  EXPECT_EQ(oldest(4), std::pair(7UL, 3UL));
  ASSERT_TRUE((*mark)->LogDropped(9));
  EXPECT_EQ(oldest(4), std::pair(0UL, 0UL));
  (*mark)->LogSynced(12, 10, 5);
  EXPECT_EQ(oldest(5), std::pair(12UL, 5UL));
  mark->reset();
  // The next owner knows the oldest log only from the file.
  mark = StoreMark::Open(path_);
  (*mark)->LogSynced(14, 10, 6);
  EXPECT_EQ(oldest(6), std::pair(12UL, 5UL));
  ASSERT_TRUE((*mark)->LogDropped(12));
  EXPECT_EQ(oldest(6), std::pair(14UL, 6UL));
}

TEST_F(StoreMarkFile, OfAnEarlierVersionIsRead) {
  // The first record of a mark as versions without first_log wrote it, last_row being 7.
  std::string bytes = "everstep";
  ByteWriter writer(bytes);
  for (const std::uint64_t number : {1U, 7U, 3U, 40U, 2U, 5U, 60U}) writer.U64(number);
  writer.U32(Crc32c(bytes));
  bytes.resize(8192, '\0');
  std::ofstream(path_ + "/MARK", std::ios::binary) << bytes;
  EXPECT_EQ(*ReadMark(path_), (HighWater{7, 3, 40, 2, 5, 60, 0, 0}));
}

TEST_F(StoreMarkFile, WithOneRecordDamagedSaysWhatItSaidBefore) {
  auto mark = StoreMark::Create(path_, {});
  ASSERT_TRUE(mark);
  ASSERT_TRUE((*mark)->RowsWritten(1));  // the third record, in the second place
  ASSERT_TRUE((*mark)->RowsWritten(2));  // the fourth, in the first place
  Flip(20);
  EXPECT_EQ(ReadMark(path_)->last_row, 1U);
  ASSERT_TRUE((*StoreMark::Open(path_))->RowsWritten(3));
  EXPECT_EQ(ReadMark(path_)->last_row, 3U);
}

TEST_F(StoreMarkFile, WithBothRecordsDamagedIsRefused) {
  ASSERT_TRUE(StoreMark::Create(path_, {}));
  Flip(20);
  Flip(4096 + 20);
  EXPECT_EQ(ReadMark(path_).error().code, ErrorCode::kStoreCorrupt);
  EXPECT_EQ(StoreMark::Open(path_).error().code, ErrorCode::kStoreCorrupt);
  std::filesystem::remove(path_ + "/MARK");
  EXPECT_EQ(ReadMark(path_).error().code, ErrorCode::kStoreNotFound);
}

}  // namespace
}  // namespace everstep
