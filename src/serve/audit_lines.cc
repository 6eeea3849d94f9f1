#include "serve/audit_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/json.h"
#include "base/unique_fd.h"
#include "serve/private_file.h"

namespace everstep {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::size_t kScannedMax = 20'000;

Result<UniqueFd> OpenLog(const std::string& directory) {
  const std::string path = directory + "/audit.log";
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) return file;
  const auto code = errno == ENOENT ? ErrorCode::kStoreNotFound : ErrorCode::kStoreIo;
  return Error{code, path + ": " + std::strerror(errno), {}};
}

Error Unreadable(const std::string& directory) {
  return {ErrorCode::kStoreIo, directory + "/audit.log: cannot be read", {}};
}

// The seq of a line, whether or not the line is valid. Quotes inside JSON strings are escaped, so
// nothing else can look like this member.
std::optional<std::uint64_t> SeqOf(std::string_view line) {
  constexpr std::string_view kMember = "\"seq\":";
  const std::size_t at = line.find(kMember);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = line.substr(at + kMember.size());
  std::uint64_t seq = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), seq);
  if (read.ec != std::errc()) return std::nullopt;
  return seq;
}

// An offset from which to find the first entry after `after`; at most a few lines too early.
std::uint64_t PlaceOf(int descriptor, std::uint64_t after, std::uint64_t size) {
  std::uint64_t low = 0;  // the start of a line
  std::uint64_t high = size;
  while (high - low > kPieceBytes) {
    const std::uint64_t middle = low + (high - low) / 2;
    AuditLines lines(descriptor, middle);
    const auto rest = lines.Next();  // the rest of a line that begins earlier
    if (!rest || !rest->complete || rest->end >= high) {
      high = middle;
      continue;
    }
    const std::uint64_t start = rest->end;
    const auto line = lines.Next();
    const auto seq = line ? SeqOf(line->text) : std::nullopt;
    if (seq && *seq <= after) {
      low = start;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

bool AuditLines::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + kPieceBytes);
  ssize_t got = 0;
  do {
    got = ::pread(descriptor_, buffer_.data() + had, kPieceBytes, static_cast<off_t>(at_ + had));
  } while (got < 0 && errno == EINTR);
  failed_ = failed_ || got < 0;
  ended_ = got <= 0;
  buffer_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return !ended_;
}

std::optional<AuditLines::Line> AuditLines::Next() {
  std::size_t searched = 0;
  while (true) {
    const std::string_view rest = std::string_view(buffer_).substr(begin_);
    const std::size_t found = rest.find('\n', searched);
    if (found != std::string_view::npos) {
      begin_ += found + 1;
      at_ += found + 1;
      return Line{rest.substr(0, found), at_, found <= kAuditLineBytesMax};
    }
    searched = rest.size();
    if (searched > kAuditLineBytesMax || !Fill()) break;
  }
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (failed_ || rest.empty()) return std::nullopt;
  begin_ += rest.size();
  at_ += rest.size();
  return Line{rest, at_, false};
}

std::string AuditChain::Follow(const AuditLines::Line& line) {
  if (!line.complete) return "incomplete line";
  const auto view = ReadAuditLine(line.text, key_);
  if (!view) return "the entry was changed, or was written without the key";
  if (view->prev != head_.hash || view->seq != head_.seq + 1) {
    return "entry " + std::to_string(view->seq) + " found in place of entry " +
           std::to_string(head_.seq + 1) + ": entries were removed, added or moved";
  }
  head_ = {view->seq, view->hash, line.end};
  return {};
}

Result<AuditVerdict> VerifyAudit(const std::string& directory, const AuditKey& key) {
  // Read the head first: entries appended meanwhile only make the log longer than the head says.
  const auto head_text = ReadPrivateFile(directory + "/audit.head", 4 << 10);
  if (!head_text) return head_text.error();
  AuditVerdict verdict;
  const auto file = OpenLog(directory);
  if (!file && file.error().code == ErrorCode::kStoreNotFound) {
    // The key is made after the log.
    verdict.reason = "audit.log is missing";
    return verdict;
  }
  if (!file) return file.error();
  const auto head = *head_text ? ReadHead(**head_text, key) : std::nullopt;
  AuditLines lines(file->get(), 0);
  AuditChain chain(key, {});
  bool passed_head = head && head->seq == 0;
  while (const auto line = lines.Next()) {
    std::string wrong = chain.Follow(*line);
    if (!wrong.empty() && !line->complete && line->text.size() <= kAuditLineBytesMax) {
      verdict.torn_bytes = line->text.size();
      break;
    }
    if (!wrong.empty()) {
      verdict.line = chain.head().seq + 1;
      verdict.reason = std::move(wrong);
      break;
    }
    passed_head = passed_head || (head && chain.head() == *head);
  }
  if (lines.failed()) return Unreadable(directory);
  verdict.head = chain.head();
  if (!verdict.reason.empty()) return verdict;
  if (!head && chain.head().seq > 0) {
    verdict.reason = "audit.head is missing or was changed: entries at the end may be missing";
  } else if (head && !passed_head) {
    verdict.reason = "the log ends with entry " + std::to_string(chain.head().seq) +
                     ", but audit.head names entry " + std::to_string(head->seq);
  }
  return verdict;
}

Result<AuditPage> ReadAuditPage(const std::string& directory, const AuditKey& key,
                                const AuditQuery& query) {
  const auto file = OpenLog(directory);
  if (!file) return file.error();
  struct stat found {};
  if (::fstat(file->get(), &found) != 0) return Unreadable(directory);
  const auto size = static_cast<std::uint64_t>(found.st_size);
  AuditLines lines(file->get(), PlaceOf(file->get(), query.after, size));
  const std::string tenant = "\"tenantId\":" + JsonQuote(query.tenant_id) + ",";
  AuditPage page;
  page.next_after = query.after;
  std::size_t scanned = 0;
  std::uint64_t invalid = 0;  // lines since the last valid one
  while (const auto line = lines.Next()) {
    const auto seq = SeqOf(line->text);
    if (seq && *seq <= query.after) continue;
    if (page.entries.size() >= query.limit || scanned >= kScannedMax) {
      page.more = line->complete;
      break;
    }
    if (!line->complete && line->text.size() <= kAuditLineBytesMax) break;  // being written
    ++scanned;
    const auto view = ReadAuditLine(line->text, key);
    if (!view) {
      ++invalid;
      continue;
    }
    // Entries have consecutive numbers, so a gap shows entries that were removed.
    const std::uint64_t expected = page.next_after + 1;
    page.broken += std::max(invalid, view->seq - std::min(view->seq, expected));
    invalid = 0;
    page.next_after = view->seq;
    const bool wanted =
        query.tenant_id.empty() || line->text.find(tenant) != std::string_view::npos;
    if (wanted) page.entries.emplace_back(line->text);
  }
  if (lines.failed()) return Unreadable(directory);
  page.broken += invalid;
  return page;
}

}  // namespace everstep
