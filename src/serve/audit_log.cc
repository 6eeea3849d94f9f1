#include "serve/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/disk_error.h"

namespace everstep {
namespace {

constexpr std::size_t kPendingBytesMax = 16 << 20;
constexpr std::size_t kHeadBytesMax = 512;  // fits one sector, which is written atomically

Error Failed(const std::string& path) { return DiskError(path, errno); }

bool WriteAllAt(int descriptor, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return true;
}

std::string FileText(int descriptor, std::size_t bytes_max) {
  std::string text(bytes_max, '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// Whether the text of a head, which cannot be verified without its key, is not that of an empty
// log.
bool NamesEntries(std::string_view head) {
  return !head.empty() && head.find("\"seq\":0,") == std::string_view::npos;
}

// The digest of the file from `from` to its end, at most 1 MiB.
Sha256Digest DigestFrom(int descriptor, std::uint64_t from, std::uint64_t size) {
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(size - from, 1 << 20)), '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), static_cast<off_t>(from));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return Sha256(text);
}

}  // namespace

AuditLog::AuditLog(std::string directory, Clock& clock)
    : directory_(std::move(directory)), clock_(clock) {}

Result<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& directory, Clock& clock,
                                                 Random& random) {
  std::unique_ptr<AuditLog> log(new AuditLog(directory, clock));
  if (Status opened = log->OpenFiles(random); !opened) return opened.error();
  log->writer_ = std::thread([raw = log.get()] { raw->Run(); });
  if (Status recovered = log->Recover(); !recovered) return recovered.error();
  return log;
}

AuditLog::~AuditLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    asked_ = true;
  }
  changed_.notify_all();
  if (writer_.joinable()) writer_.join();
}

Status AuditLog::OpenFiles(Random& random) {
  const std::string path = directory_ + "/audit.log";
  const std::string head_path = directory_ + "/audit.head";
  log_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log_) return Failed(path);
  struct stat found {};
  if (::fstat(log_.get(), &found) != 0) return Failed(path);
  head_file_ = UniqueFd(::open(head_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!head_file_) return Failed(head_path);
  const std::string key_path = directory_ + "/audit.key";
  auto key = AuditKey::Read(key_path);
  if (key) {
    key_ = *std::move(key);
    return Ok();
  }
  if (key.error().code != ErrorCode::kStoreNotFound) return key.error();
  if (found.st_size > 0 || NamesEntries(FileText(head_file_.get(), kHeadBytesMax))) {
    return Error{ErrorCode::kStoreNotFound,
                 key_path + ": is missing; put it back, or move audit.log and audit.head away",
                 {}};
  }
  key_ = AuditKey::Make(random);
  // Write the key last: if the key exists, a missing head means that it was removed.
  if (!WriteAllAt(head_file_.get(), WrittenHead({}, key_), 0) || ::fsync(head_file_.get()) != 0) {
    return Failed(head_path);
  }
  return key_.Write(key_path);
}

std::string AuditLog::CheckHead(const AuditHead& head, std::uint64_t size) const {
  if (size < head.bytes) {
    return "the log has " + std::to_string(size) + " bytes, but had " + std::to_string(head.bytes) +
           " when it was last synced";
  }
  if (head.seq == 0) return {};
  const std::uint64_t from = head.bytes - std::min<std::uint64_t>(head.bytes, kAuditLineBytesMax);
  AuditLines lines(log_.get(), from);
  while (const auto line = lines.Next()) {
    if (line->end < head.bytes) continue;
    const auto view = ReadAuditLine(line->text, key_);
    if (line->end == head.bytes && view && view->seq == head.seq && view->hash == head.hash) {
      return {};
    }
    break;
  }
  return "entry " + std::to_string(head.seq) + " is not where it was written";
}

Status AuditLog::Recover() {
  struct stat found {};
  if (::fstat(log_.get(), &found) != 0) return Failed(directory_ + "/audit.log");
  const auto size = static_cast<std::uint64_t>(found.st_size);
  const auto written = ReadHead(FileText(head_file_.get(), kHeadBytesMax), key_);
  std::string broken;
  AuditHead from = written.value_or(AuditHead());
  if (written) {
    broken = CheckHead(*written, size);
  } else {
    broken = "audit.head is missing or was changed";
  }
  // Entries after the head may be intact, because the head is written after them. Whatever follows
  // the last intact entry was never acknowledged.
  AuditChain chain(key_, from);
  std::uint64_t end = std::min(from.bytes, size);
  AuditLines lines(log_.get(), end);
  while (const auto line = lines.Next()) {
    if (!chain.Follow(*line).empty()) {
      // Keep all complete lines of a broken log as evidence.
      if (broken.empty() || !line->complete) break;
    }
    end = line->end;
  }
  if (lines.failed()) return Failed(directory_ + "/audit.log");
  AuditEntry cut;
  if (end < size) {
    cut.action = "audit.cut";
    cut.detail =
        std::to_string(size - end) + " bytes, SHA-256 " + ToHex(DigestFrom(log_.get(), end, size));
    if (::ftruncate(log_.get(), static_cast<off_t>(end)) != 0) {
      return Failed(directory_ + "/audit.log");
    }
  }
  {
    const std::lock_guard lock(mutex_);
    next_ = chain.head();
    durable_ = chain.head();
    durable_.bytes = end;
    // If somebody cut the log in the middle of a line, end that line, so that it does not merge
    // with the next entry.
    char last = '\n';
    if (end > 0) (void)::pread(log_.get(), &last, 1, static_cast<off_t>(end - 1));
    if (last != '\n') pending_.text.push_back('\n');
  }
  if (!cut.action.empty()) (void)Append(cut);
  if (!broken.empty()) {
    AuditEntry entry;
    entry.action = "audit.broken";
    entry.detail = broken;
    (void)Append(entry);
    broken_ = std::move(broken);
  }
  return Sync();
}

Result<std::uint64_t> AuditLog::Append(const AuditEntry& entry, OnDurable on_durable) {
  std::uint64_t seq = 0;
  {
    const std::lock_guard lock(mutex_);
    if (hopeless_ || pending_.text.size() > kPendingBytesMax) {
      if (!outcome_) return outcome_.error();
      return Error{ErrorCode::kStoreIo, directory_ + "/audit.log: the disk is too slow", {}};
    }
    const Timestamp now = clock_.Now();
    if (entry.anonymous && !TakesAnonymous(now)) {
      ++left_out_;
      return 0;
    }
    seq = next_.seq + 1;
    AuditLine line = MakeAuditLine(entry, seq, now, next_.hash, key_, std::exchange(left_out_, 0));
    next_.seq = seq;
    next_.hash = line.hash;
    pending_.text.append(line.text).push_back('\n');
    pending_.head = next_;
    if (on_durable) pending_.on_durable.push_back(std::move(on_durable));
    asked_ = true;
  }
  changed_.notify_all();
  return seq;
}

bool AuditLog::TakesAnonymous(Timestamp now) {
  if (now < minute_ || now >= minute_ + std::chrono::minutes(1)) {
    minute_ = now;
    anonymous_ = 0;
  }
  if (anonymous_ == kAnonymousPerMinute) return false;
  ++anonymous_;
  return true;
}

Status AuditLog::Sync() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = next_.seq;
  // A write in flight may have begun too early; the one after it includes everything.
  const std::uint64_t enough = attempts_ + (writing_ ? 2 : 1);
  asked_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return durable_.seq >= wanted || hopeless_ || attempts_ >= enough; });
  return durable_.seq >= wanted ? Ok() : outcome_;
}

AuditHead AuditLog::head() const {
  const std::lock_guard lock(mutex_);
  return durable_;
}

Result<AuditPage> AuditLog::Read(const AuditQuery& query) const {
  return ReadAuditPage(directory_, key_, query);
}

void AuditLog::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || (asked_ && !pending_.text.empty()); });
    if (pending_.text.empty() || hopeless_) return;
    asked_ = false;
    writing_ = true;
    Batch batch = std::exchange(pending_, {});
    const std::uint64_t at = durable_.bytes;
    batch.head.bytes = at + batch.text.size();
    lock.unlock();
    bool hopeless = false;
    Status outcome = Write(batch, at, hopeless);
    for (const OnDurable& on_durable : batch.on_durable) on_durable(outcome);
    lock.lock();
    ++attempts_;
    writing_ = false;
    outcome_ = outcome;
    hopeless_ = hopeless;
    if (outcome) {
      durable_ = batch.head;
    } else {
      // Keep the entries for a retry: the chain already contains them.
      batch.text.append(pending_.text);
      pending_.text = std::move(batch.text);
      if (pending_.head.seq == 0) pending_.head = batch.head;
      if (stopping_) hopeless_ = true;
    }
    changed_.notify_all();
  }
}

Status AuditLog::Write(const Batch& batch, std::uint64_t at, bool& hopeless) {
  const std::string path = directory_ + "/audit.log";
  if (!WriteAllAt(log_.get(), batch.text, at)) {
    Error error = Failed(path);
    hopeless = ::ftruncate(log_.get(), static_cast<off_t>(at)) != 0;
    return error;
  }
  if (::fdatasync(log_.get()) != 0) {
    // The kernel may have dropped the pages it could not write; a second sync would prove nothing.
    hopeless = true;
    return Failed(path);
  }
  const std::string head = WrittenHead(batch.head, key_);
  if (!WriteAllAt(head_file_.get(), head, 0)) return Failed(directory_ + "/audit.head");
  return Ok();
}

}  // namespace everstep
