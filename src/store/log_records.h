#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "everstep/result.h"

namespace everstep {

// The grammar of RocksDB's log files (the write-ahead log and the MANIFEST): blocks of 32 KiB; in a
// block records of a CRC-32C (masked, 4 bytes), a length (2 bytes), a type (1 byte) and that many
// bytes, all little-endian. The rest of a block that is too short for a head is zero.
inline constexpr std::size_t kLogBlockBytes = 32 << 10;
inline constexpr std::size_t kLogHeadBytes = 7;
enum class LogRecordType : std::uint8_t {
  kNone = 0,
  kFull = 1,
  kFirst = 2,
  kMiddle = 3,
  kLast = 4
};

// The record at the beginning of `rest`, which ends where its block ends. Type kNone: there is no
// whole record with a matching checksum.
struct LogRecord {
  LogRecordType type = LogRecordType::kNone;
  std::size_t bytes = 0;  // with the head
};
LogRecord WholeRecord(std::string_view rest);

// What a log file holds.
struct LogScan {
  std::uint64_t file_bytes = 0;
  // The end of the last whole write of the unbroken series from the beginning of the file.
  std::uint64_t whole_to = 0;
  // Rows are numbered over all log files of a store; zero: the series has no write.
  std::uint64_t first_row = 0;
  std::uint64_t next_row = 0;
  // Whole writes beyond what cannot be read. Every write is synced before the next one begins, so
  // one of them proves that the bytes before it were once on the disk: they are damaged, not torn.
  std::uint64_t writes_after = 0;
  std::uint64_t events_after = 0;

  bool damaged() const { return writes_after > 0; }
};

enum class LogContent : std::uint8_t {
  kWrites,  // a write-ahead log: write batches, whose row numbers must follow each other
  kEdits,   // a MANIFEST: its records are not looked into
};

// Reads the whole file; `visit` is called with every whole write batch, also with those beyond a
// damage. kStoreIo when the file cannot be read, kStoreNotFound when it is not there.
using VisitBatch = std::function<void(std::string_view batch)>;
Result<LogScan> ScanLog(const std::string& path, LogContent content, const VisitBatch& visit = {});

}  // namespace everstep
