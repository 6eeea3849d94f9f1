#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "everstep/result.h"

namespace everstep {

// The minimum that a store's files must contain: everything that was acknowledged. Zero: unknown.
struct HighWater {
  std::uint64_t last_row = 0;    // rows are numbered in write order
  std::uint64_t log_number = 0;  // the log file written last, and how much of it was synced
  std::uint64_t log_bytes = 0;
  std::uint64_t dropped_log = 0;  // log files up to this number are no longer needed
  std::uint64_t manifest_number = 0;
  std::uint64_t manifest_bytes = 0;
  // The oldest log file in use that holds rows, and the number of its first row.
  std::uint64_t first_log = 0;
  std::uint64_t first_row = 0;

  bool operator==(const HighWater&) const = default;
};

// The file MARK of a store (docs/formats.md). The other files are checked against it before
// recovery, so that a lost end of the log is not mistaken for a torn one.
//
// The mark is written after each synced write and before the write is acknowledged, but is not
// synced itself: nothing of it is lost if the process is killed, but a power failure may lose the
// last updates. So the mark may lag behind what is durable, but is never ahead of it. Thread-safe.
class StoreMark {
 public:
  // Creates or overwrites the file; synced on return.
  static Result<std::unique_ptr<StoreMark>> Create(const std::string& directory,
                                                   const HighWater& from);
  // Continues the existing file. kStoreIo if it cannot be opened, kStoreCorrupt if it holds no
  // valid record.
  static Result<std::unique_ptr<StoreMark>> Open(const std::string& directory);

  HighWater high_water() const;

  // Kept in memory only, until the next RowsWritten writes it to the file. `first_row` is the
  // number of the first row in the log file; zero: it has none yet.
  void LogSynced(std::uint64_t number, std::uint64_t bytes, std::uint64_t first_row);
  Status RowsWritten(std::uint64_t last_row);
  // A MANIFEST that CURRENT does not name yet is kept in memory only: after a kill, the store
  // continues with the previous one. Call ManifestInUse once CURRENT names it durably.
  Status ManifestSynced(std::uint64_t number, std::uint64_t bytes);
  Status ManifestInUse();
  // Synced on return, so that the log file may be deleted.
  Status LogDropped(std::uint64_t number);
  Status Sync();

  // Whether the file still has its name and its last record.
  bool IsIntact() const;

 private:
  StoreMark(std::string path, UniqueFd file, const HighWater& from, std::uint64_t generation)
      : path_(std::move(path)), file_(std::move(file)), at_(from), generation_(generation) {}
  Status Write();  // requires mutex_ to be held

  const std::string path_;
  const UniqueFd file_;
  mutable std::mutex mutex_;
  HighWater at_;
  std::uint64_t dropped_synced_ = 0;
  std::map<std::uint64_t, std::uint64_t> first_rows_;  // of the log files that this owner wrote
  bool sync_first_row_ = false;                        // the next RowsWritten has to
  std::uint64_t next_manifest_number_ = 0;
  std::uint64_t next_manifest_bytes_ = 0;
  std::uint64_t generation_;
};

// kStoreNotFound if there is no mark, kStoreCorrupt if it holds no valid record, kStoreIo.
Result<HighWater> ReadMark(const std::string& directory);

}  // namespace everstep
