#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "everstep/result.h"

namespace everstep {

// Sorted tables of bytes with atomic, synced batches: what the keyed store (keyed_store.h) asks of
// the engine below it.
enum class Table : std::uint8_t { kMeta, kRuns, kEvents, kKeys, kEntities, kIndex };
inline constexpr int kTableCount = 6;

class WriteBatch {
 public:
  virtual ~WriteBatch() = default;
  virtual void Put(Table table, std::string_view key, std::string_view value) = 0;
  virtual void Delete(Table table, std::string_view key) = 0;
  // From `begin`, inclusive, to `end`, exclusive.
  virtual void DeleteRange(Table table, std::string_view begin, std::string_view end) = 0;
};

class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool Valid() const = 0;  // false at either end, and after an error
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual Status status() const = 0;  // of the whole walk
};

// One moment of all tables.
class TableView {
 public:
  virtual ~TableView() = default;
  virtual Result<std::optional<std::string>> Get(Table table, std::string_view key) = 0;
  // At the first key not before `key`.
  virtual std::unique_ptr<Cursor> Seek(Table table, std::string_view key) = 0;
  // At the last key not behind `key`.
  virtual std::unique_ptr<Cursor> SeekForPrev(Table table, std::string_view key) = 0;
};

class KeyValue {
 public:
  virtual ~KeyValue() = default;
  virtual std::unique_ptr<TableView> View() = 0;
  virtual std::unique_ptr<WriteBatch> NewBatch() = 0;
  // Durable on Ok. kStoreFull: nothing written. Anything else: unknown.
  virtual Status Write(WriteBatch& batch) = 0;
  virtual Status Refresh() = 0;
  virtual Status Backup(const std::string& directory) = 0;
  virtual Status Compact() = 0;
  // kStoreCorrupt: damage that a read has met, or a file that is no longer there. Cheap.
  virtual Status Health() { return Ok(); }
  // Reads every block of every file and checks it: kStoreCorrupt names the first damage.
  virtual Status CheckFiles() { return Ok(); }
  virtual std::uint64_t DiskBytes() = 0;
};

}  // namespace everstep
