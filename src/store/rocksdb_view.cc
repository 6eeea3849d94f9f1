#include "store/rocksdb_view.h"

#include <utility>

#include "base/assert.h"
#include "store/table_reads.h"

namespace everstep {
namespace {

std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// Rows of a table at a snapshot.
//
// A RocksDB 7.8 iterator can lose the error of a file or block that it cannot read when it moves
// from one file to the next, and then continues as if the rows did not exist
// (https://github.com/facebook/rocksdb/pull/11783). An iterator that ignores range deletions does
// not. So after each move that has read table files, such an iterator repeats the move: it sees
// more rows, but it finds the same blocks in the cache and fails at the one that is missing there.
class RocksdbCursor final : public Cursor {
 public:
  RocksdbCursor(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* table,
                const rocksdb::ReadOptions& options, ReadFaults& faults)
      : db_(db),
        table_(table),
        options_(options),
        at_(db.NewIterator(options, table)),
        faults_(faults) {}

  void Seek(std::string_view key) {
    const std::uint64_t reads = TableReads();
    at_->Seek(RowSlice(key));
    if (TableReads() != reads) [[unlikely]]
      RepeatForward(RowSlice(key));
  }
  void SeekForPrev(std::string_view key) {
    const std::uint64_t reads = TableReads();
    at_->SeekForPrev(RowSlice(key));
    if (TableReads() != reads) [[unlikely]]
      RepeatBackward(RowSlice(key));
  }
  bool Valid() const override { return damage_.ok() && at_->Valid(); }
  void Next() override {
    from_.assign(key());
    const std::uint64_t reads = TableReads();
    at_->Next();
    if (TableReads() != reads) [[unlikely]]
      RepeatForward(RowSlice(from_));
  }
  void Prev() override {
    from_.assign(key());
    const std::uint64_t reads = TableReads();
    at_->Prev();
    if (TableReads() != reads) [[unlikely]]
      RepeatBackward(RowSlice(from_));
  }
  std::string_view key() const override { return ToView(at_->key()); }
  std::string_view value() const override { return ToView(at_->value()); }
  Status status() const override {
    if (!damage_.ok()) return faults_.Of(damage_);
    const rocksdb::Status status = at_->status();
    if (!status.ok()) return faults_.Of(status);
    return Ok();
  }

 private:
  void RepeatForward(const rocksdb::Slice& from) {
    if (!at_->status().ok()) return;
    rocksdb::Iterator& all = AllRows();
    all.Seek(from);
    while (all.Valid() && (!at_->Valid() || all.key().compare(at_->key()) < 0)) all.Next();
    damage_ = all.status();
  }
  void RepeatBackward(const rocksdb::Slice& from) {
    if (!at_->status().ok()) return;
    rocksdb::Iterator& all = AllRows();
    all.SeekForPrev(from);
    while (all.Valid() && (!at_->Valid() || all.key().compare(at_->key()) > 0)) all.Prev();
    damage_ = all.status();
  }
  rocksdb::Iterator& AllRows() {
    if (all_ == nullptr) {
      rocksdb::ReadOptions options = options_;
      options.ignore_range_deletions = true;
      all_.reset(db_.NewIterator(options, table_));
    }
    return *all_;
  }

  rocksdb::DB& db_;
  rocksdb::ColumnFamilyHandle* const table_;
  const rocksdb::ReadOptions& options_;
  const std::unique_ptr<rocksdb::Iterator> at_;
  std::unique_ptr<rocksdb::Iterator> all_;  // created when needed
  std::string from_;                        // the row before the current move
  rocksdb::Status damage_;
  ReadFaults& faults_;
};

}  // namespace

bool IsMissing(const rocksdb::Status& status) {
  return status.IsPathNotFound() || status.IsNotFound() ||
         (status.IsIOError() && status.ToString().find("No such file") != std::string::npos);
}

bool IsDamage(const rocksdb::Status& status) { return status.IsCorruption() || IsMissing(status); }

Error ReadFaults::Of(const rocksdb::Status& status) {
  EVERSTEP_ASSERT(!status.ok());
  Error error{
      IsDamage(status) ? ErrorCode::kStoreCorrupt : ErrorCode::kStoreIo, status.ToString(), {}};
  if (error.code == ErrorCode::kStoreCorrupt) {
    const std::lock_guard lock(mutex_);
    if (!first_damage_) first_damage_ = error;
  }
  return error;
}

thread_local rocksdb::WriteBatch RocksdbBatch::spare_;

Result<std::optional<std::string>> RocksdbView::Get(Table table, std::string_view key) {
  std::string value;
  const rocksdb::Status status = db_.Get(options_, Handle(table), RowSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return faults_.Of(status);
  return std::optional(std::move(value));
}

std::unique_ptr<Cursor> RocksdbView::Seek(Table table, std::string_view key) {
  auto cursor = std::make_unique<RocksdbCursor>(db_, Handle(table), options_, faults_);
  cursor->Seek(key);
  return cursor;
}

std::unique_ptr<Cursor> RocksdbView::SeekForPrev(Table table, std::string_view key) {
  auto cursor = std::make_unique<RocksdbCursor>(db_, Handle(table), options_, faults_);
  cursor->SeekForPrev(key);
  return cursor;
}

}  // namespace everstep
