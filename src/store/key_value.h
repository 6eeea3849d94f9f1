#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "everstep/result.h"

namespace everstep {

// Sorted tables of byte strings with atomic, synced batches: the interface between the keyed store
// (keyed_store.h) and the engine below it.
enum class Table : std::uint8_t { kMeta, kRuns, kEvents, kKeys, kEntities, kIndex };
inline constexpr int kTableCount = 6;

class WriteBatch {
 public:
  virtual ~WriteBatch() = default;
  virtual void Put(Table table, std::string_view key, std::string_view value) = 0;
  virtual void Delete(Table table, std::string_view key) = 0;
  // Deletes the keys from `begin`, inclusive, to `end`, exclusive.
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
  virtual Status status() const = 0;  // the first error of the walk so far
};

// A consistent snapshot of all tables.
class TableView {
 public:
  virtual ~TableView() = default;
  virtual Result<std::optional<std::string>> Get(Table table, std::string_view key) = 0;
  // Positioned at the first key that is not less than `key`.
  virtual std::unique_ptr<Cursor> Seek(Table table, std::string_view key) = 0;
  // Positioned at the last key that is not greater than `key`.
  virtual std::unique_ptr<Cursor> SeekForPrev(Table table, std::string_view key) = 0;
};

class KeyValue {
 public:
  virtual ~KeyValue() = default;
  virtual std::unique_ptr<TableView> View() = 0;
  virtual std::unique_ptr<WriteBatch> NewBatch() = 0;
  // Durable on Ok. kStoreFull: nothing was written. Any other error: the outcome is unknown.
  virtual Status Write(WriteBatch& batch) = 0;
  virtual Status Refresh() = 0;
  virtual Status Backup(const std::string& directory) = 0;
  virtual Status Compact() = 0;
  // kStoreCorrupt if a read has found damage or a file has disappeared. Cheap.
  virtual Status Health() { return Ok(); }
  // Reads and verifies every block of every file. kStoreCorrupt describes the first damage.
  virtual Status CheckFiles() { return Ok(); }
  virtual std::uint64_t DiskBytes() = 0;
};

}  // namespace everstep
