#include "store/row_memtable.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace everstep {
namespace {

std::string Key(int row) {
  char key[16];
  std::snprintf(key, sizeof(key), "row%08d", row);
  return key;
}

class RocksdbMemtable : public testing::Test {
 protected:
  RocksdbMemtable() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.env = disk_.get();
    options.memtable_factory = NewRowMemtables();
    options.allow_concurrent_memtable_write = false;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, "/memtable", &db).ok());
    db_.reset(db);
  }

  void Put(int row, const std::string& value) { EXPECT_TRUE(db_->Put({}, Key(row), value).ok()); }
  std::string Get(int row) {
    std::string value;
    return db_->Get({}, Key(row), &value).ok() ? value : "none";
  }
  std::unique_ptr<rocksdb::Iterator> Rows() {
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator({}));
  }

  const std::unique_ptr<rocksdb::Env> disk_{rocksdb::NewMemEnv(rocksdb::Env::Default())};
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(RocksdbMemtable, ARowIsReadAsItWasWrittenLast) {
  for (int row = 0; row < 500; ++row) Put(row, "first");
  for (int row = 0; row < 500; row += 2) Put(row, "second");
  EXPECT_TRUE(db_->Delete({}, Key(4)).ok());
  EXPECT_EQ(Get(1), "first");
  EXPECT_EQ(Get(2), "second");
  EXPECT_EQ(Get(4), "none");
  EXPECT_EQ(Get(500), "none");
}

TEST_F(RocksdbMemtable, WalksAreIndependent) {
  for (int row = 0; row < 500; ++row) Put(row, std::to_string(row));
  const auto up = Rows();
  const auto down = Rows();
  up->SeekToFirst();
  down->SeekToLast();
  for (int row = 0; row < 500; ++row, up->Next(), down->Prev()) {
    ASSERT_TRUE(up->Valid() && down->Valid());
    ASSERT_EQ(up->key(), Key(row));
    ASSERT_EQ(down->key(), Key(499 - row));
    ASSERT_EQ(Get(row), std::to_string(row));
  }
  EXPECT_FALSE(up->Valid() || down->Valid());
  up->SeekForPrev(Key(77));
  EXPECT_EQ(up->value(), "77");
}

TEST_F(RocksdbMemtable, AWalkOutlivesTheFlushOfItsRows) {
  for (int row = 0; row < 500; ++row) Put(row, "value");
  const auto walk = Rows();
  walk->SeekToFirst();
  EXPECT_TRUE(db_->Flush({}).ok());
  int rows = 0;
  for (; walk->Valid(); walk->Next()) ++rows;
  EXPECT_EQ(rows, 500);
}

TEST_F(RocksdbMemtable, RowsAreReadWhileRowsAreAddedAndFlushed) {
  std::atomic<int> written = 0;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      int before = 0;
      do {
        before = written.load();
        int rows = 0;
        const auto walk = Rows();
        for (walk->SeekToFirst(); walk->Valid(); walk->Next()) ASSERT_EQ(walk->key(), Key(rows++));
        ASSERT_GE(rows, before);
        if (before > 0) {
          ASSERT_EQ(Get(before - 1), "value");
        }
      } while (before < 2000);
    });
  }
  for (int row = 0; row < 2000; ++row) {
    Put(row, "value");
    written.store(row + 1);
    if (row % 500 == 499) {
      EXPECT_TRUE(db_->Flush({}).ok());
    }
  }
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace everstep
