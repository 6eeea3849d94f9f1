#include <string>
#include <utility>
#include <vector>

#include "store/row_keys.h"
#include "testing/planted_bug.h"

namespace everstep {
namespace {

struct Edit {
  enum What : std::uint8_t { kPut, kDelete, kDeleteRange } what;
  Table table;
  std::string key;
  std::string value;  // for kDeleteRange: the end of the range
};

class RecordedBatch final : public WriteBatch {
 public:
  void Put(Table table, std::string_view key, std::string_view value) override {
    edits.push_back({Edit::kPut, table, std::string(key), std::string(value)});
  }
  void Delete(Table table, std::string_view key) override {
    edits.push_back({Edit::kDelete, table, std::string(key), {}});
  }
  void DeleteRange(Table table, std::string_view begin, std::string_view end) override {
    edits.push_back({Edit::kDeleteRange, table, std::string(begin), std::string(end)});
  }

  std::vector<Edit> edits;
};

// A view that finds no idempotency keys.
class KeylessView final : public TableView {
 public:
  explicit KeylessView(std::unique_ptr<TableView> view) : view_(std::move(view)) {}
  Result<std::optional<std::string>> Get(Table table, std::string_view key) override {
    if (table == Table::kKeys) return std::optional<std::string>();
    return view_->Get(table, key);
  }
  std::unique_ptr<Cursor> Seek(Table table, std::string_view key) override {
    return view_->Seek(table, key);
  }
  std::unique_ptr<Cursor> SeekForPrev(Table table, std::string_view key) override {
    return view_->SeekForPrev(table, key);
  }

 private:
  std::unique_ptr<TableView> view_;
};

class PlantedTables final : public KeyValue {
 public:
  PlantedTables(PlantedBug bug, std::unique_ptr<KeyValue> tables, SeededRandom& random)
      : bug_(bug), tables_(std::move(tables)), random_(random) {}

  std::unique_ptr<TableView> View() override {
    if (bug_ != PlantedBug::kMissesDuplicates) return tables_->View();
    return std::make_unique<KeylessView>(tables_->View());
  }
  std::unique_ptr<WriteBatch> NewBatch() override { return std::make_unique<RecordedBatch>(); }
  Status Write(WriteBatch& batch) override;
  Status Refresh() override { return tables_->Refresh(); }
  Status Backup(const std::string& directory) override { return tables_->Backup(directory); }
  Status Compact() override { return tables_->Compact(); }
  std::uint64_t DiskBytes() override { return tables_->DiskBytes(); }

 private:
  bool Omits(const Edit& edit) {
    if (bug_ == PlantedBug::kLosesKeyRows) return edit.table == Table::kKeys && random_.OneIn(30);
    return bug_ == PlantedBug::kKeepsTokens && edit.what == Edit::kDelete &&
           edit.table == Table::kIndex && edit.key.front() == static_cast<char>(RowKind::kToken);
  }

  const PlantedBug bug_;
  const std::unique_ptr<KeyValue> tables_;
  SeededRandom& random_;
  bool torn_ = false;
};

Status PlantedTables::Write(WriteBatch& batch) {
  const Error io{ErrorCode::kStoreIo, "simulated: the batch was torn", {}};
  if (torn_) return io;
  const std::vector<Edit>& edits = static_cast<RecordedBatch&>(batch).edits;
  torn_ = bug_ == PlantedBug::kTearsBatches && edits.size() > 1 && random_.OneIn(25);
  const auto inner = tables_->NewBatch();
  for (std::size_t i = 0; i < (torn_ ? edits.size() / 2 : edits.size()); ++i) {
    const Edit& edit = edits[i];
    if (Omits(edit)) continue;
    switch (edit.what) {
      case Edit::kPut:
        inner->Put(edit.table, edit.key, edit.value);
        break;
      case Edit::kDelete:
        inner->Delete(edit.table, edit.key);
        break;
      case Edit::kDeleteRange:
        inner->DeleteRange(edit.table, edit.key, edit.value);
        break;
    }
  }
  const Status written = tables_->Write(*inner);
  if (torn_) return io;
  if (bug_ == PlantedBug::kAcksFailedWrites) return Ok();
  return written;
}

}  // namespace

std::unique_ptr<KeyValue> PlantInTables(PlantedBug bug, std::unique_ptr<KeyValue> tables,
                                        SeededRandom& random) {
  switch (bug) {
    case PlantedBug::kAcksFailedWrites:
    case PlantedBug::kTearsBatches:
    case PlantedBug::kLosesKeyRows:
    case PlantedBug::kMissesDuplicates:
    case PlantedBug::kKeepsTokens:
      return std::make_unique<PlantedTables>(bug, std::move(tables), random);
    default:
      return tables;
  }
}

}  // namespace everstep
