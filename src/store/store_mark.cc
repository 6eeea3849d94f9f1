#include "store/store_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "store/file_identity.h"

namespace everstep {
namespace {

// Two records are written in turns, each in its own page, so that a damaged or half written one
// leaves the previous one intact.
constexpr std::size_t kRecords = 2;
constexpr std::size_t kRecordStride = 4096;
constexpr std::string_view kMagic = "everstep";
constexpr std::size_t kRecordBytes = kMagic.size() + 9 * 8 + 4;
static_assert(kRecordBytes <= kRecordStride);
// Records of earlier versions end before first_log.
constexpr std::size_t kEarlierRecordBytes = kRecordBytes - 2 * 8;

struct Record {
  std::uint64_t generation = 0;
  HighWater at;
};

std::string Encode(const Record& record) {
  std::string bytes;
  bytes.reserve(kRecordBytes);
  ByteWriter writer(bytes);
  writer.Raw(kMagic);
  writer.U64(record.generation);
  writer.U64(record.at.last_row);
  writer.U64(record.at.log_number);
  writer.U64(record.at.log_bytes);
  writer.U64(record.at.dropped_log);
  writer.U64(record.at.manifest_number);
  writer.U64(record.at.manifest_bytes);
  writer.U64(record.at.first_log);
  writer.U64(record.at.first_row);
  writer.U32(Crc32c(bytes));
  EVERSTEP_ASSERT(bytes.size() == kRecordBytes);
  return bytes;
}

// `bytes` has the length of a record of the version to try.
std::optional<Record> DecodeAs(std::string_view bytes) {
  ByteReader reader(bytes);
  const bool ours = reader.Raw(kMagic.size()) == kMagic;
  Record record;
  record.generation = reader.U64();
  record.at.last_row = reader.U64();
  record.at.log_number = reader.U64();
  record.at.log_bytes = reader.U64();
  record.at.dropped_log = reader.U64();
  record.at.manifest_number = reader.U64();
  record.at.manifest_bytes = reader.U64();
  if (bytes.size() == kRecordBytes) {
    record.at.first_log = reader.U64();
    record.at.first_row = reader.U64();
  }
  const std::uint32_t crc = reader.U32();
  if (!ours || !reader.ok() || crc != Crc32c(bytes.substr(0, bytes.size() - 4))) {
    return std::nullopt;
  }
  return record;
}

std::optional<Record> Decode(std::string_view bytes) {
  const auto record = DecodeAs(bytes.substr(0, kRecordBytes));
  return record ? record : DecodeAs(bytes.substr(0, kEarlierRecordBytes));
}

std::string PathIn(const std::string& directory) { return directory + "/MARK"; }

Error Failed(const std::string& path) {
  return {ErrorCode::kStoreIo, path + ": " + std::strerror(errno), {}};
}

Result<Record> ReadRecord(const std::string& path, int file) {
  std::optional<Record> newest;
  for (std::size_t i = 0; i < kRecords; ++i) {
    std::string bytes(kRecordBytes, '\0');
    const ssize_t got =
        ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(i * kRecordStride));
    if (got < 0) return Failed(path);
    const auto record = Decode(bytes.substr(0, static_cast<std::size_t>(got)));
    if (record && (!newest || record->generation > newest->generation)) newest = record;
  }
  if (newest) return *newest;
  return Error{ErrorCode::kStoreCorrupt, path + ": neither of its records can be read", {}};
}

}  // namespace

Result<std::unique_ptr<StoreMark>> StoreMark::Create(const std::string& directory,
                                                     const HighWater& from) {
  std::string path = PathIn(directory);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file || ::ftruncate(file.get(), kRecords * kRecordStride) != 0) return Failed(path);
  std::unique_ptr<StoreMark> mark(new StoreMark(std::move(path), std::move(file), from, 0));
  // Both records, so that nothing of an earlier mark of this name remains.
  for (std::size_t i = 0; i < kRecords; ++i) {
    const std::lock_guard lock(mark->mutex_);
    const Status written = mark->Write();
    if (!written) return written.error();
  }
  const Status synced = mark->Sync();
  if (!synced) return synced.error();
  return mark;
}

Result<std::unique_ptr<StoreMark>> StoreMark::Open(const std::string& directory) {
  std::string path = PathIn(directory);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return Failed(path);
  const auto record = ReadRecord(path, file.get());
  if (!record) return record.error();
  return std::unique_ptr<StoreMark>(
      new StoreMark(std::move(path), std::move(file), record->at, record->generation));
}

HighWater StoreMark::high_water() const {
  const std::lock_guard lock(mutex_);
  return at_;
}

void StoreMark::LogSynced(std::uint64_t number, std::uint64_t bytes, std::uint64_t first_row) {
  const std::lock_guard lock(mutex_);
  if (first_row != 0) first_rows_.try_emplace(number, first_row);
  EVERSTEP_ASSERT(first_row == 0 || first_rows_.at(number) == first_row);
  if (first_row != 0 && at_.first_log == 0) {
    at_.first_log = number;
    at_.first_row = first_row;
    sync_first_row_ = true;
  }
  if (number < at_.log_number) return;
  at_.log_bytes = number == at_.log_number ? std::max(bytes, at_.log_bytes) : bytes;
  at_.log_number = number;
}

Status StoreMark::RowsWritten(std::uint64_t last_row) {
  const std::lock_guard lock(mutex_);
  at_.last_row = std::max(at_.last_row, last_row);
  Status written = Write();
  if (written && sync_first_row_) written = Sync();
  if (written) sync_first_row_ = false;
  return written;
}

Status StoreMark::ManifestSynced(std::uint64_t number, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (number < at_.manifest_number) return Ok();
  if (number > at_.manifest_number) {
    next_manifest_number_ = number;
    next_manifest_bytes_ = bytes;
    return Ok();
  }
  at_.manifest_bytes = bytes;
  return Write();
}

Status StoreMark::ManifestInUse() {
  const std::lock_guard lock(mutex_);
  if (next_manifest_number_ <= at_.manifest_number) return Ok();
  at_.manifest_number = next_manifest_number_;
  at_.manifest_bytes = next_manifest_bytes_;
  return Write();
}

Status StoreMark::LogDropped(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (number <= dropped_synced_) return Ok();
    at_.dropped_log = std::max(at_.dropped_log, number);
    if (at_.first_log <= number) {
      first_rows_.erase(first_rows_.begin(), first_rows_.upper_bound(number));
      const auto oldest = first_rows_.begin();
      const bool known = oldest != first_rows_.end();
      at_.first_log = known ? oldest->first : 0;
      at_.first_row = known ? oldest->second : 0;
      EVERSTEP_ASSERT(!known || at_.first_log > number);
    }
    EVERSTEP_ASSERT(dropped_synced_ <= at_.dropped_log);
    const Status written = Write();
    if (!written) return written;
  }
  const Status synced = Sync();
  const std::lock_guard lock(mutex_);
  if (synced) dropped_synced_ = std::max(dropped_synced_, number);
  return synced;
}

Status StoreMark::Sync() { return ::fdatasync(file_.get()) == 0 ? Ok() : Status(Failed(path_)); }

bool StoreMark::IsIntact() const {
  const std::lock_guard lock(mutex_);
  if (!IsNameOf(path_, file_.get())) return false;
  const auto newest = ReadRecord(path_, file_.get());
  return newest && newest->generation == generation_;
}

Status StoreMark::Write() {
  const std::string bytes = Encode({++generation_, at_});
  const auto place = static_cast<off_t>(generation_ % kRecords * kRecordStride);
  ssize_t written = 0;
  do {
    written = ::pwrite(file_.get(), bytes.data(), bytes.size(), place);
  } while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(bytes.size()) ? Ok() : Status(Failed(path_));
}

Result<HighWater> ReadMark(const std::string& directory) {
  const std::string path = PathIn(directory);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) {
    return Error{ErrorCode::kStoreNotFound, path + ": the mark does not exist", {}};
  }
  if (!file) return Failed(path);
  const auto record = ReadRecord(path, file.get());
  if (!record) return record.error();
  return record->at;
}

}  // namespace everstep
