#include "store/salvage_rows.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

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
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(
        engine, directory, TableFamilies({.read_only = true}), &opened->owned_, &db);
    if (!status.ok()) return opened->faults_.Of(status);
    opened->db_.reset(db);
    std::ranges::copy(opened->owned_, opened->handles_.begin());
    opened->view_ =
        std::make_unique<RocksdbView>(*opened->db_, opened->handles_, nullptr, opened->faults_);
    return opened;
  }
  ~OpenTables() {
    view_.reset();
    for (rocksdb::ColumnFamilyHandle* handle : owned_) db_->DestroyColumnFamilyHandle(handle);
  }

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
  Gathering(std::string from, std::string scratch, KeyValue& rows, std::vector<std::string>& damage)
      : from_(std::move(from)), scratch_(std::move(scratch)), damage_(damage), writer_(rows) {}
  ~Gathering() {
    std::error_code ignored;
    rest_.reset();
    fs::remove_all(scratch_, ignored);
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  Status Run();

 private:
  Status CopyTable(TableView& view, Table table);
  Status CopyRows(TableView& view, Table table, std::string begin, const std::string& end,
                  Status& met);
  Status FillGap(Table table, const std::string& begin, const std::string& end);
  std::string LinkTables() const;
  Result<TableView*> Rest();
  Status CopyLogs();
  void Note(std::string what) {
    if (std::ranges::find(damage_, what) == damage_.end()) damage_.push_back(std::move(what));
  }

  const std::string from_;
  const std::string scratch_;
  std::vector<std::string>& damage_;
  RowWriter writer_;
  std::unique_ptr<OpenTables> rest_;
};

Status Gathering::Run() {
  const auto lock = DirectoryLock::Take(from_);
  if (!lock) return lock.error();
  const auto format = PrepareStoreDirectory(from_, {.create_if_missing = false});
  if (!format && format.error().code == ErrorCode::kStoreFormatNewer) return format.error();
  if (!format && format.error().code != ErrorCode::kStoreCorrupt) return format.error();
  const bool has_mark = format ? format->has_mark : fs::exists(from_ + "/MARK");
  if (const Status intact = InspectStoreFiles(from_, has_mark, Looker::kOwner); !intact) {
    Note(intact.error().message);
  }
  {
    auto tables = OpenTables::Open(LinkTables());
    if (!tables) Note(tables.error().message);
    for (int table = 0; table < kTableCount; ++table) {
      const auto copied = tables ? CopyTable((*tables)->view(), static_cast<Table>(table))
                                 : FillGap(static_cast<Table>(table), {}, {});
      if (!copied) return copied;
    }
  }
  const Status logs = CopyLogs();
  return logs ? writer_.Flush() : logs;
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
    Note(met.error().message);
    const auto next = EndOfDamage(view, table, at);
    const Status filled = FillGap(table, at, next.value_or(std::string()));
    if (!filled || !next) return filled;
    at = *next;
  }
}

// Copies what other files still hold of the rows in a range that one file cannot provide.
Status Gathering::FillGap(Table table, const std::string& begin, const std::string& end) {
  const auto rest = Rest();
  if (!rest) {
    Note(rest.error().message);
    return Ok();
  }
  Status met = Ok();
  const Status copied = CopyRows(**rest, table, begin, end, met);
  if (!met) Note(met.error().message);
  return copied;
}

// Returns the tables as rebuilt from the intact files.
Result<TableView*> Gathering::Rest() {
  if (rest_) return &rest_->view();
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
  auto opened = OpenTables::Open(repaired);
  if (!opened) return std::move(opened).error();
  rest_ = std::move(*opened);
  return &rest_->view();
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

Status Gathering::CopyLogs() {
  const auto files = ListLogs(from_);
  if (!files) return files.error();
  const auto mark = ReadMark(from_);
  BatchCopier copier(writer_);
  for (const LogFile& file : *files) {
    if (mark && file.number <= mark->dropped_log) continue;
    const auto scan =
        ScanLog(from_ + "/" + file.name, LogContent::kWrites, [&](std::string_view batch) {
          rocksdb::WriteBatch(std::string(batch)).Iterate(&copier).PermitUncheckedError();
        });
    if (!scan) Note(scan.error().message);
    if (!copier.failed()) return copier.failed();
  }
  return Ok();
}

}  // namespace

Status GatherRows(const std::string& from, const std::string& scratch, KeyValue& rows,
                  std::vector<std::string>& damage) {
  return Gathering(from, scratch, rows, damage).Run();
}

}  // namespace everstep
