#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "store/key_value.h"

namespace everstep {

using MemoryTable = std::map<std::string, std::string, std::less<>>;
using MemoryTables = std::array<MemoryTable, kTableCount>;

// Tables in memory, lost when the process ends. A view holds a shared lock and writes wait until it
// is released, so a thread that holds a view must not write.
class MemoryKeyValue final : public KeyValue {
 public:
  MemoryKeyValue() = default;
  explicit MemoryKeyValue(MemoryTables tables) : tables_(std::move(tables)) {}

  std::unique_ptr<TableView> View() override;
  std::unique_ptr<WriteBatch> NewBatch() override;
  Status Write(WriteBatch& batch) override;  // Requires: made by NewBatch()
  Status Refresh() override { return Ok(); }
  Status Backup(const std::string& directory) override;
  Status Compact() override { return Ok(); }
  std::uint64_t DiskBytes() override { return 0; }

  MemoryTables Copy();

 private:
  std::shared_mutex mutex_;
  MemoryTables tables_;
};

}  // namespace everstep
