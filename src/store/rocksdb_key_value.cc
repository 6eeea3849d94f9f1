#include "store/rocksdb_key_value.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/write_batch.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <filesystem>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "store/corrupt_row.h"
#include "store/free_space.h"
#include "store/keyed_store.h"
#include "store/log_files.h"
#include "store/row_memtable.h"
#include "store/store_directory.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

Error ReadError(const rocksdb::Status& status) {
  return {status.IsCorruption() ? ErrorCode::kStoreCorrupt : ErrorCode::kStoreIo,
          status.ToString(),
          {}};
}

using Handles = std::array<rocksdb::ColumnFamilyHandle*, kTableCount>;

// To make a buffer anew for each batch, larger and larger, takes as long as to fill it: a thread
// keeps that of its last.
class RocksdbBatch final : public WriteBatch {
 public:
  explicit RocksdbBatch(const Handles& handles) : handles_(handles), batch_(std::move(spare_)) {
    batch_.Clear();
  }
  ~RocksdbBatch() override {
    if (batch_.GetDataSize() <= kSpareBytesMax) spare_ = std::move(batch_);
  }

  void Put(Table table, std::string_view key, std::string_view value) override {
    Note(batch_.Put(Handle(table), ToSlice(key), ToSlice(value)));
  }
  void Delete(Table table, std::string_view key) override {
    Note(batch_.Delete(Handle(table), ToSlice(key)));
  }
  void DeleteRange(Table table, std::string_view begin, std::string_view end) override {
    Note(batch_.DeleteRange(Handle(table), ToSlice(begin), ToSlice(end)));
  }

  rocksdb::WriteBatch& batch() { return batch_; }
  const rocksdb::Status& status() const { return status_; }

 private:
  rocksdb::ColumnFamilyHandle* Handle(Table table) const {
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

thread_local rocksdb::WriteBatch RocksdbBatch::spare_;

class RocksdbCursor final : public Cursor {
 public:
  explicit RocksdbCursor(std::unique_ptr<rocksdb::Iterator> at) : at_(std::move(at)) {}

  bool Valid() const override { return at_->Valid(); }
  void Next() override { at_->Next(); }
  void Prev() override { at_->Prev(); }
  std::string_view key() const override { return ToView(at_->key()); }
  std::string_view value() const override { return ToView(at_->value()); }
  Status status() const override {
    const rocksdb::Status status = at_->status();
    if (!status.ok()) return ReadError(status);
    return Ok();
  }

 private:
  std::unique_ptr<rocksdb::Iterator> at_;
};

// A secondary has no snapshots; its state stands still between two Refreshes, so there a view keeps
// Refresh out by a shared lock instead.
class RocksdbView final : public TableView {
 public:
  RocksdbView(rocksdb::DB& db, const Handles& handles, std::shared_mutex* refresh)
      : db_(db), handles_(handles) {
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

  Result<std::optional<std::string>> Get(Table table, std::string_view key) override {
    std::string value;
    const rocksdb::Status status = db_.Get(options_, Handle(table), ToSlice(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    if (!status.ok()) return ReadError(status);
    return std::optional(std::move(value));
  }
  std::unique_ptr<Cursor> Seek(Table table, std::string_view key) override {
    std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(options_, Handle(table)));
    at->Seek(ToSlice(key));
    return std::make_unique<RocksdbCursor>(std::move(at));
  }
  std::unique_ptr<Cursor> SeekForPrev(Table table, std::string_view key) override {
    std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(options_, Handle(table)));
    at->SeekForPrev(ToSlice(key));
    return std::make_unique<RocksdbCursor>(std::move(at));
  }

 private:
  rocksdb::ColumnFamilyHandle* Handle(Table table) const {
    return handles_[static_cast<std::size_t>(table)];
  }

  rocksdb::DB& db_;
  const Handles& handles_;
  std::shared_lock<std::shared_mutex> lock_;
  rocksdb::ReadOptions options_;
};

rocksdb::CompressionType FirstSupported(std::initializer_list<rocksdb::CompressionType> wanted) {
  const auto supported = rocksdb::GetSupportedCompressions();
  for (const rocksdb::CompressionType type : wanted) {
    if (std::ranges::find(supported, type) != supported.end()) return type;
  }
  return rocksdb::kNoCompression;
}

// What matters comes back as a status. RocksDB's own log is a file on the same disk, and Debian's
// build of the library aborts the process when it logs after that disk was full.
class SilentLogger final : public rocksdb::Logger {
 public:
  SilentLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::HEADER_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char*, std::va_list) override {}
};

rocksdb::DBOptions EngineOptions(const StoreOptions& options) {
  rocksdb::DBOptions engine;
  engine.create_if_missing = !options.read_only;
  engine.create_missing_column_families = !options.read_only;
  // Every write is synced before it is acknowledged. So a torn record at the end of the log is one
  // that nobody was told of, and recovery may end there; whatever lies behind it is dropped, which
  // keeps the order of commits. Log files are not used again: the old bytes behind the end cannot
  // be told from a torn record.
  engine.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  engine.recycle_log_file_num = 0;
  // A log file that was complete and has gone or shrunk is damage, not a torn end.
  engine.track_and_verify_wals_in_manifest = !options.read_only;
  engine.max_total_wal_size = 2 * options.write_buffer_bytes;
  engine.db_write_buffer_size = options.write_buffer_bytes;
  // One thread writes.
  engine.allow_concurrent_memtable_write = false;
  engine.enable_write_thread_adaptive_yield = false;
  engine.max_background_jobs = 2;
  engine.bytes_per_sync = 1 << 20;
  // A secondary must hold its files open: the owner may delete them meanwhile.
  engine.max_open_files = options.read_only ? -1 : 512;
  engine.max_file_opening_threads = 2;
  engine.table_cache_numshardbits = 4;
  engine.max_manifest_file_size = 16 << 20;
  engine.info_log = std::make_shared<SilentLogger>();
  engine.stats_dump_period_sec = 0;
  engine.stats_persist_period_sec = 0;
  return engine;
}

rocksdb::ColumnFamilyOptions TableOptions(Table table, const StoreOptions& options,
                                          const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.block_cache = cache;
  // Indexes and filters count against the cache, so that memory has one bound.
  blocks.cache_index_and_filter_blocks = true;
  blocks.pin_l0_filter_and_index_blocks_in_cache = true;
  blocks.format_version = 5;
  if (table == Table::kRuns || table == Table::kKeys || table == Table::kEntities) {
    blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    blocks.whole_key_filtering = true;
  }
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = options.write_buffer_bytes / 4;
  family.arena_block_size = 256 << 10;
  family.max_write_buffer_number = 3;
  family.level_compaction_dynamic_level_bytes = true;
  family.compression = rocksdb::kNoCompression;
  if (table == Table::kEvents) {
    // Payloads are JSON and most of the bytes. Compressed alike on every level, so that files which
    // follow each other, as those of a long run do, move down without being written again.
    family.compression = FirstSupported({rocksdb::kLZ4Compression});
    blocks.block_size = 16 << 10;
  } else {
    // Rows that are written again and again, in no order of time: each compaction rewrites what it
    // meets below, so let there be fewer of them. Filters keep lookups cheap meanwhile.
    family.level0_file_num_compaction_trigger = 8;
  }
  family.memtable_factory = NewRowMemtables();
  if (table == Table::kKeys) {
    // Nearly every append asks for a key that is not there.
    family.memtable_prefix_bloom_size_ratio = 0.02;
    family.memtable_whole_key_filtering = true;
  }
  if (table == Table::kIndex) {
    // Timers, states and the outbox leave deleted rows behind; files full of them are rewritten
    // early, so that walks do not cross them.
    family.table_properties_collector_factories.push_back(
        rocksdb::NewCompactOnDeletionCollectorFactory(4096, 1024));
  }
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  return family;
}

std::vector<rocksdb::ColumnFamilyDescriptor> Families(const StoreOptions& options) {
  constexpr int kCacheShardBits = 2;
  const auto cache = rocksdb::NewLRUCache(options.cache_bytes, kCacheShardBits);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (int i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    // RocksDB insists on a family of its own name; it serves as the first table.
    const std::string name =
        table == Table::kMeta ? rocksdb::kDefaultColumnFamilyName : std::string(Name(table));
    families.emplace_back(name, TableOptions(table, options, cache));
  }
  return families;
}

// A directory of our own that goes with us.
class PrivateDirectory {
 public:
  static Result<std::unique_ptr<PrivateDirectory>> Make() {
    std::error_code failed;
    std::string path = fs::temp_directory_path(failed) / "everstep-reader-XXXXXX";
    if (failed || ::mkdtemp(path.data()) == nullptr) {
      return Error{ErrorCode::kStoreIo, path + ": cannot make a temporary directory", {}};
    }
    return std::unique_ptr<PrivateDirectory>(new PrivateDirectory(std::move(path)));
  }
  ~PrivateDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class RocksdbKeyValue final : public KeyValue {
 public:
  RocksdbKeyValue(std::string directory, const StoreOptions& options, Clock& clock)
      : directory_(std::move(directory)),
        options_(options),
        free_space_(options.free_bytes_min, clock, [this] { return FreeBytesOf(directory_); }),
        env_(options.read_only ? NewVisitorsEnv() : NewOwnersEnv()) {}
  ~RocksdbKeyValue() override;

  Status Open();

  std::unique_ptr<TableView> View() override {
    return std::make_unique<RocksdbView>(*db_, handles_, options_.read_only ? &refresh_ : nullptr);
  }
  std::unique_ptr<WriteBatch> NewBatch() override {
    return std::make_unique<RocksdbBatch>(handles_);
  }
  Status Write(WriteBatch& batch) override;
  Status Refresh() override;
  Status Backup(const std::string& directory) override;
  Status Compact() override;
  std::uint64_t DiskBytes() override;

 private:
  Error OpenError(const rocksdb::Status& status) const;

  const std::string directory_;
  const StoreOptions options_;
  FreeSpace free_space_;
  std::shared_mutex refresh_;
  std::unique_ptr<PrivateDirectory> private_;  // of a secondary
  const std::unique_ptr<rocksdb::Env> env_;    // the database's, for as long as it is open
  Handles handles_{};
  std::unique_ptr<rocksdb::DB> db_;
};

RocksdbKeyValue::~RocksdbKeyValue() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
  db_->Close();
  db_.reset();  // before the directory of a secondary goes
}

Status RocksdbKeyValue::Open() {
  const Status prepared = PrepareStoreDirectory(directory_, options_);
  if (!prepared) return prepared;
  rocksdb::DBOptions engine = EngineOptions(options_);
  engine.env = env_.get();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  rocksdb::Status opened;
  if (options_.read_only) {
    auto made = PrivateDirectory::Make();
    if (!made) return std::move(made).error();
    private_ = std::move(*made);
    opened = rocksdb::DB::OpenAsSecondary(engine, directory_, private_->path(), Families(options_),
                                          &handles, &db);
  } else {
    opened = rocksdb::DB::Open(engine, directory_, Families(options_), &handles, &db);
  }
  if (!opened.ok()) return OpenError(opened);
  db_.reset(db);
  std::ranges::copy(handles, handles_.begin());
  return options_.read_only ? Refresh() : Ok();
}

Error RocksdbKeyValue::OpenError(const rocksdb::Status& status) const {
  const std::string text = status.ToString();
  // RocksDB has no code for this; both messages it gives name the lock file.
  if (status.IsIOError() && text.find(directory_ + "/LOCK") != std::string::npos) {
    return {ErrorCode::kStoreLocked, directory_ + ": another process owns the store", {}};
  }
  if (status.IsCorruption()) return {ErrorCode::kStoreCorrupt, directory_ + ": " + text, {}};
  return {ErrorCode::kStoreIo, directory_ + ": " + text, {}};
}

Status RocksdbKeyValue::Write(WriteBatch& batch) {
  const Status free = free_space_.Check();
  if (!free) return Error{free.error().code, directory_ + ": " + free.error().message, {}};
  auto& rows = static_cast<RocksdbBatch&>(batch);
  // Counting each comparison of keys takes a tenth of the time of a write.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const rocksdb::Status status =
      rows.status().ok() ? db_->Write(synced, &rows.batch()) : rows.status();
  if (status.ok()) return Ok();
  // A disk that fills up may do so in the middle of the log's record or behind it.
  const std::string reason = status.IsNoSpace() ? "the disk is full" : "the write failed";
  return Error{
      ErrorCode::kIndeterminate, directory_ + ": " + reason + ": " + status.ToString(), {}};
}

Status RocksdbKeyValue::Refresh() {
  if (!options_.read_only) return Ok();
  const std::lock_guard lock(refresh_);
  const rocksdb::Status status = db_->TryCatchUpWithPrimary();
  if (!status.ok()) return ReadError(status);
  return Ok();
}

Status RocksdbKeyValue::Backup(const std::string& directory) {
  if (options_.read_only) {
    return Error{ErrorCode::kStoreReadOnly, "only the owner of a store can back it up", {}};
  }
  std::error_code failed;
  if (fs::exists(directory, failed)) {
    return Error{ErrorCode::kStoreExists, directory + ": is there already", {}};
  }
  rocksdb::Checkpoint* created = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &created);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(created);
  if (status.ok()) status = checkpoint->CreateCheckpoint(directory);
  if (!status.ok()) return ReadError(status);
  return WriteFormatFile(directory);
}

Status RocksdbKeyValue::Compact() {
  if (options_.read_only) {
    return Error{ErrorCode::kStoreReadOnly, "only the owner of a store can compact it", {}};
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    const rocksdb::Status status = db_->CompactRange({}, handle, nullptr, nullptr);
    if (!status.ok()) return ReadError(status);
  }
  return Ok();
}

std::uint64_t RocksdbKeyValue::DiskBytes() {
  std::uint64_t bytes = 0;
  std::error_code failed;
  for (fs::directory_iterator entry(directory_, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code gone;  // files come and go meanwhile
    const std::uintmax_t size = entry->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<KeyValue>> OpenRocksdbKeyValue(const std::string& directory,
                                                      const StoreOptions& options, Clock& clock) {
  auto tables = std::make_unique<RocksdbKeyValue>(directory, options, clock);
  const Status opened = tables->Open();
  if (!opened) return opened.error();
  return std::unique_ptr<KeyValue>(std::move(tables));
}

Result<std::unique_ptr<StateStore>> OpenRocksdbStore(const std::string& directory,
                                                     const StoreOptions& options) {
  auto tables = OpenRocksdbKeyValue(directory, options, SystemClock());
  if (!tables) return std::move(tables).error();
  return OpenKeyedStore(std::move(*tables),
                        options.read_only ? StoreAccess::kReadOnly : StoreAccess::kOwner);
}

}  // namespace everstep
