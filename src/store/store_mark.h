#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "everstep/result.h"

namespace everstep {

// How far a store's files must reach at least: what was acknowledged. Zero: nothing is known.
struct HighWater {
  std::uint64_t last_row = 0;    // rows are numbered in the order of writes
  std::uint64_t log_number = 0;  // the log file written last, and how much of it was synced
  std::uint64_t log_bytes = 0;
  std::uint64_t dropped_log = 0;  // log files up to this number are no longer needed
  std::uint64_t manifest_number = 0;
  std::uint64_t manifest_bytes = 0;

  bool operator==(const HighWater&) const = default;
};

// The file MARK of a store (docs/formats.md). Recovery holds the other files against it, so that a
// lost end of the log is not taken for a torn one.
//
// A mark is written after each write that was synced, and before it is acknowledged, but is not
// synced itself: a killed process loses nothing of it, a machine without power may lose the last
// ones. So it may be behind what is durable, never ahead. Thread-safe.
class StoreMark {
 public:
  // Makes the file, or writes over one; synced on return.
  static Result<std::unique_ptr<StoreMark>> Create(const std::string& directory,
                                                   const HighWater& from);
  // Goes on with the one that is there. Errors as ReadMark.
  static Result<std::unique_ptr<StoreMark>> Open(const std::string& directory);

  HighWater high_water() const;

  // Notes only: the next RowsWritten brings it to the file.
  void LogSynced(std::uint64_t number, std::uint64_t bytes);
  Status RowsWritten(std::uint64_t last_row);
  // A MANIFEST that CURRENT does not name yet is only noted: a process killed now goes on with the
  // one before it. ManifestInUse follows when CURRENT names it durably.
  Status ManifestSynced(std::uint64_t number, std::uint64_t bytes);
  Status ManifestInUse();
  // Synced on return: the log file may be deleted.
  Status LogDropped(std::uint64_t number);
  Status Sync();

 private:
  StoreMark(std::string path, UniqueFd file, const HighWater& from, std::uint64_t generation)
      : path_(std::move(path)), file_(std::move(file)), at_(from), generation_(generation) {}
  Status Write();  // with mutex_ held

  const std::string path_;
  const UniqueFd file_;
  mutable std::mutex mutex_;
  HighWater at_;
  std::uint64_t dropped_synced_ = 0;
  std::uint64_t next_manifest_number_ = 0;
  std::uint64_t next_manifest_bytes_ = 0;
  std::uint64_t generation_;
};

// kStoreNotFound: there is no mark. kStoreCorrupt: it cannot be read.
Result<HighWater> ReadMark(const std::string& directory);

}  // namespace everstep
