#include "store/rocksdb_key_value.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/utilities/checkpoint.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "store/directory_lock.h"
#include "store/free_space.h"
#include "store/held_files.h"
#include "store/keyed_store.h"
#include "store/log_files.h"
#include "store/private_directory.h"
#include "store/rocksdb_options.h"
#include "store/rocksdb_view.h"
#include "store/store_directory.h"
#include "store/store_files.h"
#include "store/store_mark.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

// Opens all table files. RocksDB opens some of them only when a read needs them, and may then lose
// the error (store/rocksdb_view.cc).
rocksdb::Status OpenAllTables(rocksdb::DB& db,
                              const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  rocksdb::Status status;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    rocksdb::TablePropertiesCollection properties;
    if (status.ok()) status = db.GetPropertiesOfAllTables(handle, &properties);
  }
  return status;
}

// Remembers the damage that a compaction has found.
class CompactionWatch final : public rocksdb::EventListener {
 public:
  explicit CompactionWatch(ReadFaults& faults) : faults_(faults) {}
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    if (status->IsCorruption()) (void)faults_.Of(*status);
  }

 private:
  ReadFaults& faults_;
};

class RocksdbKeyValue final : public KeyValue {
 public:
  RocksdbKeyValue(std::string directory, const StoreOptions& options, Clock& clock)
      : directory_(std::move(directory)),
        options_(options),
        free_space_(options.free_bytes_min, clock, [this] { return FreeBytesOf(directory_); }) {}
  ~RocksdbKeyValue() override;

  Status Open();

  std::unique_ptr<TableView> View() override {
    return std::make_unique<RocksdbView>(*db_, handles_, options_.read_only ? &refresh_ : nullptr,
                                         faults_);
  }
  std::unique_ptr<WriteBatch> NewBatch() override {
    return std::make_unique<RocksdbBatch>(handles_);
  }
  Status Write(WriteBatch& batch) override;
  Status Refresh() override;
  Status Backup(const std::string& directory) override;
  Status Compact() override;
  Status Health() override;
  Status CheckFiles() override;
  std::uint64_t DiskBytes() override;

 private:
  Status TakeLock();
  Status OpenToWrite(const StoreDirectory& found);
  Status OpenToRead(const StoreDirectory& found);
  Status TakeMark(const StoreDirectory& found);
  Status CheckTables(bool has_mark) const;
  Status CheckTablesOnce(const HighWater& mark) const;
  Status CheckLastRow(std::uint64_t last_row, const HighWater& mark) const;
  void Take(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles);
  Status MayWrite();
  Status CheckLiveFiles();
  std::string FirstUnusableFile();
  std::optional<Error> StoppedBy() {
    const std::lock_guard lock(stop_mutex_);
    return stop_;
  }
  Error Stop();
  Error StopReason();
  bool MoveRowsToTables();
  Error OpenError(const rocksdb::Status& status) const;

  const std::string directory_;
  const StoreOptions options_;
  FreeSpace free_space_;
  std::shared_mutex refresh_;
  ReadFaults faults_;
  // The visitor's.
  std::unique_ptr<PrivateDirectory> private_;
  // The owner's.
  std::optional<DirectoryLock> lock_;
  std::unique_ptr<StoreMark> mark_;
  std::optional<HeldFiles> held_;
  std::mutex stop_mutex_;
  std::optional<Error> stop_;          // why nothing more is written; guarded by stop_mutex_
  std::unique_ptr<rocksdb::Env> env_;  // of both; must outlive db_
  Handles handles_{};
  std::unique_ptr<rocksdb::DB> db_;
};

RocksdbKeyValue::~RocksdbKeyValue() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
  db_->Close();
  db_.reset();  // before the secondary's directory is removed
}

Status RocksdbKeyValue::Open() {
  EVERSTEP_ASSERT(db_ == nullptr);
  if (!options_.read_only) {
    const Status locked = TakeLock();
    if (!locked) return locked;
  }
  const auto found = PrepareStoreDirectory(directory_, options_);
  if (!found) return found.error();
  return options_.read_only ? OpenToRead(*found) : OpenToWrite(*found);
}

// Must be called before anything in the directory is created or changed.
Status RocksdbKeyValue::TakeLock() {
  std::error_code failed;
  if (options_.create_if_missing) fs::create_directories(directory_, failed);
  if (failed) return Error{ErrorCode::kStoreIo, directory_ + ": " + failed.message(), {}};
  auto lock = DirectoryLock::Take(directory_);
  if (!lock && lock.error().code == ErrorCode::kStoreNotFound) {
    return Error{ErrorCode::kStoreNotFound, directory_ + ": there is no store", {}};
  }
  if (!lock) return std::move(lock).error();
  lock_ = std::move(*lock);
  return Ok();
}

Status RocksdbKeyValue::OpenToWrite(const StoreDirectory& found) {
  const Status marked = TakeMark(found);
  if (!marked) return marked;
  held_.emplace(directory_, *lock_);
  env_ = NewOwnersEnv(*mark_, *held_);
  rocksdb::DBOptions engine = EngineOptions(options_);
  engine.env = env_.get();
  engine.listeners.push_back(std::make_shared<CompactionWatch>(faults_));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const HighWater expected = mark_->high_water();
  const rocksdb::Status opened =
      rocksdb::DB::Open(engine, directory_, TableFamilies(options_), &handles, &db);
  if (!opened.ok()) return OpenError(opened);
  Take(db, handles);
  if (const rocksdb::Status read = OpenAllTables(*db_, handles); !read.ok()) return OpenError(read);
  const std::uint64_t last_row = db_->GetLatestSequenceNumber();
  Status noted = CheckLastRow(last_row, expected);
  // Only a store of a format with a mark has a mark that counts rows.
  if (noted && !found.has_mark) noted = WriteFormatFile(directory_);
  if (noted) noted = mark_->RowsWritten(last_row);
  return noted ? mark_->Sync() : noted;
}

Status RocksdbKeyValue::CheckLastRow(std::uint64_t last_row, const HighWater& mark) const {
  if (last_row >= mark.last_row) return Ok();
  return Error{ErrorCode::kStoreCorrupt,
               directory_ + ": its files hold " + std::to_string(last_row) + " rows, but " +
                   std::to_string(mark.last_row) + " were acknowledged. " +
                   DamageRemedy(directory_),
               {}};
}

Status RocksdbKeyValue::TakeMark(const StoreDirectory& found) {
  EVERSTEP_ASSERT(lock_.has_value());
  if (!found.is_new) {
    const Status intact = InspectStoreFiles(directory_, found.has_mark, Looker::kOwner);
    if (!intact) return intact;
  }
  // If the format has no mark, an existing mark was left by an interrupted open. It does not know
  // what was written since, so it is replaced.
  auto mark = found.has_mark ? StoreMark::Open(directory_) : StoreMark::Create(directory_, {});
  if (!mark) return std::move(mark).error();
  mark_ = std::move(*mark);
  return Ok();
}

// A secondary silently falls back to the newest state whose tables exist. While no owner is
// running, opening the database read-only reports missing or damaged tables instead. An owner that
// starts meanwhile removes files, but it has checked the tables itself.
Status RocksdbKeyValue::CheckTables(bool has_mark) const {
  constexpr int kLooks = 3;
  Status seen = Ok();
  for (int look = 0; look < kLooks; ++look) {
    if (DirectoryLockHeld(directory_)) return Ok();
    const auto before = ReadMark(directory_);
    seen = CheckTablesOnce(has_mark && before ? *before : HighWater());
    const auto after = ReadMark(directory_);
    if (seen || (before && after && *before == *after && !DirectoryLockHeld(directory_))) break;
  }
  return seen;
}

Status RocksdbKeyValue::CheckTablesOnce(const HighWater& mark) const {
  EVERSTEP_ASSERT(options_.read_only && env_ != nullptr);
  rocksdb::DBOptions engine = EngineOptions(options_);
  engine.env = env_.get();
  engine.track_and_verify_wals_in_manifest = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      rocksdb::DB::OpenForReadOnly(engine, directory_, TableFamilies(options_), &handles, &db);
  if (!opened.ok()) return OpenError(opened);
  const rocksdb::Status read = OpenAllTables(*db, handles);
  const std::uint64_t last_row = db->GetLatestSequenceNumber();
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  delete db;
  return read.ok() ? CheckLastRow(last_row, mark) : Status(OpenError(read));
}

Status RocksdbKeyValue::OpenToRead(const StoreDirectory& found) {
  const Status intact = InspectStoreFiles(directory_, found.has_mark, Looker::kVisitor);
  if (!intact) return intact;
  env_ = NewVisitorsEnv();
  const Status readable = CheckTables(found.has_mark);
  if (!readable) return readable;
  auto made = PrivateDirectory::Make();
  if (!made) return std::move(made).error();
  private_ = std::move(*made);
  rocksdb::DBOptions engine = EngineOptions(options_);
  engine.env = env_.get();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::OpenAsSecondary(
      engine, directory_, private_->path(), TableFamilies(options_), &handles, &db);
  if (!opened.ok()) return OpenError(opened);
  Take(db, handles);
  return Refresh();
}

void RocksdbKeyValue::Take(rocksdb::DB* db,
                           const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  EVERSTEP_ASSERT(db != nullptr && handles.size() == handles_.size());
  db_.reset(db);
  std::ranges::copy(handles, handles_.begin());
}

Error RocksdbKeyValue::OpenError(const rocksdb::Status& status) const {
  const std::string text = status.ToString();
  // An owner of an earlier version locks only this file. RocksDB has no status code for that.
  if (status.IsIOError() && text.find(directory_ + "/LOCK") != std::string::npos &&
      (text.find("lock hold by current process") != std::string::npos ||
       text.find(std::strerror(EAGAIN)) != std::string::npos)) {
    return {ErrorCode::kStoreLocked, directory_ + ": another process owns the store", {}};
  }
  if (!IsDamage(status)) return {ErrorCode::kStoreIo, directory_ + ": " + text, {}};
  return {ErrorCode::kStoreCorrupt, directory_ + ": " + text + ". " + DamageRemedy(directory_), {}};
}

Status RocksdbKeyValue::Write(WriteBatch& batch) {
  const Status may = MayWrite();
  if (!may) return may;
  const Status free = free_space_.Check();
  if (!free) return Error{free.error().code, directory_ + ": " + free.error().message, {}};
  auto& rows = static_cast<RocksdbBatch&>(batch);
  // Otherwise counting key comparisons takes a tenth of the time of a write.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const rocksdb::Status status =
      rows.status().ok() ? db_->Write(synced, &rows.batch()) : rows.status();
  if (status.ok()) return mark_->RowsWritten(db_->GetLatestSequenceNumber());
  // Also indeterminate if the disk is full: it may fill up in the middle of the log record or after
  // it.
  const std::string reason = status.IsNoSpace() ? "the disk is full" : "the write failed";
  return Error{
      ErrorCode::kIndeterminate, directory_ + ": " + reason + ": " + status.ToString(), {}};
}

Status RocksdbKeyValue::Refresh() {
  if (!options_.read_only) return Ok();
  const std::lock_guard lock(refresh_);
  const rocksdb::Status status = db_->TryCatchUpWithPrimary();
  if (!status.ok()) return faults_.Of(status);
  return Ok();
}

Status RocksdbKeyValue::Backup(const std::string& directory) {
  if (options_.read_only) {
    return Error{ErrorCode::kStoreReadOnly, "only the owner of a store can back it up", {}};
  }
  std::error_code failed;
  if (fs::exists(directory, failed)) {
    return Error{ErrorCode::kStoreExists, directory + ": already exists", {}};
  }
  if (!held_->DirectoryInPlace()) return Stop();
  const std::uint64_t last_row = db_->GetLatestSequenceNumber();
  rocksdb::Checkpoint* created = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &created);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(created);
  if (status.ok()) status = checkpoint->CreateCheckpoint(directory);
  if (!status.ok()) return faults_.Of(status);
  const auto measured = MeasureStoreFiles(directory);
  if (!measured) return measured.error();
  HighWater reaches = *measured;
  reaches.last_row = std::max(reaches.last_row, last_row);
  const auto mark = StoreMark::Create(directory, reaches);
  return mark ? WriteFormatFile(directory) : Status(mark.error());
}

Status RocksdbKeyValue::Health() {
  if (const auto damage = faults_.first_damage()) return *damage;
  return options_.read_only ? Ok() : CheckLiveFiles();
}

// Fails if a write would go to a file that nobody will find.
Status RocksdbKeyValue::MayWrite() {
  EVERSTEP_ASSERT(!options_.read_only && held_.has_value());
  if (const auto stop = StoppedBy()) return *stop;
  return held_->NewestLogInPlace() ? Ok() : Status(Stop());
}

// Checks that the files which the next open needs are there.
Status RocksdbKeyValue::CheckLiveFiles() {
  if (const auto stop = StoppedBy()) return *stop;
  if (!held_->DirectoryInPlace() || !held_->Lost().empty()) return Stop();
  // Look twice: between the two reads a file may be removed because it is no longer needed.
  std::string unusable = FirstUnusableFile();
  if (!unusable.empty()) unusable = FirstUnusableFile();
  if (unusable.empty()) return Ok();
  return Error{ErrorCode::kStoreCorrupt,
               directory_ + "/" + unusable +
                   " was removed, replaced or damaged while the store is open. Once closed, the "
                   "store cannot be opened again. Stop this process. " +
                   DamageRemedy(directory_),
               {}};
}

// Returns the name of a file that the store needs besides its log and MANIFEST, and which is
// missing or not what was written. Empty if there is none.
std::string RocksdbKeyValue::FirstUnusableFile() {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db_->GetLiveFilesMetaData(&tables);
  for (const rocksdb::LiveFileMetaData& table : tables) {
    std::error_code failed;
    const std::uintmax_t size = fs::file_size(directory_ + "/" + table.relative_filename, failed);
    if (failed || size < table.size) return table.relative_filename;
  }
  const auto manifest = CurrentManifest(directory_);
  if (!manifest || ManifestNumber(*manifest) != mark_->high_water().manifest_number) {
    return "CURRENT";
  }
  if (!HasNewestFormat(directory_)) return "FORMAT";
  return mark_->IsIntact() ? "" : "MARK";
}

// Takes no more writes, because the directory, the log or the MANIFEST is not in place. Returns why
// and what to do.
Error RocksdbKeyValue::Stop() {
  const std::lock_guard lock(stop_mutex_);
  if (!stop_) stop_ = StopReason();
  return *stop_;
}

Error RocksdbKeyValue::StopReason() {
  if (!held_->DirectoryInPlace()) {
    return {ErrorCode::kStoreStopped,
            directory_ +
                " was moved, removed or replaced while the store is open, so nothing more is "
                "written. What was acknowledged is where the directory was moved to. Stop this "
                "process, then move the directory back or restore a backup",
            {}};
  }
  const std::vector<std::string> lost = held_->Lost();
  const std::string what = directory_ + "/" + (lost.empty() ? std::string("a log file") : lost[0]) +
                           " was removed, replaced or cut off while the store is open, so nothing "
                           "more is written. ";
  const bool has_manifest =
      std::ranges::all_of(lost, [](const std::string& name) { return ManifestNumber(name) == 0; });
  if (has_manifest && MoveRowsToTables()) {
    return {ErrorCode::kStoreStopped,
            what +
                "Nothing that was acknowledged is lost: it was written to tables. Stop this "
                "process and start it again",
            {}};
  }
  return {ErrorCode::kStoreCorrupt, what + "Stop this process. " + DamageRemedy(directory_), {}};
}

// Writes the rows that are only in log files, of which some are lost, from memory to tables, so
// that no log file is needed any more.
bool RocksdbKeyValue::MoveRowsToTables() {
  const std::uint64_t newest_log = held_->newest_log();
  rocksdb::FlushOptions flush;
  flush.allow_write_stall = true;
  return db_->Flush(flush, {handles_.begin(), handles_.end()}).ok() &&
         mark_->LogDropped(newest_log);
}

Status RocksdbKeyValue::CheckFiles() {
  rocksdb::ReadOptions all;
  all.verify_checksums = true;
  rocksdb::Status status = db_->VerifyChecksum(all);
  // Tables are opened by name. If the store is only read, its owner may have dropped one since.
  constexpr int kTries = 10;
  for (int tries = 1; IsMissing(status) && options_.read_only && tries < kTries; ++tries) {
    const Status refreshed = Refresh();
    if (!refreshed) return refreshed;
    status = db_->VerifyChecksum(all);
  }
  if (!status.ok()) return faults_.Of(status);
  return Health();
}

Status RocksdbKeyValue::Compact() {
  if (options_.read_only) {
    return Error{ErrorCode::kStoreReadOnly, "only the owner of a store can compact it", {}};
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    const rocksdb::Status status = db_->CompactRange({}, handle, nullptr, nullptr);
    if (!status.ok()) return faults_.Of(status);
  }
  return Ok();
}

std::uint64_t RocksdbKeyValue::DiskBytes() {
  std::uint64_t bytes = 0;
  std::error_code failed;
  for (fs::directory_iterator entry(directory_, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code gone;  // files may be removed meanwhile
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
  auto store = OpenKeyedStore(std::move(*tables),
                              options.read_only ? StoreAccess::kReadOnly : StoreAccess::kOwner);
  if (!store && store.error().code == ErrorCode::kStoreCorrupt) {
    const Error& error = store.error();
    return Error{error.code, directory + ": " + error.message + ". " + DamageRemedy(directory), {}};
  }
  return store;
}

}  // namespace everstep
