#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "everstep/result.h"
#include "store/key_value.h"

namespace everstep {

// Batches and views of tables in RocksDB.

inline rocksdb::Slice RowSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// Whether the status says that a file is missing.
bool IsMissing(const rocksdb::Status& status);

// Whether the status means permanent damage: a damaged or missing file. Other failures may pass.
bool IsDamage(const rocksdb::Status& status);

// Converts statuses of RocksDB reads to errors and remembers the first damage. Thread-safe.
class ReadFaults {
 public:
  Error Of(const rocksdb::Status& status);
  std::optional<Error> first_damage() {
    const std::lock_guard lock(mutex_);
    return first_damage_;
  }

 private:
  std::mutex mutex_;
  std::optional<Error> first_damage_;
};

using Handles = std::array<rocksdb::ColumnFamilyHandle*, kTableCount>;

// Growing a new buffer for each batch takes as long as filling it, so each thread keeps the buffer
// of its last batch.
class RocksdbBatch final : public WriteBatch {
 public:
  explicit RocksdbBatch(const Handles& handles) : handles_(handles), batch_(std::move(spare_)) {
    batch_.Clear();
  }
  ~RocksdbBatch() override {
    if (batch_.GetDataSize() <= kSpareBytesMax) spare_ = std::move(batch_);
  }

  void Put(Table table, std::string_view key, std::string_view value) override {
    Note(batch_.Put(Handle(table), RowSlice(key), RowSlice(value)));
  }
  void Delete(Table table, std::string_view key) override {
    Note(batch_.Delete(Handle(table), RowSlice(key)));
  }
  void DeleteRange(Table table, std::string_view begin, std::string_view end) override {
    Note(batch_.DeleteRange(Handle(table), RowSlice(begin), RowSlice(end)));
  }

  rocksdb::WriteBatch& batch() { return batch_; }
  const rocksdb::Status& status() const { return status_; }

 private:
  rocksdb::ColumnFamilyHandle* Handle(Table table) const {
    EVERSTEP_ASSERT(static_cast<std::size_t>(table) < handles_.size());
    return handles_[static_cast<std::size_t>(table)];
  }
  void Note(rocksdb::Status status) {
    if (!status.ok()) status_ = std::move(status);
  }

  static constexpr std::size_t kSpareBytesMax = 256 << 10;
  static thread_local rocksdb::WriteBatch spare_;

  const Handles& handles_;
  rocksdb::WriteBatch batch_;
  rocksdb::Status status_;
};

// Reads from a snapshot. A secondary has no snapshots, but its state changes only in Refresh; there
// the view blocks Refresh with a shared lock instead.
class RocksdbView final : public TableView {
 public:
  RocksdbView(rocksdb::DB& db, const Handles& handles, std::shared_mutex* refresh,
              ReadFaults& faults)
      : db_(db), handles_(handles), faults_(faults) {
    if (refresh != nullptr) {
      lock_ = std::shared_lock(*refresh);
    } else {
      options_.snapshot = db_.GetSnapshot();
    }
  }
  ~RocksdbView() override {
    if (options_.snapshot != nullptr) db_.ReleaseSnapshot(options_.snapshot);
  }
  RocksdbView(const RocksdbView&) = delete;
  RocksdbView& operator=(const RocksdbView&) = delete;

  Result<std::optional<std::string>> Get(Table table, std::string_view key) override;
  std::unique_ptr<Cursor> Seek(Table table, std::string_view key) override;
  std::unique_ptr<Cursor> SeekForPrev(Table table, std::string_view key) override;

 private:
  rocksdb::ColumnFamilyHandle* Handle(Table table) const {
    EVERSTEP_ASSERT(handles_[static_cast<std::size_t>(table)] != nullptr);
    return handles_[static_cast<std::size_t>(table)];
  }

  rocksdb::DB& db_;
  const Handles& handles_;
  ReadFaults& faults_;
  std::shared_lock<std::shared_mutex> lock_;
  rocksdb::ReadOptions options_;
};

}  // namespace everstep
