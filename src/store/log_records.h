#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "everstep/result.h"

namespace everstep {

// The format of RocksDB's log files (the write-ahead log and the MANIFEST). A file is a sequence of
// 32 KiB blocks. A block is a sequence of records: a masked CRC-32C (4 bytes), a length (2 bytes),
// a type (1 byte) and `length` bytes of payload; numbers are little-endian. If the rest of a block
// is too short for a record head, it is zero.
inline constexpr std::size_t kLogBlockBytes = 32 << 10;
inline constexpr std::size_t kLogHeadBytes = 7;
static_assert(kLogBlockBytes - kLogHeadBytes <= UINT16_MAX);  // the length has two bytes
enum class LogRecordType : std::uint8_t {
  kNone = 0,
  kFull = 1,
  kFirst = 2,
  kMiddle = 3,
  kLast = 4
};

// The record at the beginning of `rest`, which ends where its block ends. The type is kNone if
// there is no whole record with a matching checksum.
struct LogRecord {
  LogRecordType type = LogRecordType::kNone;
  std::size_t bytes = 0;  // including the head
};
LogRecord WholeRecord(std::string_view rest);

// Returns the number of the first row in a write-ahead log, given its first bytes; zero if `head`
// is shorter than kFirstRowBytes. Nothing is checked.
inline constexpr std::size_t kFirstRowBytes = kLogHeadBytes + sizeof(std::uint64_t);
std::uint64_t FirstRowIn(std::string_view head);

// The result of scanning a log file.
struct LogScan {
  std::uint64_t file_bytes = 0;
  // Where the unbroken series of whole writes from the beginning of the file ends.
  std::uint64_t whole_to = 0;
  // Row numbers run through all log files of a store. Zero if the series has no write.
  std::uint64_t first_row = 0;
  std::uint64_t next_row = 0;
  // Whole writes after the first unreadable bytes. Every write is synced before the next one
  // begins, so one of them proves that the bytes before it were once on disk: they are damaged, not
  // torn.
  std::uint64_t writes_after = 0;
  std::uint64_t events_after = 0;

  bool damaged() const { return writes_after > 0; }
};

enum class LogContent : std::uint8_t {
  kWrites,  // a write-ahead log: write batches with consecutive row numbers
  kEdits,   // a MANIFEST: the contents of its records are not checked
};

// Reads the whole file. Calls `visit` with every whole write batch, including those after damage,
// and the number of its first row. kStoreNotFound if the file does not exist, kStoreIo if it cannot
// be read.
using VisitBatch = std::function<void(std::uint64_t first_row, std::string_view batch)>;
Result<LogScan> ScanLog(const std::string& path, LogContent content, const VisitBatch& visit = {});

}  // namespace everstep
