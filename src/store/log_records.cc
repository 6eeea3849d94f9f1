#include "store/log_records.h"

#include <fcntl.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/unique_fd.h"
#include "store/key_value.h"

namespace everstep {
namespace {

constexpr std::size_t kBatchHeadBytes = 12;  // number of the first row, count of rows

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

class EventCounter final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(std::uint32_t table, const rocksdb::Slice&,
                        const rocksdb::Slice&) override {
    count += table == static_cast<std::uint32_t>(Table::kEvents) ? 1 : 0;
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(std::uint32_t, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteRangeCF(std::uint32_t, const rocksdb::Slice&,
                                const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }

  std::uint64_t count = 0;
};

// Returns the number of events in a write batch with `rows` rows, or nothing if it is not such a
// batch.
std::optional<std::uint64_t> CountEvents(std::string_view batch, std::uint64_t rows) {
  rocksdb::WriteBatch parsed{std::string(batch)};
  EventCounter counter;
  const bool whole = parsed.Iterate(&counter).ok() && parsed.Count() == rows && rows > 0;
  return whole ? std::optional(counter.count) : std::nullopt;
}

// Reads the bytes of a log in order and assembles its records into writes.
class Scanner {
 public:
  Scanner(LogContent content, const VisitBatch& visit) : content_(content), visit_(visit) {}

  // Takes the next block of the file. Only the last one may be short.
  void Take(std::string_view block);
  LogScan Finish() && { return scan_; }

 private:
  void Add(LogRecordType type, std::string_view bytes);
  void TakeWrite(std::string_view write);
  void Break() {
    broken_ = true;
    in_write_ = false;
  }

  const LogContent content_;
  const VisitBatch& visit_;
  LogScan scan_;
  std::uint64_t offset_ = 0;  // the end of the record that is being added
  bool broken_ = false;       // something before could not be read
  bool in_write_ = false;     // a kFirst record has been read, its kLast has not
  std::string write_;
};

void Scanner::Take(std::string_view block) {
  EVERSTEP_ASSERT(block.size() <= kLogBlockBytes && scan_.file_bytes % kLogBlockBytes == 0);
  const std::uint64_t begin = scan_.file_bytes;
  scan_.file_bytes += block.size();
  std::size_t at = 0;
  while (block.size() - at >= kLogHeadBytes) {
    const LogRecord record = WholeRecord(block.substr(at));
    if (record.type == LogRecordType::kNone) {
      // The length cannot be trusted either, so the next record may begin at any byte. Its type,
      // the last byte of its head, is not zero, so skip zeros.
      Break();
      const std::size_t next = block.find_first_not_of('\0', at + kLogHeadBytes);
      if (next == std::string_view::npos) break;
      at = std::max(at + 1, next - (kLogHeadBytes - 1));
      continue;
    }
    EVERSTEP_ASSERT(record.bytes >= kLogHeadBytes && record.bytes <= block.size() - at);
    offset_ = begin + at + record.bytes;
    Add(record.type, block.substr(at + kLogHeadBytes, record.bytes - kLogHeadBytes));
    at += record.bytes;
  }
}

void Scanner::Add(LogRecordType type, std::string_view bytes) {
  EVERSTEP_ASSERT(type != LogRecordType::kNone);
  const bool begins = type == LogRecordType::kFull || type == LogRecordType::kFirst;
  if (begins == in_write_) Break();  // a write without its end, or a part without its beginning
  if (begins) {
    write_.assign(bytes);
  } else if (in_write_) {
    write_.append(bytes);
  } else {
    return;  // may be part of a write that was never finished, so it proves nothing
  }
  in_write_ = type == LogRecordType::kFirst || type == LogRecordType::kMiddle;
  if (!in_write_) TakeWrite(write_);
}

void Scanner::TakeWrite(std::string_view write) {
  EVERSTEP_ASSERT(offset_ > scan_.whole_to && offset_ <= scan_.file_bytes);
  if (content_ == LogContent::kWrites) {
    if (write.size() < kBatchHeadBytes) return Break();
    const std::uint64_t row = LittleEndian(write.substr(0, 8));
    const std::uint64_t rows = LittleEndian(write.substr(8, 4));
    if (!broken_ && scan_.next_row != 0 && row != scan_.next_row) Break();
    if (broken_) {
      // User data in a torn write may look like a record. A genuine later write has higher row
      // numbers, and as many rows as it says.
      const auto events = CountEvents(write, rows);
      if (row < scan_.next_row || !events) return;
      scan_.events_after += *events;
    } else {
      if (scan_.first_row == 0) scan_.first_row = row;
      scan_.next_row = row + rows;
    }
    if (visit_) visit_(row, write);
  }
  if (!broken_) {
    scan_.whole_to = offset_;
    return;
  }
  ++scan_.writes_after;
}

}  // namespace

LogRecord WholeRecord(std::string_view rest) {
  if (rest.size() < kLogHeadBytes) return {};
  const auto type = static_cast<std::uint8_t>(rest[6]);
  const auto length = static_cast<std::size_t>(LittleEndian(rest.substr(4, 2)));
  if (type < 1 || type > 4 || rest.size() < kLogHeadBytes + length) return {};
  const std::uint64_t masked = LittleEndian(rest.substr(0, 4));
  const std::uint32_t crc = Crc32c(rest.substr(kLogHeadBytes - 1, length + 1));  // with the type
  if (masked != ((crc >> 15 | crc << 17) + 0xa282ead8U)) return {};
  return {static_cast<LogRecordType>(type), kLogHeadBytes + length};
}

std::uint64_t FirstRowIn(std::string_view head) {
  if (head.size() < kFirstRowBytes) return 0;
  return LittleEndian(head.substr(kLogHeadBytes, sizeof(std::uint64_t)));
}

Result<LogScan> ScanLog(const std::string& path, LogContent content, const VisitBatch& visit) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return Error{errno == ENOENT ? ErrorCode::kStoreNotFound : ErrorCode::kStoreIo,
                 path + ": " + std::strerror(errno),
                 {}};
  }
  Scanner scanner(content, visit);
  std::string block(kLogBlockBytes, '\0');
  for (std::uint64_t offset = 0;;) {
    std::size_t filled = 0;
    while (filled < block.size()) {
      const ssize_t got = ::pread(file.get(), block.data() + filled, block.size() - filled,
                                  static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Error{ErrorCode::kStoreIo, path + ": " + std::strerror(errno), {}};
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    if (filled == 0) break;
    scanner.Take({block.data(), filled});
    offset += filled;
    if (filled < block.size()) break;
  }
  return std::move(scanner).Finish();
}

}  // namespace everstep
