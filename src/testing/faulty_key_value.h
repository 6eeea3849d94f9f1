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
  kNothingWritten,  // an error, and nothing is there
  kWrittenAnyway,   // an error, although the write is durable
  kDiskFull,        // kStoreFull, and nothing is there
  kSyncFails,  // an error; the write can be read, and a coin decides at the crash if it survives
};

// Tables on a simulated disk. A write that is acknowledged is durable; one that was told to fail
// does so in one of the ways of real disks. After a failed sync the engine takes no further write,
// as RocksDB does. One thread; the same random numbers give the same outcome.
class FaultyKeyValue final : public KeyValue {
 public:
  // `survivors`: what an earlier Crash gave back. `random` must live as long.
  explicit FaultyKeyValue(Random& random) : random_(random) {}
  FaultyKeyValue(Random& random, MemoryTables survivors)
      : random_(random), tables_(std::move(survivors)) {}

  // The write after `writes_before` more has this fault. One fault is planned at a time.
  void PlanFault(WriteFault fault, std::uint64_t writes_before = 0);
  bool FaultPlanned() const { return planned_.has_value(); }
  std::uint64_t writes() const { return writes_; }  // tried so far

  // Power fails: what is not durable is gone. Gives back what the next open finds; this object
  // refuses every write from now on.
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
  MemoryKeyValue tables_;               // as a reader sees them
  std::optional<MemoryTables> synced_;  // as they were before a sync failed
  std::optional<Planned> planned_;
  std::uint64_t writes_ = 0;
  bool broken_ = false;
};

}  // namespace everstep
