#include "store/rocksdb_view.h"

#include <utility>

#include "store/block_faults.h"

namespace everstep {
namespace {

std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

class RocksdbCursor final : public Cursor {
 public:
  RocksdbCursor(std::unique_ptr<rocksdb::Iterator> at, ReadFaults& faults)
      : at_(std::move(at)), faults_(faults) {}

  void Seek(std::string_view key) {
    Move([&] { at_->Seek(RowSlice(key)); });
  }
  void SeekForPrev(std::string_view key) {
    Move([&] { at_->SeekForPrev(RowSlice(key)); });
  }
  bool Valid() const override { return damage_.empty() && at_->Valid(); }
  void Next() override {
    Move([&] { at_->Next(); });
  }
  void Prev() override {
    Move([&] { at_->Prev(); });
  }
  std::string_view key() const override { return ToView(at_->key()); }
  std::string_view value() const override { return ToView(at_->value()); }
  Status status() const override {
    if (!damage_.empty()) return faults_.Of(rocksdb::Status::Corruption(damage_));
    const rocksdb::Status status = at_->status();
    if (!status.ok()) return faults_.Of(status);
    return Ok();
  }

 private:
  template <typename Movement>
  void Move(const Movement& move) {
    const std::uint64_t before = BlockFaultsMet();
    move();
    if (BlockFaultsMet() != before) [[unlikely]]
      damage_ = LastBlockFault();
  }

  std::unique_ptr<rocksdb::Iterator> at_;
  ReadFaults& faults_;
  std::string damage_;  // a block that the walk could not read
};

}  // namespace

bool IsMissing(const rocksdb::Status& status) {
  return status.IsPathNotFound() || status.IsNotFound() ||
         (status.IsIOError() && status.ToString().find("No such file") != std::string::npos);
}

bool IsDamage(const rocksdb::Status& status) { return status.IsCorruption() || IsMissing(status); }

Error ReadFaults::Of(const rocksdb::Status& status) {
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
  std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(options_, Handle(table)));
  auto cursor = std::make_unique<RocksdbCursor>(std::move(at), faults_);
  cursor->Seek(key);
  return cursor;
}

std::unique_ptr<Cursor> RocksdbView::SeekForPrev(Table table, std::string_view key) {
  std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(options_, Handle(table)));
  auto cursor = std::make_unique<RocksdbCursor>(std::move(at), faults_);
  cursor->SeekForPrev(key);
  return cursor;
}

}  // namespace everstep
