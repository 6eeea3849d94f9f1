#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "store/key_value.h"
#include "store/memory_key_value.h"

namespace everstep {

enum class WriteFault : std::uint8_t {
  kNothingWritten,  // returns an error; nothing was written
  kWrittenAnyway,   // returns an error although the write is durable
  kDiskFull,        // returns kStoreFull; nothing was written
  kSyncFails,       // returns an error; readable until a crash, which keeps or drops it at random
};

// Tables on a simulated disk. An acknowledged write is durable; a write with a planned fault fails
// in one of the ways of real disks. After a failed sync all further writes are refused, as RocksDB
// does. Not thread-safe. The same random numbers give the same outcome.
class FaultyKeyValue final : public KeyValue {
 public:
  // `survivors` are the result of an earlier Crash. `random` must outlive this object.
  explicit FaultyKeyValue(Random& random) : random_(random) {}
  FaultyKeyValue(Random& random, MemoryTables survivors)
      : random_(random), tables_(std::move(survivors)) {}

  // The write after `writes_before` further ones has this fault. Only one fault is planned at a
  // time.
  void PlanFault(WriteFault fault, std::uint64_t writes_before = 0);
  bool FaultPlanned() const { return planned_.has_value(); }
  std::uint64_t writes() const { return writes_; }  // attempted so far

  // Simulates a power failure: everything that is not durable is lost. Returns what the next open
  // finds; this object refuses every write from now on.
  MemoryTables Crash();

  std::unique_ptr<TableView> View() override { return tables_.View(); }
  std::unique_ptr<WriteBatch> NewBatch() override { return tables_.NewBatch(); }
  Status Write(WriteBatch& batch) override;
  Status Refresh() override { return Ok(); }
  Status Backup(const std::string& directory) override { return tables_.Backup(directory); }
  Status Compact() override { return Ok(); }
  std::uint64_t DiskBytes() override { return 0; }

 private:
  struct Planned {
    WriteFault fault;
    std::uint64_t writes_before;
  };
  Status Fail(WriteFault fault, WriteBatch& batch);

  Random& random_;
  MemoryKeyValue tables_;               // as readers see them
  std::optional<MemoryTables> synced_;  // as they were before a sync failed
  std::optional<Planned> planned_;
  std::uint64_t writes_ = 0;
  bool broken_ = false;
};

}  // namespace everstep
