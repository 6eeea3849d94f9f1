#include "store/salvage_rows.h"

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "store/directory_lock.h"
#include "store/log_records.h"
#include "store/rocksdb_options.h"
#include "store/rocksdb_view.h"
#include "store/row_writer.h"
#include "store/store_directory.h"
#include "store/store_files.h"
#include "store/store_mark.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

// A database that is opened read-only.
class OpenTables {
 public:
  static Result<std::unique_ptr<OpenTables>> Open(const std::string& directory) {
    rocksdb::DBOptions engine = EngineOptions({.read_only = true});
    engine.track_and_verify_wals_in_manifest = true;
    engine.paranoid_checks = false;
    auto opened = std::make_unique<OpenTables>();
    // A repaired database has only the families of which there are files.
    std::vector<std::string> names;
    rocksdb::Status status = rocksdb::DB::ListColumnFamilies(engine, directory, &names);
    if (!status.ok()) return opened->faults_.Of(status);
    std::vector<rocksdb::ColumnFamilyDescriptor> there;
    std::vector<std::size_t> places;
    const auto families = TableFamilies({.read_only = true});
    for (std::size_t table = 0; table < families.size(); ++table) {
      if (std::ranges::find(names, families[table].name) == names.end()) continue;
      there.push_back(families[table]);
      places.push_back(table);
    }
    rocksdb::DB* db = nullptr;
    status = rocksdb::DB::OpenForReadOnly(engine, directory, there, &opened->owned_, &db);
    if (!status.ok()) return opened->faults_.Of(status);
    opened->db_.reset(db);
    EVERSTEP_ASSERT(opened->owned_.size() == places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      opened->handles_[places[i]] = opened->owned_[i];
    }
    opened->view_ =
        std::make_unique<RocksdbView>(*opened->db_, opened->handles_, nullptr, opened->faults_);
    return opened;
  }
  ~OpenTables() {
    view_.reset();
    for (rocksdb::ColumnFamilyHandle* handle : owned_) db_->DestroyColumnFamilyHandle(handle);
  }

  bool Has(Table table) const { return handles_[static_cast<std::size_t>(table)] != nullptr; }
  // Requires for the tables that are read: Has(table).
  TableView& view() { return *view_; }

 private:
  ReadFaults faults_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> owned_;
  Handles handles_{};
  std::unique_ptr<RocksdbView> view_;
};

// Returns the key halfway between two keys of equal length, taken as numbers, or the lower one if
// there is none between them.
std::string Between(const std::string& low, const std::string& high) {
  EVERSTEP_ASSERT(low.size() == high.size() && low <= high);
  std::string sum(low.size(), '\0');
  unsigned carry = 0;
  for (std::size_t i = sum.size(); i-- > 0;) {
    const unsigned digit =
        static_cast<std::uint8_t>(low[i]) + static_cast<std::uint8_t>(high[i]) + carry;
    sum[i] = static_cast<char>(digit);
    carry = digit >> 8;
  }
  for (char& digit : sum) {
    const unsigned value = static_cast<std::uint8_t>(digit) | carry << 8;
    digit = static_cast<char>(value >> 1);
    carry = value & 1;
  }
  return sum;
}

// Returns the first key after the unreadable `from` at which the table can be read again, or
// nothing if there is none. Uses binary search.
std::optional<std::string> EndOfDamage(TableView& view, Table table, const std::string& from) {
  const auto readable = [&](const std::string& key) {
    return view.Seek(table, key)->status().has_value();
  };
  constexpr std::size_t kFiner = 8;  // bytes of keys that are distinguished beyond `from`
  std::string low = from + std::string(kFiner, '\0');
  std::string high(low.size(), '\xff');
  if (!readable(high)) return std::nullopt;
  while (true) {
    std::string middle = Between(low, high);
    if (middle == low) return high;
    (readable(middle) ? high : low) = std::move(middle);
  }
}

class Gathering {
 public:
  Gathering(std::string from, std::string scratch, KeyValue& rows)
      : from_(std::move(from)), scratch_(std::move(scratch)), writer_(rows) {}
  ~Gathering() {
    std::error_code ignored;
    rest_.reset();
    fs::remove_all(scratch_, ignored);
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  Status Run();
  Gathered Report() && { return std::move(gathered_); }

 private:
  Status CheckPermissions() const;
  Status CopyTables(bool manifest_intact);
  Status CopyTable(TableView& view, Table table);
  Status CopyRows(TableView& view, Table table, std::string begin, const std::string& end,
                  Status& met);
  Status FillGap(Table table, const std::string& begin, const std::string& end);
  std::string LinkTables() const;
  Result<OpenTables*> Rest();
  Status CopyLogs(const HighWater& mark);
  void Note(std::string what) {
    auto& damage = gathered_.damage;
    if (std::ranges::find(damage, what) == damage.end()) damage.push_back(std::move(what));
  }
  void NoteLoss(std::string what) {
    Note(std::move(what));
    gathered_.rows_lost = true;
  }

  const std::string from_;
  const std::string scratch_;
  Gathered gathered_;
  RowWriter writer_;
  std::unique_ptr<OpenTables> rest_;
};

Status Gathering::Run() {
  const auto lock = DirectoryLock::Take(from_);
  if (!lock) return lock.error();
  if (const Status may = CheckPermissions(); !may) return may;
  const auto format = PrepareStoreDirectory(from_, {.create_if_missing = false});
  const bool damaged = !format && (format.error().code == ErrorCode::kStoreCorrupt ||
                                   format.error().code == ErrorCode::kStoreIo);
  if (!format && !damaged) return format.error();
  const auto read = ReadMark(from_);
  const bool has_mark =
      format ? format->has_mark : read || read.error().code != ErrorCode::kStoreNotFound;
  const HighWater mark = has_mark && read ? *read : HighWater();
  const Status intact = InspectStoreFiles(from_, has_mark, Looker::kOwner);
  if (!intact) Note(intact.error().message);
  if (intact && !format) Note(format.error().message);
  Status copied = CopyTables(InspectManifest(from_, mark).has_value());
  if (copied) copied = CopyLogs(mark);
  return copied ? writer_.Flush() : copied;
}

// Damage is left out and reported, but what this user may not read is intact.
Status Gathering::CheckPermissions() const {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(from_, failed)) {
    const UniqueFd file(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (file || (errno != EACCES && errno != EPERM)) continue;
    return Error{ErrorCode::kStoreIo,
                 entry.path().string() + ": " + std::strerror(errno) + ". Nothing was copied",
                 {}};
  }
  if (failed) return Error{ErrorCode::kStoreIo, from_ + ": " + failed.message(), {}};
  return Ok();
}

// Without an intact MANIFEST it is unknown which files belong to a table; then all of them are
// read.
Status Gathering::CopyTables(bool manifest_intact) {
  std::unique_ptr<OpenTables> tables;
  if (manifest_intact) {
    auto opened = OpenTables::Open(LinkTables());
    if (!opened) NoteLoss(opened.error().message);
    if (opened) tables = *std::move(opened);
  }
  for (int i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    const Status copied = tables != nullptr && tables->Has(table) ? CopyTable(tables->view(), table)
                                                                  : FillGap(table, {}, {});
    if (!copied) return copied;
  }
  return Ok();
}

// Makes a copy of the store whose log files contain only zeros. RocksDB would stop at damage in the
// log files, which CopyLogs reads separately, but it requires them to exist.
std::string Gathering::LinkTables() const {
  const fs::path to = scratch_ + "/tables";
  std::error_code failed;
  fs::create_directories(to, failed);
  for (const auto& entry : fs::directory_iterator(from_, failed)) {
    const fs::path link = to / entry.path().filename();
    std::error_code apart;
    if (LogNumber(entry.path().filename().string()) != 0) {
      std::ofstream(link, std::ios::binary).flush();
      fs::resize_file(link, entry.file_size(apart), apart);
      continue;
    }
    if (entry.path().extension() == ".sst") fs::create_hard_link(entry.path(), link, apart);
    if (apart || entry.path().extension() != ".sst") fs::copy_file(entry.path(), link, apart);
  }
  return to;
}

// Copies the rows from `begin` up to `end` (empty: to the last). `met` is set to the damage that
// ended the walk, or to Ok.
Status Gathering::CopyRows(TableView& view, Table table, std::string begin, const std::string& end,
                           Status& met) {
  auto row = view.Seek(table, begin);
  for (; row->Valid() && (end.empty() || row->key() < end); row->Next()) {
    const Status put = writer_.Put(table, row->key(), row->value());
    if (!put) return put;
  }
  met = row->status();
  return Ok();
}

Status Gathering::CopyTable(TableView& view, Table table) {
  std::string at;
  while (true) {
    auto row = view.Seek(table, at);
    for (; row->Valid(); row->Next()) {
      at.assign(row->key());
      const Status put = writer_.Put(table, at, row->value());
      if (!put) return put;
      at.push_back('\0');  // the next possible key
    }
    const Status met = row->status();
    if (met) return Ok();
    NoteLoss(met.error().message);
    const auto next = EndOfDamage(view, table, at);
    EVERSTEP_ASSERT(!next || *next > at);
    const Status filled = FillGap(table, at, next.value_or(std::string()));
    if (!filled || !next) return filled;
    at = *next;
  }
}

// Copies what other files still hold of the rows in a range that one file cannot provide.
Status Gathering::FillGap(Table table, const std::string& begin, const std::string& end) {
  const auto rest = Rest();
  if (!rest) {
    NoteLoss(rest.error().message);
    return Ok();
  }
  if (!(*rest)->Has(table)) return Ok();
  Status met = Ok();
  const Status copied = CopyRows((*rest)->view(), table, begin, end, met);
  if (!met) NoteLoss(met.error().message);
  return copied;
}

// Returns the tables as rebuilt from the intact files.
Result<OpenTables*> Gathering::Rest() {
  if (rest_) return rest_.get();
  const std::string repaired = scratch_ + "/repaired";
  std::error_code failed;
  fs::create_directories(repaired, failed);
  for (const auto& entry : fs::directory_iterator(from_, failed)) {
    if (entry.path().extension() != ".sst") continue;
    const fs::path link = fs::path(repaired) / entry.path().filename();
    std::error_code apart;
    fs::create_hard_link(entry.path(), link, apart);
    if (apart) fs::copy_file(entry.path(), link, apart);
  }
  const rocksdb::Status status = rocksdb::RepairDB(repaired, EngineOptions({}), TableFamilies({}));
  if (!status.ok()) return Error{ErrorCode::kStoreCorrupt, status.ToString(), {}};
  // The repair sets aside what it cannot read.
  for (const auto& entry : fs::directory_iterator(repaired + "/lost", failed)) {
    NoteLoss(from_ + "/" + entry.path().filename().string() + " cannot be read as a table");
  }
  auto opened = OpenTables::Open(repaired);
  if (!opened) return std::move(opened).error();
  rest_ = std::move(*opened);
  return rest_.get();
}

class BatchCopier final : public rocksdb::WriteBatch::Handler {
 public:
  explicit BatchCopier(RowWriter& writer) : writer_(writer) {}

  rocksdb::Status PutCF(std::uint32_t table, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    if (table >= kTableCount) return rocksdb::Status::OK();
    return Note(writer_.Put(static_cast<Table>(table), key.ToStringView(), value.ToStringView()));
  }
  rocksdb::Status DeleteCF(std::uint32_t table, const rocksdb::Slice& key) override {
    if (table >= kTableCount) return rocksdb::Status::OK();
    return Note(writer_.Delete(static_cast<Table>(table), key.ToStringView()));
  }
  rocksdb::Status DeleteRangeCF(std::uint32_t table, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override {
    if (table >= kTableCount) return rocksdb::Status::OK();
    return Note(
        writer_.DeleteRange(static_cast<Table>(table), begin.ToStringView(), end.ToStringView()));
  }

  const Status& failed() const { return failed_; }

 private:
  rocksdb::Status Note(const Status& written) {
    if (!written) failed_ = written;
    return written ? rocksdb::Status::OK() : rocksdb::Status::Aborted();
  }

  RowWriter& writer_;
  Status failed_ = Ok();
};

Status Gathering::CopyLogs(const HighWater& mark) {
  const auto files = ListLogs(from_);
  if (!files) return files.error();
  BatchCopier copier(writer_);
  std::uint64_t next_row = mark.first_row;
  const auto copy = [&](std::uint64_t first_row, std::string_view bytes) {
    const rocksdb::WriteBatch batch{std::string(bytes)};
    if (next_row != 0 && first_row > next_row) gathered_.rows_lost = true;
    next_row = first_row + batch.Count();
    batch.Iterate(&copier).PermitUncheckedError();
  };
  for (const LogFile& file : *files) {
    if (file.number <= mark.dropped_log) continue;
    const auto scan = ScanLog(from_ + "/" + file.name, LogContent::kWrites, copy);
    if (!scan) NoteLoss(scan.error().message);
    if (!copier.failed()) return copier.failed();
  }
  if (mark.first_log != 0 && next_row <= mark.last_row) gathered_.rows_lost = true;
  return Ok();
}

}  // namespace

Result<Gathered> GatherRows(const std::string& from, const std::string& scratch, KeyValue& rows) {
  Gathering gathering(from, scratch, rows);
  const Status run = gathering.Run();
  if (!run) return run.error();
  return std::move(gathering).Report();
}

}  // namespace everstep
