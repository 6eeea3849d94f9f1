#include "store/memory_key_value.h"

#include <mutex>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "store/keyed_store.h"
#include "store/state_store.h"

namespace everstep {
namespace {

class MemoryBatch final : public WriteBatch {
 public:
  void Put(Table table, std::string_view key, std::string_view value) override {
    changes_.push_back({Change::kPut, table, std::string(key), std::string(value)});
  }
  void Delete(Table table, std::string_view key) override {
    changes_.push_back({Change::kDelete, table, std::string(key), {}});
  }
  void DeleteRange(Table table, std::string_view begin, std::string_view end) override {
    changes_.push_back({Change::kDeleteRange, table, std::string(begin), std::string(end)});
  }

  void ApplyTo(MemoryTables& tables) const {
    for (const Change& change : changes_) {
      MemoryTable& table = tables[static_cast<std::size_t>(change.table)];
      switch (change.what) {
        case Change::kPut:
          table.insert_or_assign(change.key, change.value);
          break;
        case Change::kDelete:
          table.erase(change.key);
          break;
        case Change::kDeleteRange:
          if (change.key >= change.value) break;
          table.erase(table.lower_bound(change.key), table.lower_bound(change.value));
          break;
      }
    }
  }

 private:
  struct Change {
    enum What : std::uint8_t { kPut, kDelete, kDeleteRange } what;
    Table table;
    std::string key;
    std::string value;  // kDeleteRange: the end
  };
  std::vector<Change> changes_;
};

class MemoryCursor final : public Cursor {
 public:
  MemoryCursor(const MemoryTable& table, MemoryTable::const_iterator at) : table_(table), at_(at) {}

  bool Valid() const override { return at_ != table_.end(); }
  void Next() override {
    EVERSTEP_ASSERT(Valid());
    ++at_;
  }
  void Prev() override { at_ = at_ == table_.begin() ? table_.end() : std::prev(at_); }
  std::string_view key() const override {
    EVERSTEP_ASSERT(Valid());
    return at_->first;
  }
  std::string_view value() const override {
    EVERSTEP_ASSERT(Valid());
    return at_->second;
  }
  Status status() const override { return Ok(); }

 private:
  const MemoryTable& table_;
  MemoryTable::const_iterator at_;
};

class MemoryView final : public TableView {
 public:
  MemoryView(std::shared_mutex& mutex, const MemoryTables& tables)
      : lock_(mutex), tables_(tables) {}

  Result<std::optional<std::string>> Get(Table table, std::string_view key) override {
    const MemoryTable& rows = Rows(table);
    const auto at = rows.find(key);
    if (at == rows.end()) return std::optional<std::string>();
    return std::optional<std::string>(at->second);
  }
  std::unique_ptr<Cursor> Seek(Table table, std::string_view key) override {
    const MemoryTable& rows = Rows(table);
    return std::make_unique<MemoryCursor>(rows, rows.lower_bound(key));
  }
  std::unique_ptr<Cursor> SeekForPrev(Table table, std::string_view key) override {
    const MemoryTable& rows = Rows(table);
    const auto after = rows.upper_bound(key);
    return std::make_unique<MemoryCursor>(rows,
                                          after == rows.begin() ? rows.end() : std::prev(after));
  }

 private:
  const MemoryTable& Rows(Table table) const { return tables_[static_cast<std::size_t>(table)]; }

  std::shared_lock<std::shared_mutex> lock_;
  const MemoryTables& tables_;
};

}  // namespace

std::unique_ptr<TableView> MemoryKeyValue::View() {
  return std::make_unique<MemoryView>(mutex_, tables_);
}

std::unique_ptr<WriteBatch> MemoryKeyValue::NewBatch() { return std::make_unique<MemoryBatch>(); }

Status MemoryKeyValue::Write(WriteBatch& batch) {
  const std::lock_guard lock(mutex_);
  static_cast<MemoryBatch&>(batch).ApplyTo(tables_);
  return Ok();
}

Status MemoryKeyValue::Backup(const std::string&) {
  return Error{ErrorCode::kInvalidArgument, "a store in memory cannot be backed up", {}};
}

MemoryTables MemoryKeyValue::Copy() {
  const std::shared_lock lock(mutex_);
  return tables_;
}

std::unique_ptr<StateStore> OpenMemoryStore() {
  auto store = OpenKeyedStore(std::make_unique<MemoryKeyValue>());
  EVERSTEP_ASSERT(store.has_value());  // an empty store cannot be damaged
  return std::move(*store);
}

}  // namespace everstep
