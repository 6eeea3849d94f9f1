#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/audit_entry.h"

namespace everstep {

// Longer than any line of ours.
inline constexpr std::size_t kAuditLineBytesMax = 512 << 10;

// Reads a file line by line from an offset. Does not own the descriptor.
class AuditLines {
 public:
  AuditLines(int descriptor, std::uint64_t from) : descriptor_(descriptor), at_(from) {}

  struct Line {
    std::string_view text;  // without its line break; valid until the next call
    std::uint64_t end = 0;  // where the next one begins
    bool complete = false;  // has a line break, and a bearable length
  };
  // Nothing: the file ends here, or cannot be read.
  std::optional<Line> Next();
  bool failed() const { return failed_; }

 private:
  bool Fill();

  int descriptor_;
  std::uint64_t at_;  // of what is next in the buffer
  std::string buffer_;
  std::size_t begin_ = 0;
  bool ended_ = false;
  bool failed_ = false;
};

// Follows the chain of a log: which lines continue it.
class AuditChain {
 public:
  AuditChain(const AuditKey& key, AuditHead from) : key_(key), head_(std::move(from)) {}

  // Empty: the line is the next one. Otherwise what is wrong; the chain stays where it was.
  std::string Follow(const AuditLines::Line& line);
  const AuditHead& head() const { return head_; }

 private:
  const AuditKey& key_;
  AuditHead head_;
};

struct AuditVerdict {
  AuditHead head;                // the last entry that is in order
  std::uint64_t line = 0;        // the first that is not, from 1; zero: all are
  std::string reason;            // why; also without a line: entries at the end are missing
  std::uint64_t torn_bytes = 0;  // of a last line that is not complete: being written, or a crash

  bool intact() const { return reason.empty(); }
};

// Checks every entry of the log in `directory`: changed, removed, added or reordered ones are
// found; removed ones at the end by the head. Works beside a server that writes. kStoreIo,
// kStoreNotFound: there is no log.
Result<AuditVerdict> VerifyAudit(const std::string& directory, const AuditKey& key);

// Entries as JSON, oldest first.
struct AuditPage {
  std::vector<std::string> entries;
  std::uint64_t next_after = 0;  // goes on behind the last that was looked at
  bool more = false;
  std::uint64_t broken = 0;  // lines that are not in order and were left out
};
struct AuditQuery {
  std::uint64_t after = 0;  // entries with a greater seq
  std::size_t limit = 100;
  std::string tenant_id;  // empty: of all
};
// Looks at a bounded number of entries, so that a page of few finds can be followed by more.
Result<AuditPage> ReadAuditPage(const std::string& directory, const AuditKey& key,
                                const AuditQuery& query);

}  // namespace everstep
